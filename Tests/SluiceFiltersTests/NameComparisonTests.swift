import Sluice
import SluiceFilters
import TestSupport
import Testing

/// Names and keys are compared by characters: a letter with an accent, in one scalar or in two.
@Suite struct NameComparisonTests {
    private static let spellings = ["caf\u{E9}", "cafe\u{301}"]

    @Test("a secret key is redacted in both spellings, and in any case", arguments: spellings, spellings)
    func keysAreCharacters(key: String, name: String) throws {
        let redaction = Redaction(keys: [key])
        for name in [name, name.uppercased()] {
            let event = try #require(redaction.processed("x", [name: "secret", "n": [name: "secret"]]))
            #expect(event.properties == [name: "[redacted]", "n": [name: "[redacted]"]])
        }
        #expect(try #require(redaction.processed("x", ["cafe": "open", "caf": 1])).properties["cafe"] == "open")
        #expect(try #require(Redaction(keys: ["cafe"]).processed("x", [name: "open"])).properties[name] == "open")
    }

    @Test("a name and a prefix are found in both spellings", arguments: spellings, spellings)
    func namesAreCharacters(listed: String, name: String) {
        #expect(EventNames(denied: [listed]).processed(name) == nil)
        #expect(EventNames(denied: [listed + "*"]).processed(name + "s") == nil)
        #expect(EventNames(denied: ["cafe*"]).processed(name) != nil)
        #expect(CriticalEvents(named: [listed]).processed(name)?.priority == .critical)
    }

    @Test("both spellings of a name are duplicates of each other, and share a rate and a place among the names")
    func countsAreOfCharacters() async throws {
        let (first, second) = (Self.spellings[0], Self.spellings[1])
        let duplicates = Deduplication(within: .seconds(1))
        #expect(duplicates.processed(first, [first: .string(first)]) != nil)
        #expect(duplicates.processed(second, [second: .string(second)]) == nil)
        let rate = RateLimit(1, per: .seconds(60))
        #expect(rate.processed(first) != nil && rate.processed(second) == nil)
        var limits = Limits()
        limits.distinctEventNames = .dropEvent(over: 1)
        #expect(limits.processed(first) != nil && limits.processed(second) != nil && limits.processed("x") == nil)
        var reserved = Limits()
        reserved.reservedNames = [first]
        #expect(reserved.processed("x", [second: 1])?.properties.isEmpty == true)
        reserved.reservedNames = [first + "*", "cafe*"]
        #expect(reserved.processed("x", [second.uppercased() + "s": 1, "cafes": 1])?.properties.isEmpty == true)
        reserved.reservedNames = ["cafe*"]
        #expect(reserved.processed("x", [second: 1])?.properties == [second: 1])
    }
}
