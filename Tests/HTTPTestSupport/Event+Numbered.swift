package import Sluice

extension Event {
    package static func numbered(_ number: Int) -> Event {
        Event(
            id: EventID(high: 0x019A_A5F1_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)), name: "Numbered",
            time: Timestamp(milliseconds: 1_767_225_600_000), priority: .normal, properties: ["number": .int(number)])
    }
}
