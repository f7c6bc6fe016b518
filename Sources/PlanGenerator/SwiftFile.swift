import SluiceEvents
import SluicePlanModel

/// The Swift source of a plan's events.
struct SwiftFile {
    /// A type for a property, and its contents.
    private struct Shape: Hashable {
        let property: String
        let signature: String
    }

    private(set) var text: String
    /// Types that several events use, with their names.
    private var shared: [Shape: String] = [:]
    /// The types around the one that is written. A type within it must not hide them.
    private var enclosing: Set<String> = []
    private let access: String
    /// The conformance that Swift derives for types that aren't public.
    private let sendable: String

    /// Writes the types. `module` is the module to import, and `embedded` the plan's file, if the source contains it.
    init(_ plan: TrackingPlan, module: String, embedded: [UInt8]?) {
        sendable = plan.access == .public ? ", Sendable" : ""
        access = plan.access == .internal ? "" : "\(plan.access.rawValue) "
        let source = "plan \(plan.name.onOneLine), version \(plan.version)"
        text = "// Generated from the \(source). Change the plan instead of this file.\n\n\(access)import \(module)\n"
        var names = Names()
        let events = plan.events.map { ($0, names.unique($0.name.typeName(reserving: "Event"))) }
        let hoisted = SwiftFile.sharedShapes(plan)
        for (shape, _) in hoisted { shared[shape] = names.unique(shape.property.typeName(reserving: "Value")) }
        for (event, name) in events { add(event, name) }
        for (shape, rule) in hoisted { add(rule, of: shape.property, shared[shape] ?? "", indent: "") }
        if let embedded { embed(plan, embedded) }
    }

    /// The types that more than one event uses, in the order of their first use.
    private static func sharedShapes(_ plan: TrackingPlan) -> [(Shape, ValueRule)] {
        var users: [Shape: Int] = [:]
        var order: [(Shape, ValueRule)] = []
        for event in plan.events {
            var own: Set<Shape> = []
            visit(event.rule) { shape, rule in
                if !own.insert(shape).inserted { return }
                if users[shape] == nil { order.append((shape, rule)) }
                users[shape, default: 0] += 1
            }
        }
        return order.filter { users[$0.0] ?? 0 > 1 }
    }

    private static func visit(_ rule: ValueRule, _ body: (Shape, ValueRule) -> Void) {
        for property in rule.properties {
            let (name, own) = property.typed
            if own.hasType { body(Shape(property: name, signature: own.signature), own) }
            visit(own, body)
        }
    }

    // MARK: Types

    private mutating func add(_ event: EventPlan, _ name: String) {
        text += "\n"
        comment(event.description, "")
        let facts = [event.owner.map { "Owner: \($0.onOneLine)." }, event.since.map { "Since version \($0)." }]
        let line = facts.compactMap(\.self).joined(separator: " ")
        if !line.isEmpty { text += "///\n/// \(line)\n" }
        text += "\(access)struct \(name): TypedEvent\(sendable) {\n"
        text += "    \(access)static let eventName = \(event.name.literal)\n"
        addMembers(of: event.rule, "event", "var eventProperties: Properties { ", " }", indent: "    ")
        text += "}\n"
    }

    /// Adds the type of a choice or of an object.
    private mutating func add(_ rule: ValueRule, of property: String, _ name: String, indent: String) {
        text += "\n"
        comment(
            rule.description ?? "\(rule.kind == .object ? "The object" : "The values of") `\(property.onOneLine)`.",
            indent)
        if rule.kind == .object {
            text += "\(indent)\(access)struct \(name): PropertyConvertible\(sendable) {\n"
            addMembers(
                of: rule, "object", "var propertyValue: PropertyValue { .object(", ") }", indent: indent + "    ")
        } else {
            text += "\(indent)\(access)enum \(name): \(rule.rawType), PropertyConvertible\(sendable) {\n"
            var names = Names()
            for choice in rule.choices { text += "\(indent)    case \(caseText(choice, &names))\n" }
        }
        text += "\(indent)}\n"
    }

    private func caseText(_ choice: PropertyValue, _ names: inout Names) -> String {
        guard case .int(let int) = choice else {
            let string = choice.string ?? ""
            let name = names.unique(string.memberName)
            return name == string ? name.escaped : "\(name.escaped) = \(string.literal)"
        }
        return "\(names.unique(int < 0 ? "minus\(int.magnitude)" : "value\(int)")) = \(int)"
    }

    /// Adds the properties and the initializer of an event or an object, and the types of its properties.
    private mutating func addMembers(
        of rule: ValueRule, _ kind: String, _ head: String, _ tail: String, indent: String
    ) {
        var names = Names(taken: ["eventName", "eventProperties", "propertyValue"])
        let members = rule.properties.map { (property: $0, name: names.unique($0.name.memberName)) }
        let values = names.unique("values")
        var types = Names(taken: enclosing.union(shared.values))
        var nested: [Shape: String] = [:]
        var parameters: [String] = []
        var own: [(Shape, ValueRule)] = []
        for (property, name) in members {
            let (base, typed) = property.typed
            let shape = Shape(property: base, signature: typed.signature)
            if typed.hasType, shared[shape] == nil, nested[shape] == nil {
                nested[shape] = types.unique(base.typeName(reserving: "Value"))
                own.append((shape, typed))
            }
            let type = property.rule.type(named: shared[shape] ?? nested[shape] ?? "")
            parameters.append("\(name.escaped): \(type)\(property.isRequired ? "" : "? = nil")")
        }
        text += "\(indent)\(access)\(head)\(values).properties\(tail)\n"
        text += "\(indent)private var \(values) = EventValues()\n\n"
        text += "\(indent)/// Creates the \(kind).\n"
        addInitializer(members, parameters, values, indent)
        let outer = enclosing
        enclosing.formUnion(nested.values)
        for (shape, rule) in own { add(rule, of: shape.property, nested[shape] ?? "", indent: indent) }
        enclosing = outer
    }

    private mutating func addInitializer(
        _ members: [(property: PropertyRule, name: String)], _ parameters: [String], _ values: String, _ indent: String
    ) {
        if !members.isEmpty { text += "\(indent)///\n" }
        if members.count > 1 { text += "\(indent)/// - Parameters:\n" }
        for (property, name) in members {
            let item = members.count > 1 ? "///   - \(name)" : "/// - Parameter \(name)"
            text += "\(indent)\(item): \(property.documentation(as: name))\n"
        }
        let list = parameters.joined(separator: ", ")
        if list.count + indent.count < 100 {
            text += "\(indent)\(access)init(\(list)) {"
        } else {
            let lines = parameters.map { "\(indent)    \($0)" }.joined(separator: ",\n")
            text += "\(indent)\(access)init(\n\(lines)\n\(indent)) {"
        }
        if members.isEmpty {
            text += "}\n"
            return
        }
        text += "\n"
        for (property, name) in members {
            let value = name.escaped + (property.isRequired ? "" : property.rule.suffix.isEmpty ? "" : "?")
            text += "\(indent)    \(values).add(\(property.name.literal), \(value)\(property.rule.suffix))\n"
        }
        text += "\(indent)}\n"
    }

    private mutating func comment(_ description: String, _ indent: String) {
        for line in description.split(whereSeparator: \.isNewline) { text += "\(indent)/// \(line)\n" }
    }

    // MARK: The plan

    private mutating func embed(_ plan: TrackingPlan, _ bytes: [UInt8]) {
        let name = plan.name.memberName
        let json = String(decoding: bytes.withoutSpace, as: UTF8.self)
        // A raw literal, with more number signs than the text has in a row.
        let runs = json.split { $0 != "#" }.map(\.count)
        let signs = String(repeating: "#", count: (runs.max() ?? 0) + 1)
        text += """

            extension TrackingPlan {
                /// The plan \(plan.name.onOneLine), version \(plan.version), as it was when these types were generated.
                ///
                /// - Throws: `SluiceError.Code.invalidPlan` if the version of Sluice at run time can't read it.
                \(access)static func \(name.escaped)() throws(SluiceError) -> TrackingPlan {
                    try TrackingPlan(json: Array(\(signs)"\(json)"\(signs).utf8), file: \(name.literal))
                }
            }

            """
    }
}

extension PropertyRule {
    /// The rule that can need a type of its own, and the base of its name: for an array, the ones of its elements.
    fileprivate var typed: (name: String, rule: ValueRule) {
        var (name, rule) = (name, rule)
        while let items = rule.items { (name, rule) = (name.singular, items) }
        return (name, rule)
    }

    fileprivate func documentation(as name: String) -> String {
        var sentences = [rule.description?.onOneLine ?? "The property `\(self.name.onOneLine)`."]
        if rule.description != nil, self.name != name { sentences.append("The property `\(self.name.onOneLine)`.") }
        if let limits = rule.limitText { sentences.append(limits.prefix(1).uppercased() + limits.dropFirst() + ".") }
        if let personal = rule.personal { sentences.append("Personal data: \(personal.rawValue).") }
        return sentences.joined(separator: " ")
    }
}

extension ValueRule {
    /// Whether generated code has a type of its own for the value.
    fileprivate var hasType: Bool { kind == .choice || kind == .object && !properties.isEmpty }

    /// The Swift type. `name` is the one of the type of its own.
    fileprivate func type(named name: String) -> String {
        switch kind {
        case .string: "String"
        case .integer: "Int"
        case .number: "Double"
        case .boolean: "Bool"
        case .date: "Timestamp"
        case .choice: name
        case .object: properties.isEmpty ? "Properties" : name
        case .array: "[\(items?.type(named: name) ?? "")]"
        }
    }

    /// The member of the Swift value that is added to the values of the event.
    fileprivate var suffix: String {
        switch kind {
        case .string, .integer, .number, .boolean, .date: ""
        // EventValues has no method for an Int64, which few enums need.
        case .choice: rawType == "Int64" ? ".propertyValue" : ".rawValue"
        case .object, .array: ".propertyValue"
        }
    }

    /// The type of an enum's raw values. `Int` has 32 bits on some platforms.
    fileprivate var rawType: String {
        if choices.first?.string != nil { return "String" }
        return choices.contains { $0.int.map { Int32(exactly: $0) == nil } ?? true } ? "Int64" : "Int"
    }

    /// The contents of the Swift type. Equal contents under an equal name are one type.
    fileprivate var signature: String {
        let members = properties.map { "\($0.name.literal)\($0.isRequired ? "!" : "?")\($0.rule.signature)" }
        return
            "\(kind.rawValue)(\((choices.map { "\($0)" } + members).joined(separator: ",")))\(items?.signature ?? "")"
    }
}

extension String {
    /// The text without newlines, for a comment.
    fileprivate var onOneLine: String { split(whereSeparator: \.isNewline).joined(separator: " ") }
}

extension [UInt8] {
    /// JSON without space between its values.
    fileprivate var withoutSpace: [UInt8] {
        var result: [UInt8] = []
        var isString = false
        var isEscaped = false
        for byte in self {
            if isString || !" \n\r\t".utf8.contains(byte) { result.append(byte) }
            if isString {
                isString = byte != UInt8(ascii: "\"") || isEscaped
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            } else {
                isString = byte == UInt8(ascii: "\"")
            }
        }
        return result
    }
}
