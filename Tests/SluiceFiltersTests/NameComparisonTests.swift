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

    private static let cases = [
        ("\u{3CC}\u{3BD}\u{3BF}\u{3BC}\u{3B1}\u{3C2}", "\u{38C}\u{39D}\u{39F}\u{39C}\u{391}\u{3A3}"),
        ("stra\u{DF}e", "STRASSE"), ("stra\u{DF}e", "STRA\u{1E9E}E"), ("\u{FB03}", "FFI"),
        ("\u{149}ame", "\u{2BC}NAME"), ("\u{212A}ey", "KEY"), ("\u{13A0}", "\u{AB70}"), ("caf\u{E9}", "CAFE\u{301}"),
    ]

    @Test("a key is the same in any case, if letters become others or several ones too", arguments: cases)
    func keysHaveNoCase(small: String, large: String) throws {
        for (key, name) in [(small, large), (large, small), (small, small), (large, large)] {
            for more in [[:], ["n": [name: "secret"]], ["password": 1, "p": "b"]] as [Properties] {
                let event = try #require(Redaction(keys: ["x", key]).processed("x", more + [name: "secret"]))
                #expect(event.properties[name] == "[redacted]", "\(key) \(name)")
            }
            var reserved = Limits()
            reserved.reservedNames = [key]
            #expect(reserved.processed("x", [name: 1, "a": 1])?.properties == ["a": 1])
            reserved.reservedNames = [key + "*"]
            #expect(reserved.processed("x", [name + "1": 1, "a": 1])?.properties == ["a": 1])
        }
    }

    @Test(
        "a name beyond ASCII is a key in ASCII only if all its characters are letters of it, in another case or form",
        arguments: [
            ("pass", "PA\u{DF}", true), ("key", "\u{212A}EY", true), ("first", "\u{FB01}R\u{17F}T", true),
            ("iban", "\u{131}ban", true),
            ("pass", "pa\u{DF}\u{E9}", false), ("key", "ke\u{443}", false), ("name", "\u{149}ame", false),
            ("e", "e\u{301}", false),
        ])
    func keysInASCII(key: String, name: String, isKey: Bool) {
        for redaction in [Redaction(keys: ["x", key]), Redaction(keys: [key, "\u{E9}t\u{E9}"])] {
            for more in [[:], ["\u{540D}": 2], ["n": [1]]] as [Properties] {
                let properties = redaction.processed("x", more + [name: 1])?.properties
                #expect(properties == more + [name: isKey ? "[redacted]" : 1], "\(name)")
            }
        }
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
        #expect(duplicates.processed(first, [first: [second: .string(first)]]) != nil)
        #expect(duplicates.processed(second, [second: [first: .string(first)]]) == nil)
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
