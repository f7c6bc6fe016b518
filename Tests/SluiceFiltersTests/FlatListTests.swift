import SluiceFilters
import SluiceTesting
import TestSupport
import Testing

/// Filters have a fast path for lists without arrays and objects, and for properties that many events share.
@Suite("Filters: flat and shared properties")
struct FlatListTests {
    /// A nested value that no rule changes. It prevents the fast path.
    private static let nested: (String, PropertyValue) = ("n", [1])

    private func pairs(_ random: inout SeededRandom) -> [(String, PropertyValue)] {
        let names = ["password", "PASSWORD", "passwort", "token", "tokens", "é", "名前", "a", "a long name", "$id"]
        let values: [PropertyValue] = [
            "", "text", "名前名前名前", "a text that is long", 1, 4_111_111_111_111_111, 0.5, true, nil,
            .date(Timestamp(milliseconds: 0)),
        ]
        return names.shuffled(using: &random).prefix(Int.random(in: 0...6, using: &random))
            .map { ($0, values.randomElement(using: &random) ?? nil) }
    }

    private func check(_ processor: some Processor, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<40 {
            let (own, others) = (pairs(&random), Properties(pairs(&random)))
            var flat = Properties(own)
            var shared = flat
            flat.addDefaults(others)
            shared.addDefaults(others.shared())
            var slow = flat
            slow[FlatListTests.nested.0] = FlatListTests.nested.1

            let expected = processor.processed("Event", slow).map { event in
                var properties = event.properties
                properties[FlatListTests.nested.0] = nil
                return properties
            }
            for properties in [flat, shared] {
                let result = processor.processed("Event", properties)?.properties
                #expect(result == expected)
                #expect(result?.map(\.name) == expected?.map(\.name))
            }
        }
    }

    @Test("Redaction treats flat and shared properties alike", arguments: UInt64(0)..<4)
    func redactionTreatsFlatAndSharedAlike(seed: UInt64) {
        check(Redaction(keys: ["password", "Token", "é"]), seed: seed)
        check(Redaction(keys: ["password"], patterns: [.paymentCard]), seed: seed)
        check(Redaction(keys: []), seed: seed)
    }

    @Test("Limits treat flat and shared properties alike", arguments: UInt64(0)..<4)
    func limitsTreatFlatAndSharedAlike(seed: UInt64) {
        for limit in [1, 4, 8, 11, 18, 100] {
            check(Limits(propertyName: .cut(to: limit), string: .dropProperty(over: limit)), seed: seed)
            check(Limits(propertyName: .dropProperty(over: limit), string: .cut(to: limit)), seed: seed)
            check(Limits(propertyName: .dropEvent(over: limit), string: .dropEvent(over: limit)), seed: seed)
        }
    }
}
