public import SluiceEvents

/// The place of a mistake in a plan's file, and the reason.
package struct PlanError: Error, CustomStringConvertible {
    package let file: String
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in bytes of UTF-8.
    package let column: Int
    package let reason: String

    /// Creates an error at an offset in the bytes of the file.
    init(_ file: String, _ bytes: [UInt8], _ offset: Int, _ reason: String) {
        let before = bytes.prefix(offset)
        self.file = file
        line = before.count { $0 == 0x0A } + 1
        column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        self.reason = reason
    }

    /// The form that compilers and editors know: `file:line:column: error: reason`.
    package var description: String { "\(file):\(line):\(column): error: \(reason)" }
}

extension TrackingPlan {
    /// Reads a plan.
    ///
    /// ```swift
    /// let text = #"{"plan": "shop", "version": 1, "events": {}}"#
    /// let plan = try TrackingPlan(json: Array(text.utf8), file: "shop.plan.json")
    /// ```
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - file: The name of the file, for the message of an error.
    /// - Throws: ``Sluice/SluiceError/Code/invalidPlan`` with the file, the line, the column and the reason, such as
    ///   `shop.plan.json:4:30: "minimum" has no meaning for "enum"`.
    public init(json bytes: [UInt8], file: String = "plan") throws(SluiceError) {
        do throws(PlanError) {
            try self.init(locating: bytes, file)
        } catch {
            throw SluiceError(.invalidPlan, "\(error.file):\(error.line):\(error.column): \(error.reason)")
        }
    }

    package init(locating bytes: [UInt8], _ file: String) throws(PlanError) {
        let document: PropertyValue
        do throws(SluiceError) {
            document = try JSONReader.value(of: bytes)
        } catch {
            throw PlanError(file, bytes, JSONReader.offset(of: [], in: bytes), error.message)
        }
        do throws(PlanReader.Mistake) {
            self = try PlanReader.plan(PlanReader(value: document, path: []))
        } catch {
            // Without a path, the mistake is in the whole document.
            let offset = error.path.isEmpty ? 0 : JSONReader.offset(of: error.path, in: bytes)
            throw PlanError(file, bytes, offset, error.reason)
        }
    }
}

/// A value of a plan's file with the path to it.
struct PlanReader {
    struct Mistake: Error {
        let path: [String]
        let reason: String
    }

    /// The members of an object.
    struct Members {
        let place: PlanReader
        let values: Properties

        subscript(name: String) -> PlanReader? {
            values[name].map { PlanReader(value: $0, path: place.path + [name]) }
        }

        func required(_ name: String) throws(Mistake) -> PlanReader {
            guard let member = self[name] else { throw place.mistake("\"\(name)\" is missing") }
            return member
        }

        func forbid(_ names: [String], for type: String) throws(Mistake) {
            for name in names {
                if let member = self[name] { throw member.mistake("\"\(name)\" has no meaning for \(type)") }
            }
        }
    }

    /// Up to this value, a double can represent each integer.
    static let largestExact: Int64 = 9_007_199_254_740_992

    let value: PropertyValue
    let path: [String]

    func mistake(_ reason: String) -> Mistake { Mistake(path: path, reason: reason) }

    // MARK: JSON

    func members(_ supported: [String]) throws(Mistake) -> Members {
        let members = try anyMembers()
        for property in members.values where !supported.contains(property.name) {
            let names = supported.map { "\"\($0)\"" }.joined(separator: ", ")
            throw Mistake(
                path: path + [property.name], reason: "\"\(property.name)\" isn't supported here: use one of \(names)")
        }
        return members
    }

    func anyMembers() throws(Mistake) -> Members {
        guard case .object(let values) = value else { throw mistake("\(subject) must be an object") }
        return Members(place: self, values: values)
    }

    func string() throws(Mistake) -> String {
        guard case .string(let string) = value, !string.isEmpty else {
            throw mistake("\(subject) must be a string with at least one character")
        }
        return string
    }

    func integer(atLeast minimum: Int) throws(Mistake) -> Int {
        guard let int = value.int, int >= minimum else {
            throw mistake("\(subject) must be a whole number of at least \(minimum)")
        }
        return int
    }

    func number() throws(Mistake) -> Double {
        guard let double = value.double, double.magnitude <= Double(PlanReader.largestExact) else {
            throw mistake("\(subject) must be a number of at most \(PlanReader.largestExact), with any sign")
        }
        return double
    }

    func elements() throws(Mistake) -> [PlanReader] {
        guard case .array(let array) = value else { throw mistake("\(subject) must be an array") }
        return array.enumerated().map { PlanReader(value: $0.element, path: path + ["\($0.offset)"]) }
    }

    /// Reads one of the raw values of a type.
    func word<Word: RawRepresentable>(_ words: [Word]) throws(Mistake) -> Word where Word.RawValue == String {
        guard case .string(let string) = value, let word = words.first(where: { $0.rawValue == string }) else {
            let names = words.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw mistake("\(subject) must be one of \(names)")
        }
        return word
    }

    private var subject: String { path.last.map { "\"\($0)\"" } ?? "the plan" }

    // MARK: The plan

    static func plan(_ root: PlanReader) throws(Mistake) -> TrackingPlan {
        let members = try root.members(["plan", "version", "access", "description", "events"])
        _ = try members["description"]?.string()
        let version = try members.required("version").integer(atLeast: 1)
        let listed = try members.required("events").anyMembers()
        var events: [EventPlan] = []
        for property in listed.values {
            let event = PlanReader(value: property.value, path: listed.place.path + [property.name])
            if let flaw = property.name.flaw { throw event.mistake("an event has a name that \(flaw)") }
            events.append(try event.event(property.name, version))
        }
        return TrackingPlan(
            name: try members.required("plan").string(), version: version,
            access: try members["access"]?.word([.internal, .package, .public]) ?? .internal, events: events)
    }

    private func event(_ name: String, _ version: Int) throws(Mistake) -> EventPlan {
        let members = try members(["description", "owner", "since", "type", "properties", "required"])
        if let type = members["type"] { _ = try type.word([ValueRule.Kind.object]) }
        return EventPlan(
            name: name, description: try members.required("description").string(),
            owner: try members["owner"]?.string(), since: try members.since(version), rule: try members.object(version))
    }

    fileprivate func rule(_ version: Int) throws(Mistake) -> ValueRule {
        let members = try members([
            "type", "enum", "format", "minLength", "maxLength", "minimum", "maximum", "items", "minItems", "maxItems",
            "properties", "required", "description", "personal", "since",
        ])
        var limits = ValueRule.Limits(kind: try members.kind())
        let choices = try members.choices()
        if !choices.isEmpty { limits.kind = .choice }
        let type = limits.kind == .choice ? "\"enum\"" : "a value of type \(limits.kind.rawValue)"
        for (names, kinds) in PlanReader.keywords where !kinds.contains(limits.kind) {
            try members.forbid(names, for: type)
        }
        try members.limit(&limits)
        let personal = try members["personal"]?.word([ValueRule.Personal.hash, .drop, .keep])
        if personal == .hash, limits.kind != .string {
            throw Mistake(path: path + ["personal"], reason: "\"hash\" is for strings only: use \"drop\" or \"keep\"")
        }
        return ValueRule(
            limits, description: try members["description"]?.string(), personal: personal,
            since: try members.since(version), choices: choices, items: try members.items(limits.kind, version),
            properties: try members.object(version).properties)
    }

    /// The keywords that some kinds of values have.
    private static let keywords: [(names: [String], kinds: [ValueRule.Kind])] = [
        (["minimum", "maximum"], [.integer, .number]), (["minLength", "maxLength"], [.string]),
        (["items", "minItems", "maxItems"], [.array]), (["properties", "required"], [.object]),
    ]
}

extension PlanReader.Members {
    fileprivate func since(_ version: Int) throws(PlanReader.Mistake) -> Int? {
        guard let member = self["since"] else { return nil }
        let since = try member.integer(atLeast: 1)
        guard since <= version else { throw member.mistake("\"since\" is later than the plan's version, \(version)") }
        return since
    }

    /// The type, or the type of the choices.
    fileprivate func kind() throws(PlanReader.Mistake) -> ValueRule.Kind {
        guard let type = self["type"] else {
            guard self["enum"] != nil else { throw place.mistake("a property needs \"type\" or \"enum\"") }
            try forbid(["format"], for: "\"enum\"")
            return .choice
        }
        let kind = try type.word([ValueRule.Kind.string, .integer, .number, .boolean, .array, .object])
        guard let format = self["format"] else { return kind }
        guard kind == .string, self["enum"] == nil, format.value == "date-time" else {
            throw format.mistake("\"format\" must be \"date-time\", with the type \"string\" and without \"enum\"")
        }
        return .date
    }

    /// The values of `enum`; empty without one.
    fileprivate func choices() throws(PlanReader.Mistake) -> [PropertyValue] {
        guard let list = self["enum"] else { return [] }
        var choices: [PropertyValue] = []
        for element in try list.elements() {
            switch (element.value, choices.first) {
            case (.string, nil), (.string, .string), (.int, nil), (.int, .int): break
            default: throw element.mistake("\"enum\" must have strings only, or whole numbers only")
            }
            if choices.contains(element.value) { throw element.mistake("\"enum\" has a value twice") }
            choices.append(element.value)
        }
        let type: PropertyValue = choices.first?.string == nil ? "integer" : "string"
        if choices.isEmpty { throw list.mistake("\"enum\" needs a value") }
        if let stated = self["type"], stated.value != type {
            throw stated.mistake("\"enum\" has values of another type: \(type.string ?? "")")
        }
        return choices
    }

    fileprivate func limit(_ limits: inout ValueRule.Limits) throws(PlanReader.Mistake) {
        limits.minimum = try self["minimum"]?.number() ?? limits.minimum
        limits.maximum = try self["maximum"]?.number() ?? limits.maximum
        if limits.minimum > limits.maximum { throw place.mistake("\"minimum\" is more than \"maximum\"") }
        let unit = limits.kind == .array ? "Items" : "Length"
        let least = try self["min" + unit]?.integer(atLeast: 0) ?? 0
        let most = try self["max" + unit]?.integer(atLeast: 0) ?? .max
        guard least <= most else { throw place.mistake("\"min\(unit)\" is more than \"max\(unit)\"") }
        limits.length = least...most
    }

    fileprivate func items(_ kind: ValueRule.Kind, _ version: Int) throws(PlanReader.Mistake) -> ValueRule? {
        guard kind == .array else { return nil }
        let member = try required("items")
        let items = try member.rule(version)
        if items.personal == .drop { throw member.mistake("\"drop\" must stand beside \"items\", for the whole array") }
        return items
    }

    /// Reads `properties` and `required`.
    fileprivate func object(_ version: Int) throws(PlanReader.Mistake) -> ValueRule {
        var required: [String] = []
        for element in try self["required"]?.elements() ?? [] {
            let name = try element.string()
            guard self["properties"]?.value.object?[name] != nil else {
                throw element.mistake("\"\(name)\" is required, but isn't among \"properties\"")
            }
            if required.contains(name) { throw element.mistake("\"\(name)\" is listed twice") }
            required.append(name)
        }
        var properties: [PropertyRule] = []
        if let listed = try self["properties"]?.anyMembers() {
            for property in listed.values {
                let member = PlanReader(value: property.value, path: listed.place.path + [property.name])
                if let flaw = property.name.flaw { throw member.mistake("a property has a name that \(flaw)") }
                properties.append(
                    PropertyRule(
                        name: property.name, rule: try member.rule(version),
                        isRequired: required.contains(property.name)))
            }
        }
        return ValueRule(ValueRule.Limits(kind: .object), properties: properties)
    }
}
