package import SluiceEvents

/// The rule for a value: its type and its limits.
package final class ValueRule: Sendable {
    package enum Kind: String, Sendable {
        case string, integer, number, boolean, array, object
        /// A string with the format of a date.
        case date
        /// One of a list of strings or integers.
        case choice
    }

    /// The treatment of a person's data.
    package enum Personal: String, Sendable {
        case hash, drop, keep
    }

    package var kind: Kind { limits.kind }
    package let limits: Limits
    package let description: String?
    package let personal: Personal?
    /// The version of the plan that added the property.
    package let since: Int?
    /// The values of a choice: strings, or integers.
    package let choices: [PropertyValue]
    /// The rule for the elements of an array.
    package let items: ValueRule?
    /// The properties of an object, in the order of the file.
    package let properties: [PropertyRule]
    /// Whether the value, or a value inside it, is hashed or dropped.
    package let changesValues: Bool

    /// The type and the limits of a value.
    package struct Limits: Sendable, Hashable {
        package var kind: Kind
        /// The length of a string in Unicode scalars, or of an array.
        package var length: ClosedRange<Int> = 0...Int.max
        package var minimum = -Double.infinity
        package var maximum = Double.infinity
    }

    init(
        _ limits: Limits, description: String? = nil, personal: Personal? = nil, since: Int? = nil,
        choices: [PropertyValue] = [], items: ValueRule? = nil, properties: [PropertyRule] = []
    ) {
        self.limits = limits
        self.description = description
        self.personal = personal
        self.since = since
        self.choices = choices
        self.items = items
        self.properties = properties
        changesValues =
            personal == .hash || personal == .drop || items?.changesValues == true
            || properties.contains { $0.rule.changesValues }
    }

    package func property(named name: String) -> PropertyRule? { properties.first { $0.name == name } }
}

/// A property of an event or of an object.
package struct PropertyRule: Sendable {
    package let name: String
    package let rule: ValueRule
    package let isRequired: Bool
}

// MARK: - Checking

extension ValueRule {
    /// Adds the differences between the properties of an object and its rules. In a stored event, personal data can be hashed
    /// or missing.
    package func check(_ values: Properties, isStored: Bool, _ findings: inout [Finding]) {
        var missing = properties.count { $0.isRequired }
        for property in values {
            guard let own = self.property(named: property.name) else {
                if property.name.utf8.first != UInt8(ascii: "$") {
                    findings.append(Finding(path: property.name, reason: "isn't in the plan", isUnknown: true))
                }
                continue
            }
            if own.isRequired { missing -= 1 }
            own.rule.check(property.value, at: property.name, isStored, &findings)
        }
        if missing == 0 { return }
        for property in properties where property.isRequired && values[property.name] == nil {
            if isStored, property.rule.personal == .drop { continue }
            findings.append(Finding(path: property.name, reason: "is missing", isUnknown: false))
        }
    }

    /// Adds the differences between a value and its rule.
    private func check(_ value: PropertyValue, at path: String, _ isStored: Bool, _ findings: inout [Finding]) {
        // A string in place of a hashed one can be its hash, which has another length.
        if isStored, personal == .hash, case .string = value { return }
        if let problem = problem(of: value) { findings.append(Finding(path: path, reason: problem, isUnknown: false)) }
        // An object without rules can have any properties.
        guard kind == .array || kind == .object && !properties.isEmpty else { return }
        let first = findings.count
        var separator = "."
        if kind == .object, case .object(let object) = value {
            check(object, isStored: isStored, &findings)
        } else if let items, case .array(let array) = value {
            separator = ""
            for element in array { items.check(element, at: "[]", isStored, &findings) }
        }
        for index in first..<findings.count { findings[index].path = "\(path)\(separator)\(findings[index].path)" }
    }

    /// The broken rule, without the rules of elements and of an object's properties. Nil if the value conforms.
    private func problem(of value: PropertyValue) -> String? {
        switch (limits.kind, value) {
        case (.boolean, .bool), (.date, .date), (.object, .object): nil
        case (.string, .string(let text)):
            limits.length == 0...Int.max ? nil : lengthProblem(text.unicodeScalars.count)
        // A receiver gets a date as a string of 24 characters.
        case (.string, .date): lengthProblem(24)
        case (.date, .string(let text)): text.isDateTime ? nil : typeProblem
        case (.array, .array(let array)): lengthProblem(array.count)
        case (.integer, .int(let int)), (.number, .int(let int)): rangeProblem(int)
        case (.number, .double(let double)): rangeProblem(double)
        case (.integer, .double(let double)): double == double.rounded() ? rangeProblem(double) : typeProblem
        case (.choice, let value): isChoice(value) ? nil : typeProblem
        default: typeProblem
        }
    }

    private func lengthProblem(_ length: Int) -> String? {
        if length > limits.length.upperBound { return "has more than \(count(limits.length.upperBound))" }
        return length < limits.length.lowerBound ? "has less than \(count(limits.length.lowerBound))" : nil
    }

    // The limits are whole numbers of up to 53 bits, or fractions, so rounding a larger integer changes no result, except
    // beside a limit of exactly 53 bits.
    private func rangeProblem(_ int: Int64) -> String? {
        if int.magnitude <= PlanReader.largestExact { return rangeProblem(Double(int)) }
        return rangeProblem(int > 0 ? Double(PlanReader.largestExact) * 2 : -Double(PlanReader.largestExact) * 2)
    }

    private func rangeProblem(_ double: Double) -> String? {
        if double < limits.minimum { return "is less than \(limits.minimum.text)" }
        return double > limits.maximum ? "is more than \(limits.maximum.text)" : nil
    }

    func isChoice(_ value: PropertyValue) -> Bool {
        choices.contains { choice in
            switch (choice, value) {
            // By bytes, as every reader of JSON Schema compares them.
            case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
            case (.string(let left), .date(let right)): left == right.description
            case (.int(let left), .double(let right)): Int64(exactly: right) == left
            default: choice == value
            }
        }
    }

    private var typeProblem: String {
        switch kind {
        case .string, .number, .date: "isn't a \(kind.rawValue)"
        case .integer, .array, .object: "isn't an \(kind.rawValue)"
        case .boolean: "isn't true or false"
        case .choice: "isn't one of its values"
        }
    }
}

extension Double {
    /// The number as text. A whole number has no decimal point.
    package var text: String { Int64(exactly: self).map { "\($0)" } ?? "\(self)" }
}

extension String {
    /// Whether it is a date with a time and a zone (RFC 3339). `t` and `z` may be lowercase. A leap second isn't accepted.
    fileprivate var isDateTime: Bool {
        let bytes = utf8.map { $0 == UInt8(ascii: "t") || $0 == UInt8(ascii: "z") ? $0 & 0xDF : $0 }
        // The date and the time of a timestamp without a fraction: 2026-11-21T05:55:16
        guard bytes.count > 19, bytes.allSatisfy({ $0 < 0x80 }) else { return false }
        guard Timestamp(String(decoding: bytes[..<19], as: UTF8.self) + ".000Z") != nil else { return false }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard !digits.isEmpty else { return false }
            rest = rest.dropFirst(digits.count + 1)
        }
        guard let zone = rest.first else { return false }
        if zone == UInt8(ascii: "Z") { return rest.count == 1 }
        guard rest.count == 6, zone == UInt8(ascii: "+") || zone == UInt8(ascii: "-") else { return false }
        // The offset is a time without seconds.
        return Timestamp("2000-01-01T\(String(decoding: rest.dropFirst(), as: UTF8.self)):00.000Z") != nil
    }
}
