import SluiceFilters
import TestSupport
import Testing

@Suite("Invalid arguments of filters") struct InvalidArgumentTests {
    private static func limits(_ limit: Int) -> [Limits] {
        var names = Limits()
        names.distinctEventNames = .dropEvent(over: limit)
        return [
            Limits(eventName: .cut(to: limit)), Limits(eventName: .setAside(over: limit)), Limits(names),
            Limits(propertyName: .cut(to: limit)),
        ]
    }

    /// Names that are hardly meant.
    private static let flawed = [
        "iban\n", "iban\r\n", " iban", "iban ", "\u{A0}iban", "iban\u{A0}", "\u{FEFF}iban", "iban\u{200B}",
        "\u{202E}iban", "iban\u{2060}", "iban\u{180E}", "\u{3164}iban", "iban\u{E0020}", "ib\u{85}an", "ib\u{2029}an",
        "ib\u{1B}an",
        "", " ", "\t", "iban\t", "iban\0", "ib\0an", "iban\u{2028}", "iban\u{200D}",
    ]

    /// Patterns of other tools.
    private static let patterns = [
        "*token", "*token*", "**", "*.pin", "a*b", "Page * Viewed", "user.*.email", "*x\u{301}",
    ]

    private static func named(_ make: (String) -> any Processor) -> [any Processor] { (flawed + patterns).map(make) }

    /// Where a `*` at the end isn't a prefix either.
    private static func prefixed(_ make: (String) -> any Processor) -> [any Processor] { ["*", "card_*"].map(make) }

    private static func reserving(_ name: String) -> Limits {
        var limits = Limits()
        limits.reservedNames = [name]
        return limits
    }

    private static let short: [Duration] = [.zero, .seconds(-1), .microseconds(999)]

    static let wrong: [[any Processor]] = [
        limits(0), limits(-1), limits(.min), [-1, .min].map { Limits(properties: .cut(to: $0)) },
        [-1, .min].map { Limits(string: .cut(to: $0)) },
        [0, -1].map { Consent(persistedIn: .memory, whilePending: .hold, holdingUpTo: $0) },
        [-0.1, 1.1, .nan, .infinity].map { Sampling(rate: $0) }, short.prefix(2).map { Deduplication(within: $0) },
        named { Redaction(keys: ["a", $0]) }, named { Pseudonyms(key: Array(0..<16), properties: [$0, "b"]) },
        named { EventNames(denied: [$0, "Debug*"]) }, named { EventNames(allowed: [$0]) },
        named { CriticalEvents(named: [$0]) }, named { reserving($0) }, prefixed { Redaction(keys: [$0]) },
        prefixed { CriticalEvents(named: ["a", $0]) }, prefixed { Pseudonyms(key: Array(0..<16), properties: [$0]) },
        short.map { RateLimit(1, per: $0) }, [0, -1, .min].map { RateLimit($0, per: .seconds(1)) },
        [Pseudonyms(key: Array(0..<15))],
    ]

    @Test("an invalid argument is an error when the pipeline is built", arguments: wrong.indices)
    func invalidArgumentsThrow(index: Int) {
        for filter in Self.wrong[index] {
            let error = #expect(throws: SluiceError.self) { try TestPipeline { filter } }
            #expect(error?.code == .invalidArgument, "\(filter)")
        }
    }

    @Test("the error names the argument and the flaw, and not the name")
    func errorNamesArgument() {
        let error = #expect(throws: SluiceError.self) { try TestPipeline { Redaction(keys: ["iban", "x-secret\n"]) } }
        #expect(
            error?.message
                == "Redaction: the argument keys has a name that ends with a newline, such as one from a file: trim it"
        )
    }

    /// Format characters and signs within a name, and at the end of an emoji.
    private static let meant = [
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "\u{600}1", "\u{601}7", "\u{6DD}",
        "a\u{180E}b",
        "a\u{34F}b", "ib\u{200B}an", "a\u{AD}b", "\u{1F469}\u{200D}\u{1F680}",
    ]

    @Test("the smallest arguments are accepted")
    func smallestArgumentsAreAccepted() throws {
        _ = try TestPipeline {
            Deduplication(within: .nanoseconds(1))
            RateLimit(1, per: .milliseconds(1))
            Pseudonyms(key: Array(0..<16))
            Limits(eventName: .cut(to: 1), properties: .cut(to: 0), string: .cut(to: 0))
            Redaction(
                keys: ["a", "first name", "\u{645}\u{6CC}\u{200C}\u{631}\u{648}\u{645}", "\u{2764}\u{FE0F}"]
                    + Self.meant)
            EventNames(denied: Set(["*", "Debug *"] + Self.meant))
        }
    }
}
