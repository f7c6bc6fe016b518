import Foundation
import SluiceTesting
import Testing

@testable import SluiceEvents

@Suite("Properties of encodable values")
struct PropertyEncoderTests {
    enum Plan: String, Codable { case free, pro }
    enum Shape: Codable {
        case circle(radius: Double)
        case none
    }
    struct Address: Codable {
        let city: String
        var zip: String?
    }
    struct Everything: Codable {
        var string = "x"
        var int = 1
        var small: UInt8 = 2
        var double = 1.5
        var float: Float = 0.1
        var bool = true
        var plan = Plan.pro
        var shapes = [Shape.circle(radius: 2), .none]
        var address = Address(city: "Bonn", zip: "53111")
        var addresses = [Address(city: "Ulm")]
        var missing: String?
        var present: Int? = 3
        var list = [1, 2]
        var lists = [["a"], []]
        var named = ["b": 1, "a": 2]
        var places = ["b": Address(city: "B"), "a": Address(city: "A")]
        var numbered = [7: "seven"]
        var plans = [Plan.free]
        var date = Timestamp(milliseconds: 1_800_000_000_123)
        var id = EventID(high: 1, low: 2)
        var value: PropertyValue = ["k": [1, "x"]]
        var properties: Properties = ["p": 1]
    }

    @Test("structs, optionals, arrays, enums, dates and dictionaries have the expected form")
    func everyKindOfValue() throws {
        let expected: Properties = [
            "string": "x", "int": 1, "small": 2, "double": 1.5, "float": 0.1, "bool": true, "plan": "pro",
            "shapes": [["circle": ["radius": 2.0]], ["none": [:]]], "address": ["city": "Bonn", "zip": "53111"],
            "addresses": [["city": "Ulm"]], "present": 3, "list": [1, 2], "lists": [["a"], []],
            "named": ["a": 2, "b": 1], "places": ["a": ["city": "A"], "b": ["city": "B"]], "numbered": ["7": "seven"],
            "plans": ["free"], "date": .date(Timestamp(milliseconds: 1_800_000_000_123)),
            "id": .string(EventID(high: 1, low: 2).description), "value": ["k": [1, "x"]], "properties": ["p": 1],
        ]
        let properties = try Properties(encoding: Everything())
        #expect(properties.description == expected.description)
        #expect(properties.bounds.sanitizations == [])
    }

    struct Named: Encodable {
        let firstName = "Kim"
        let secret = "x"
        enum CodingKeys: String, CodingKey { case firstName = "first_name" }
    }

    class Base: Encodable {
        let base = 1
    }
    final class Derived: Base {
        let own = 2
        enum CodingKeys: CodingKey { case own }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try super.encode(to: container.superEncoder())
            try container.encode(own, forKey: .own)
        }
    }

    struct ByHand: Encodable {
        let body: @Sendable (any Encoder) throws -> Void
        func encode(to encoder: any Encoder) throws { try body(encoder) }
    }
    enum Key: String, CodingKey { case a, b, c }

    /// A value, and its properties as JSON.
    struct Form: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let json: String
        let make: @Sendable () -> any Encodable
        init(_ name: String, _ json: String, _ make: @escaping @Sendable () -> any Encodable) {
            testDescription = name
            self.json = json
            self.make = make
        }
        init(_ name: String, _ json: String, byHand body: @escaping @Sendable (any Encoder) throws -> Void) {
            self.init(name, json) { ByHand(body: body) }
        }
    }

    static let forms = [
        Form("coding keys of the type's own", #"{"first_name":"Kim"}"#) { Named() },
        Form("a class and its superclass", #"{"super":{"base":1},"own":2}"#) { Derived() },
        Form("a dictionary", #"{"a":1,"b":2}"#) { ["b": 2, "a": 1] },
        Form("properties", #"{"b":2,"a":1}"#) { ["b": 2, "a": 1] as Properties },
        Form("an enum with a payload", #"{"circle":{"radius":1.5}}"#) { Shape.circle(radius: 1.5) },
        Form("a value that encodes nothing", "{}", byHand: { _ in }),
        Form(
            "nested containers", #"{"a":{"b":[1,{"c":null},[true]]}}"#,
            byHand: { encoder in
                var outer = encoder.container(keyedBy: Key.self)
                var object = outer.nestedContainer(keyedBy: Key.self, forKey: .a)
                var array = object.nestedUnkeyedContainer(forKey: .b)
                try array.encode(1)
                var inner = array.nestedContainer(keyedBy: Key.self)
                try inner.encodeNil(forKey: .c)
                var list = array.nestedUnkeyedContainer()
                try list.encode(true)
            }),
        Form(
            "two views of one container", #"{"a":{"b":1,"c":2}}"#,
            byHand: { encoder in
                var first = encoder.container(keyedBy: Key.self)
                var b = first.nestedContainer(keyedBy: Key.self, forKey: .a)
                try b.encode(1, forKey: .b)
                var second = encoder.container(keyedBy: Key.self)
                var c = second.nestedContainer(keyedBy: Key.self, forKey: .a)
                try c.encode(2, forKey: .c)
            }),
        Form(
            "super encoders that are used late", #"{"a":1,"b":[2,3]}"#,
            byHand: { encoder in
                var outer = encoder.container(keyedBy: Key.self)
                let a = outer.superEncoder(forKey: .a)
                var list = outer.nestedUnkeyedContainer(forKey: .b)
                let first = list.superEncoder()
                try list.encode(3)
                var single = first.singleValueContainer()
                try single.encode(2)
                var late = a.singleValueContainer()
                try late.encode(1)
            }),
        Form(
            "nil in a list", #"{"a":[null,1]}"#,
            byHand: { encoder in
                var outer = encoder.container(keyedBy: Key.self)
                var list = outer.nestedUnkeyedContainer(forKey: .a)
                try list.encodeNil()
                #expect(list.count == 1)
                try list.encode(1)
            }),
    ]

    @Test("a value has its form", arguments: forms)
    func valueHasItsForm(form: Form) throws {
        func properties(of value: some Encodable) throws -> Properties { try Properties(encoding: value) }
        #expect(try properties(of: form.make()).description == form.json)
    }

    // MARK: Limits

    struct Chain: Encodable {
        let next: [Chain]
        static func of(_ length: Int) -> Chain {
            (0..<length).reduce(Chain(next: [])) { chain, _ in Chain(next: [chain]) }
        }
    }

    @Test("a value is cut below 32 levels, and counted")
    func deepValueIsCut() throws {
        let fits = try Properties(encoding: Chain.of(15))
        #expect(fits.bounds.sanitizations == [] && fits.nesting == 32)
        let deep = try Properties(encoding: Chain.of(16))
        #expect(deep.bounds.sanitizations == .truncatedDepth && deep.nesting == 32)
        #expect(try Properties(encoding: Endless(0)).bounds.sanitizations == .truncatedDepth)
        #expect(message(Endless(2))?.contains("Endless is nested in more than 128 values") == true)
    }

    final class Endless: Encodable {
        let style: Int
        init(_ style: Int) { self.style = style }
        func encode(to encoder: any Encoder) throws {
            switch style {
            case 0:
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(self, forKey: .a)
            case 1:
                var container = encoder.unkeyedContainer()
                try container.encode(self)
            case 2:
                var container = encoder.singleValueContainer()
                try container.encode(self)
            default:
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .b)
                try encode(to: container.superEncoder())
            }
        }
    }

    @Test("a NaN becomes null, and is counted")
    func nanBecomesNull() throws {
        let properties = try Properties(encoding: ["a": [Double.nan]])
        #expect(properties == ["a": [nil]] && properties.bounds.sanitizations == .nonFiniteNumber)
    }

    // MARK: Errors

    struct Refusal: Error, CustomStringConvertible {
        var description: String { "a secret" }
    }
    struct Refusing: Encodable {
        func encode(to encoder: any Encoder) throws { throw Refusal() }
    }
    struct Cart: Encodable {
        struct Line: Encodable {
            let price: Refusing
        }
        let items: [Line]
    }
    private func message(_ value: some Encodable) -> String? {
        do throws(SluiceError) {
            _ = try Properties(encoding: value)
            return nil
        } catch {
            #expect(error.code == .unencodable)
            return error.message
        }
    }

    @Test("an error names the type and the place, and shows no text of the value")
    func errorNamesTypeAndPlace() throws {
        let cart = Cart(items: [Cart.Line(price: Refusing())])
        #expect(
            message(cart) == "Cart.items[0].price can't be encoded: Refusing threw an error of type Refusal")
        let error = #expect(throws: SluiceError.self) { try Properties(encoding: cart) }
        #expect(error?.cause is Refusal)
    }

    enum Own {
        struct Date {}
    }

    // The whole error can't be seen here: in this process, another suite links SluiceFoundation.
    @Test("Foundation's types that encode themselves oddly are known")
    func oddFormsAreKnown() {
        #expect(PropertyEncoder.hasOddForm(Date.self) && PropertyEncoder.hasOddForm(Data.self))
        #expect(PropertyEncoder.hasOddForm(Decimal.self))
        #expect(PropertyEncoder.hasOddForm(URL.self))
        #expect(!PropertyEncoder.hasOddForm(UUID.self) && !PropertyEncoder.hasOddForm(Own.Date.self))
    }

    /// What a graph of objects with two references each has.
    final class Knot: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(self, forKey: .a)
            try container.encode(self, forKey: .b)
        }
    }

    /// The end of the message, and a value that is refused.
    static let refused: [(String, @Sendable () -> any Encodable)] = [
        (noObject, { 1 }), (noObject, { "x" }), ("Array<Int> " + noObject, { [1] }), (noObject, { Plan.pro }),
        (noObject, { Int?.none }), ("Endless " + noObject, { Endless(1) }),
        (tooDeep, { Endless(3) }),
        (
            tooDeep,
            {
                [
                    "a": ByHand { encoder in
                        var container = encoder.unkeyedContainer()
                        for _ in 0..<100_000 { container = container.nestedUnkeyedContainer() }
                    }
                ]
            }
        ),
        // Not after 2 to the power of 32.
        ("it has more than 100000 values, or contains itself", { Knot() }),
        (
            "ByHand can't be encoded: \(twoKinds)",
            {
                ByHand { encoder in
                    var object = encoder.container(keyedBy: Key.self)
                    try object.encode(1, forKey: .a)
                    var list = encoder.unkeyedContainer()
                    try list.encode(1)
                }
            }
        ),
        (
            "Dictionary<String, ByHand>.a can't be encoded: \(twoKinds)",
            {
                [
                    "a": ByHand { encoder in
                        var value = encoder.singleValueContainer()
                        try value.encode(1)
                        try value.encode(2)
                    }
                ]
            }
        ),
    ]
    private static let noObject = "can't be encoded: it isn't an object: put it into a property of a struct"
    private static let tooDeep = "can't be encoded: nested in more than 32 levels"
    private static let twoKinds = "its encode(to:) asks for containers of two kinds, or writes two single values"

    @Test(
        "a value that isn't an object, that never ends or that breaks the rules is refused", arguments: refused.indices)
    func valueIsRefused(index: Int) {
        let (reason, make) = Self.refused[index]
        let message = message(make())
        #expect(message?.hasSuffix(reason) == true, "\(message ?? "")")
    }

    @Test("16,000 nested containers keep their order, and each key has one")
    func manyNestedContainers() throws {
        let value = ByHand { encoder in
            var container = encoder.container(keyedBy: PropertyName.self)
            for round in 0..<2 {
                for number in 0..<16_000 {
                    let key = PropertyName("q\(number)")
                    var nested = container.nestedContainer(keyedBy: PropertyName.self, forKey: key)
                    try nested.encode(number, forKey: PropertyName("r\(round)"))
                }
            }
        }
        let properties = try Properties(encoding: value)
        #expect(properties.count == 16_000 && properties[15_999].value == ["r0": 15_999, "r1": 15_999])
    }
}
