import SluicePlan
import Testing

@testable import PlanGenerator

@Suite("PlanGenerator: the types of a plan")
struct GeneratorTests {
    private func source(_ properties: String, required: String = "[]") throws -> String {
        SwiftFile(try shop(properties, required: required), module: "Sluice", embedded: nil).text
    }

    @Test("an event is a documented type, whose initializer has the plan's types")
    func eventIsDocumentedType() throws {
        let text = try source(
            #""sku": {"type": "string", "maxLength": 40, "description": "The article."}, "n": {"type": "integer"}"#,
            required: #"["sku"]"#)
        #expect(
            text == """
                // Generated from the plan shop, version 3. Change the plan instead of this file.

                import Sluice

                /// Paid.
                struct Purchase: TypedEvent {
                    static let eventName = "Purchase"
                    var eventProperties: Properties { values.properties }
                    private var values = EventValues()

                    /// Creates the event.
                    ///
                    /// - Parameters:
                    ///   - sku: The article. At most 40 characters.
                    ///   - n: The property `n`.
                    init(sku: String, n: Int? = nil) {
                        values.add("sku", sku)
                        values.add("n", n)
                    }
                }

                """)
    }

    @Test("a type within an event doesn't hide one that several events share")
    func sharedTypesAreNotHidden() throws {
        let item = #""item": {"type": "object", "properties": {"sku": {"type": "string"}}}"#
        let items =
            #""items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}"#
        let json = """
            {"plan": "shop", "version": 1, "events": {
            "A": {"description": "A.", "properties": {\(item), \(items)}},
            "B": {"description": "B.", "properties": {\(item)}}}}
            """
        let text = SwiftFile(try TrackingPlan(json: Array(json.utf8)), module: "Sluice", embedded: nil).text
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("    init(") }
        #expect(
            lines.prefix(2) == [
                "    init(item: Item? = nil, items: [Item2]? = nil) {", "    init(item: Item? = nil) {",
            ])
    }

    @Test(
        "names become names of Swift, each once",
        arguments: [
            ("user_id", "userID"), ("SKU", "sku"), ("URLPath", "urlPath"), ("userID", "userID"), ("is gift", "isGift"),
            ("1st", "_1st"), ("名前", "名前"), ("🎉", "value"), ("self", "selfValue"), ("none", "noneValue"),
            ("a.b-c", "aBC"), ("ID2", "id2"), ("größe", "größe"),
        ])
    func namesAreOfSwift(name: String, member: String) { #expect(name.memberName == member) }

    @Test(
        "a type never has a name of Swift or Sluice, also after it has got the suffix",
        arguments: [
            ("plan", "Plan"), ("string", "StringValue"), ("property", "PropertyValueValue"), ("int64", "Int64Value"),
            ("1st", "_1st"), ("🎉", "Value"),
        ])
    func typesHaveNamesOfTheirOwn(property: String, type: String) {
        #expect(property.typeName(reserving: "Value") == type)
        #expect("🎉".typeName(reserving: "Event") == "EventEvent")
    }

    @Test("keywords are escaped, and names that would be equal get numbers")
    func namesAreUnique() throws {
        let text = try source(
            #""default": {"type": "string"}, "a_b": {"type": "string"}, "aB": {"type": "string"}, "values": {"type": "string"}"#
        )
        #expect(
            text.contains(
                "init(`default`: String? = nil, aB: String? = nil, aB2: String? = nil, values: String? = nil) {"))
        #expect(text.contains(#"values2.add("aB", aB2)"#))
        #expect(text.contains(#"values2.add("values", values)"#))
    }

    @Test("equal types of several events are one type")
    func equalTypesAreShared() throws {
        let text = #"""
            {"plan": "a", "version": 1, "events": {
              "A": {"description": "A.", "properties": {"plan": {"enum": ["x"]}, "plans": {"type": "array", "items": {"enum": ["x"]}}}},
              "B": {"description": "B.", "properties": {"plan": {"enum": ["x"]}}},
              "C": {"description": "C.", "properties": {"plan": {"enum": ["y"]}}}}}
            """#
        let plan = try TrackingPlan(json: Array(text.utf8))
        let source = SwiftFile(plan, module: "Sluice", embedded: nil).text
        #expect(
            source.split(separator: "\n").filter { $0.hasPrefix("enum Plan") } == [
                "enum Plan: String, PropertyConvertible {"
            ])
        #expect(source.split(separator: "\n").filter { $0.hasPrefix("    enum Plan") }.count == 1)
    }

    @Test("an enum of integers has raw values of 64 bits if one of them needs more than 32")
    func largeIntegersAreInt64() throws {
        let text = try source(
            #""size": {"enum": [0, 2147483648]}, "least": {"enum": [-2147483649]}, "level": {"enum": [-2147483648, 2147483647]}"#,
            required: #"["size"]"#)
        #expect(text.contains("    enum Size: Int64, PropertyConvertible {\n        case value0 = 0\n"))
        #expect(text.contains("    enum Least: Int64, PropertyConvertible {\n"))
        #expect(text.contains("    enum Level: Int, PropertyConvertible {\n"))
        #expect(text.contains(#"values.add("size", size.propertyValue)"#))
        #expect(text.contains(#"values.add("least", least?.propertyValue)"#))
        #expect(text.contains(#"values.add("level", level?.rawValue)"#))
    }

    @Test("literals have no character that could end them or change the line")
    func literalsAreEscaped() { #expect("a\"\\\n\u{202E}é".literal == #""a\"\\\u{a}\u{202e}é""#) }
}
