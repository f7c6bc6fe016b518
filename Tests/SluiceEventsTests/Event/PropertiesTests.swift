import SluiceTesting
import Testing

@testable import SluiceEvents

/// `Properties` has a fast path for plain values and a block for shared ones. Neither may be visible from outside.
@Suite struct PropertiesTests {
    /// Everything that can be asked of a list.
    private func check(_ properties: Properties, _ model: PropertyModel, _ comment: Comment? = nil) throws {
        // Byte by byte: `==` would take one spelling of a name for the other.
        let names = properties.map { Array($0.name.utf8) }
        #expect(names == model.pairs.map { Array($0.0.utf8) }, comment)
        #expect(properties.count == model.pairs.count, comment)
        for (property, pair) in zip(properties, model.pairs) {
            #expect(property.value == pair.1, comment)
            #expect(properties[property.name] == pair.1, comment)
        }
        for name in ["a", "$a", "\u{E9}", "e\u{301}", "K", "\u{212A}", "none"] {
            #expect(properties[name] == model[name], comment)
        }
        var lent: [Property] = []
        properties.forEachPair { lent.append(Property(copy $0, copy $1)) }
        #expect(lent == Array(properties), comment)

        let plain = Properties(model.pairs)
        #expect(properties == plain, comment)
        #expect(Properties(model.pairs.reversed()) == properties, comment)
        #expect(try json(properties) == json(plain), comment)

        #expect(properties.longestNameBytes >= plain.map(\.name.utf8.count).max() ?? 0, comment)
        #expect(!properties.isFlat || plain.isFlat, comment)
        for case .string(let string) in plain.map(\.value) {
            #expect(properties.longestStringBytes >= string.utf8.count, comment)
        }
    }

    private func json(_ properties: Properties) throws -> String {
        let event = Event(
            id: EventID(high: 0, low: 0), name: "n", time: Timestamp(milliseconds: 0), properties: properties)
        let line = try EventLine(event)
        #expect(try line.event() == event)
        return String(decoding: line.bytes, as: UTF8.self)
    }

    @Test("a list behaves the same with and without a shared block", arguments: UInt64(0)..<8)
    func sharedBlockIsInvisible(seed: UInt64) throws {
        var source = PropertySource(seed: seed)
        var copies: [(Properties, PropertyModel)] = []
        for _ in 0..<10 {
            let start = source.model(upTo: 6)
            var (properties, model) = (Properties(start.pairs), start)
            for _ in 0..<12 {
                let comment: Comment
                switch source.number(below: 8) {
                case 0, 1:
                    let (name, value) = (source.name(), source.value())
                    properties[name] = value
                    model[name] = value
                    comment = "setting \(name)"
                case 2:
                    let name = source.name()
                    properties[name] = nil
                    model[name] = nil
                    comment = "removing \(name)"
                case 3:
                    let length = source.number(below: 10)
                    properties.removeAll { $0.name.utf8.count == length }
                    model.pairs.removeAll { $0.0.utf8.count == length }
                    comment = "removing names of length \(length)"
                case 4:
                    let others = source.model(upTo: 5)
                    properties.addDefaults(Properties(others.pairs))
                    model.addDefaults(others)
                    comment = "filling"
                default:
                    let others = source.model(upTo: 5)
                    properties.addDefaults(Properties(others.pairs).shared())
                    model.addDefaults(others)
                    comment = "filling from a block"
                }
                try check(properties, model, comment)
                if source.number(below: 4) == 0 { copies.append((properties, model)) }
            }
        }
        // A change of one list must not affect another.
        for (properties, model) in copies { try check(properties, model, "a copy") }
    }

    @Test("a list made from pairs equals one built step by step", arguments: UInt64(0)..<8)
    func listEqualsOneBuiltInSteps(seed: UInt64) {
        var source = PropertySource(seed: seed)
        for _ in 0..<8 {
            let pairs = (0..<source.number(below: 40)).map { _ in (source.name(), source.value()) }
            for count in 0...pairs.count {
                var model = PropertyModel()
                for (name, value) in pairs.prefix(count) { model[name] = value }
                let properties = Properties(pairs.prefix(count))
                #expect(properties.map { Array($0.name.utf8) } == model.pairs.map { Array($0.0.utf8) })
                #expect(properties.map(\.value) == model.pairs.map(\.1))
            }
        }
    }

    @Test("a value that needs sanitizing is found in each place among plain pairs")
    func sanitizationFindsEachPlace() {
        let longText = String(repeating: "x", count: PropertyValue.maximumStringBytes + 1)
        let longName = String(repeating: "x", count: Event.maximumNameBytes + 1)
        let bad: [(String, PropertyValue, Sanitizations)] = [
            ("bad", .double(.nan), .nonFiniteNumber), ("bad", .double(.infinity), .nonFiniteNumber),
            ("bad", .string(longText), .truncatedString),
            ("bad", .date(Timestamp(milliseconds: .max)), .unwritableDate), (longName, .null, .droppedProperty),
        ]
        for (name, value, sanitizations) in bad {
            for count in [1, 2, 12, 13, 32, 33, 34] {
                for place in 0..<count {
                    var pairs = (0..<count).map { ("plain\($0)", PropertyValue.string("x")) }
                    pairs[place] = (name, value)
                    let properties = Properties(pairs)
                    #expect(properties.bounds.sanitizations == sanitizations)
                    #expect(properties.count == (sanitizations == .droppedProperty ? count - 1 : count))
                }
            }
        }
        let deepest = (1..<PropertyValue.maximumDepth).reduce(PropertyValue.null) { value, _ in [value] }
        let unfit: [(PropertyValue, Sanitizations)] = [
            ([.double(.nan)], .nonFiniteNumber), (["key": .string(longText)], .truncatedString),
            ([deepest], .truncatedDepth), (["key": deepest], .truncatedDepth), (deepest, []), (["key": [1]], []),
            (.date(Timestamp.writable.upperBound), []),
        ]
        for (value, sanitizations) in unfit {
            for pairs in [[("a", 1), ("b", value)], [("b", value), ("\u{E9}", 1)]] {
                let properties = Properties(pairs)
                var steps: Properties = [:]
                for (name, value) in pairs { steps[name] = value }
                #expect(properties.bounds.sanitizations == sanitizations)
                #expect(properties.bounds.depth == steps.bounds.depth)
                #expect(properties == steps)
            }
        }
        #expect(Properties([("a", .string(String(longText.dropLast())))]).bounds.sanitizations == [])
        #expect(Properties([(String(longName.dropLast()), .null)]).bounds.sanitizations == [])
    }

    @Test("properties from a dictionary are sorted by name")
    func dictionaryIsSortedByName() {
        let values: [String: PropertyValue] = Dictionary(uniqueKeysWithValues: (10..<60).map { ("n\($0)", .int($0)) })
        let properties = Properties(values)
        #expect(properties.map(\.name) == (10..<60).map { "n\($0)" })
        #expect(properties.map(\.value) == (10..<60).map { .int($0) })
        #expect(Properties([:] as [String: PropertyValue]).isEmpty)
        #expect(Properties(["a": .double(.nan)] as [String: PropertyValue]).bounds.sanitizations == .nonFiniteNumber)
    }

    @Test("many properties are equal in any order, and to no others")
    func manyAreEqualInAnyOrder() {
        let pairs = (0..<100).map { ("name\($0)", PropertyValue.int($0)) }
        #expect(Properties(pairs) == Properties(pairs.reversed()))
        #expect(Properties(pairs) != Properties(pairs.dropFirst() + [("name0", 1)]))
        #expect(Properties(pairs) != Properties(pairs.dropFirst() + [("other", 0)]))
    }

    @Test("sanitizations are known after sharing, too")
    func sanitizationsAreKnownAfterSharing() {
        let cut: Properties = ["a": .double(.nan), "deep": [[1]]]
        var event: Properties = ["b": 1]
        event.addDefaults(cut.shared())
        #expect(event.bounds.sanitizations == .nonFiniteNumber)
        #expect(!event.isFlat)
        #expect(event == ["b": 1, "a": nil, "deep": [[1]]])
    }

    @Test("a list with a block can be a value in another")
    func listWithBlockCanBeValue() throws {
        var inner: Properties = ["a": 1]
        inner.addDefaults((["b": 2, "c": [3]] as Properties).shared())
        inner["d"] = 4
        let outer: Properties = ["inner": .object(inner), "list": [.object(inner)]]
        #expect(outer == ["inner": ["a": 1, "b": 2, "c": [3], "d": 4], "list": [["a": 1, "b": 2, "c": [3], "d": 4]]])
        let object = #"{"a":1,"b":2,"c":[3],"d":4}"#
        #expect(try json(outer).hasSuffix(#"{"inner":"# + object + #","list":["# + object + "]}}"))
    }

    @Test("an empty list shares nothing")
    func emptyListSharesNothing() throws {
        var properties = (Properties()).shared()
        #expect(properties.isEmpty)
        properties.addDefaults(Properties().shared())
        #expect(try json(properties).hasSuffix(#""properties":{}}"#))
        properties.addDefaults((["a": 1] as Properties).shared())
        #expect(try json(properties).hasSuffix(#""properties":{"a":1}}"#))
    }

    @Test("names are found in a list and in its shared block in any case, and no others are")
    func namesAreFoundInAnyCase() {
        let names = CaseInsensitiveNames(["password", "Token", "ключ", ""])
        for name in ["password", "PASSWORD", "PassWord", "token", "TOKEN", "ключ", "КЛЮЧ", ""] {
            let own: Properties = [name: 1, "other": 2]
            #expect(own.hasName(among: names))
            var sharing: Properties = ["other": 2]
            sharing.addDefaults(own.shared())
            #expect(sharing.hasName(among: names))
        }
        for name in ["passwords", "passwor", "tokem", "ключи", "drowssap", "@assword", "\u{50}asswore"] {
            let own: Properties = [name: 1, "other": ["password": 1]]
            #expect(!own.hasName(among: names))
            #expect(!own.shared().hasName(among: names))
        }
    }

    @Test("ASCII names are recognized at every length")
    func asciiIsRecognizedAtEveryLength() {
        for length in 0..<40 {
            let ascii = String(repeating: "a", count: length)
            #expect(ascii.isASCII)
            for position in 0...length {
                var mixed = ascii
                mixed.insert("é", at: mixed.index(mixed.startIndex, offsetBy: position))
                #expect(!mixed.isASCII)
            }
        }
    }
}
