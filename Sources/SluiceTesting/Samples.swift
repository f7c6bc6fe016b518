import Sluice

/// Events and lines for the contracts.
enum Samples {
    static func line(_ number: Int, priority: Event.Priority = .normal) throws(SluiceError) -> EventLine {
        try EventLine(
            Event(
                id: EventID(high: 0x019A_A5F1_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)), name: "Sample",
                time: Timestamp(milliseconds: 1_767_225_600_000), priority: priority,
                properties: ["number": .int(number)]))
    }

    /// An event is critical if its number is a multiple of `criticalAt`. By default, none is.
    static func lines(_ numbers: Range<Int>, criticalAt: Int? = nil) throws(SluiceError) -> [EventLine] {
        try numbers.map { number throws(SluiceError) in
            try line(number, priority: criticalAt.map { number.isMultiple(of: $0) } ?? false ? .critical : .normal)
        }
    }

    /// The number of events of ``hostile`` without a name, in all priorities.
    static var namelessCount: Int { hostile.count { $0.name.isEmpty } * Event.Priority.allCases.count }

    /// Names and properties that a processor might not expect.
    static let hostile: [(name: String, properties: Properties)] = [
        ("", [:]),
        ("Plain", ["amount": 12.5, "count": 3, "flag": true, "nothing": nil]),
        ("$Reserved", ["$os": "mine", "id": "mine", "time": 0, "distinct_id": ["an": "object"]]),
        ("\u{0}\n\"\\\u{2028}😀", ["\u{0}\n": "\u{0}\n", "": "", "😀": ["😀", ["😀": "😀"]]]),
        (String(repeating: "name ", count: 400), ["long": .string(String(repeating: "é", count: 40_000))]),
        ("Deep", ["deep": (0..<100).reduce("bottom") { value, _ in .array([value]) }]),
        ("Wide", Properties((0..<1_000).map { ("property \($0)", .int($0)) })),
        (
            "Numbers",
            [
                "min": .int(Int64.min), "max": .int(Int64.max), "tiny": .double(.leastNonzeroMagnitude),
                "nan": .double(.nan),
            ]
        ),
        ("Dates", ["date": .date(Timestamp(milliseconds: .min)), "now": .date(Timestamp(milliseconds: 0))]),
    ]
}
