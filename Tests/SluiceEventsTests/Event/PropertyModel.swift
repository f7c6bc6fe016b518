import Sluice
import SluiceTesting

/// A list of properties in its simplest form, to which `Properties` is compared: one array, and `==` of whole strings.
struct PropertyModel {
    var pairs: [(String, PropertyValue)] = []

    subscript(name: String) -> PropertyValue? {
        get { pairs.first { $0.0 == name }?.1 }
        set {
            switch (pairs.firstIndex { $0.0 == name }, newValue) {
            case (let index?, let value?): pairs[index].1 = value
            case (let index?, nil): pairs.remove(at: index)
            case (nil, let value?): pairs.append((name, value))
            case (nil, nil): break
            }
        }
    }

    mutating func addDefaults(_ others: PropertyModel) {
        for (name, value) in others.pairs where self[name] == nil { self[name] = value }
    }
}

/// Names that are hard to distinguish, and values.
struct PropertySource {
    var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// Of equal lengths and beginnings, with their twins in other spellings: é is one scalar or two, and so is the Kelvin K.
    private static let names = [
        "", "a", "b", "$a", "$b", "aa", "ab", "ba", "$aa", "$ab", "password", "passwort", "quantity", "position",
        "\u{E9}", "e\u{301}", "K", "\u{212A}", "caf\u{E9}", "cafe\u{301}", "a name of more than fifteen bytes",
        "a name of more than fifteen bites", "\0", "\"", "\\", "$\"quoted\"",
    ]

    mutating func name() -> String { PropertySource.names[number(below: PropertySource.names.count)] }

    mutating func value() -> PropertyValue {
        switch number(below: 8) {
        case 0: .int(Int64(number(below: 100)))
        case 1: .string(String(repeating: "x", count: number(below: 30)))
        case 2: .double(0.5)
        case 3: .bool(true)
        case 4: .null
        case 5: .date(Timestamp(milliseconds: 0))
        case 6: ["an", "array", ["of": 3]]
        default: .string("with \n and \"")
        }
    }

    mutating func model(upTo count: Int) -> PropertyModel {
        var model = PropertyModel()
        for _ in 0..<number(below: count + 1) { model[name()] = value() }
        return model
    }

    mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
}
