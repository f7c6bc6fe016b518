import Sluice

/// The rules for single properties. Rules for lengths hold at every depth.
// A class, because `Limits` is a value, and each copy would retain every part of this one.
final class ValueLimits: Sendable {
    struct Findings {
        var sanitizations: [Sanitization] = []
        var dropsProperty = false
        var refusal: Refusal?

        /// Records a violation that can't be shortened. The property or the event is dropped.
        mutating func forbid(_ strategy: Limits.Rule.Strategy, _ reason: DropReason) {
            switch strategy {
            case .cut, .dropProperty: dropsProperty = true
            case .dropEvent, .setAside: refusal = refusal ?? Refusal(reason, strategy)
            }
        }
    }

    private let name: Limits.Rule?
    private let string: Limits.Rule?
    private let characters: Limits.Rule.Strategy?
    private let reserved: ReservedNames
    private let nesting: Limits.Rule.Strategy?
    private let isStrict: Bool

    /// - Parameter limits: The limits, or nil for no limits.
    init(_ limits: Limits? = nil) {
        name = limits?.propertyName
        string = limits?.string
        characters = limits?.names?.strategy
        reserved = ReservedNames(limits?.reservedNames ?? [])
        nesting = limits?.nesting?.strategy
        isStrict = limits?.isStrict ?? false
    }

    /// Whether the bounds of a list prove that all its properties are within the limits. A text never has fewer bytes
    /// than characters.
    func hold(for properties: Properties) -> Bool {
        if isStrict, properties[""] != nil { return false }
        guard characters == nil, !reserved.hasPrefixes,
            reserved.isEmpty || !properties.hasName(among: reserved.names)
        else { return false }
        if name == nil, string == nil, nesting == nil { return true }
        return properties.isFlat
            && properties.longestNameBytes <= name?.limit ?? .max
            && properties.longestStringBytes <= string?.limit ?? .max
    }

    /// The property within the limits. Nil if it needs no change, or if the findings drop it.
    func fitted(_ property: Property, _ findings: inout Findings) -> Property? {
        if let characters, !property.name.hasPlainCharacters { findings.forbid(characters, .invalidName) }
        if !reserved.isEmpty, reserved.contains(property.name) {
            findings.forbid(characters ?? .dropProperty, .reservedName)
        }
        if isStrict, property.name.isEmpty { findings.dropsProperty = true }
        if let nesting, !property.value.isPlain(withLists: !isStrict), !property.isEnvelope {
            findings.forbid(nesting, .nestedValue)
        }
        guard name != nil || string != nil, findings.refusal == nil, !findings.dropsProperty else { return nil }
        return shortened(property, &findings)
    }

    private func shortened(_ property: Property, _ findings: inout Findings) -> Property? {
        var truncatedName: String?
        if let name, let cut = property.name.cut(to: name.limit) {
            truncatedName = cut
            note(name, .propertyNameTooLong, .cutPropertyName, &findings)
        }
        let value = fitted(property.value, &findings)
        guard truncatedName != nil || value != nil else { return nil }
        return Property(truncatedName ?? property.name, value ?? property.value)
    }

    // The depth of a value bounds the recursion.
    private func fitted(_ value: PropertyValue, _ findings: inout Findings) -> PropertyValue? {
        switch value {
        case .string(let text):
            guard let string, let cut = text.cut(to: string.limit) else { return nil }
            note(string, .stringTooLong, .truncatedString, &findings)
            return .string(cut)
        case .array, .object:
            return value.replacingContents({ fitted($0, &findings) }, { shortened($0, &findings) })
        case .int, .double, .bool, .date, .null:
            return nil
        }
    }

    private func note(
        _ rule: Limits.Rule, _ reason: DropReason, _ sanitization: Sanitization, _ findings: inout Findings
    ) {
        switch rule.strategy {
        case .cut: findings.sanitizations.append(sanitization)
        case .dropProperty, .dropEvent, .setAside: findings.forbid(rule.strategy, reason)
        }
    }
}

extension Property {
    /// Whether this is an object of plain values that are not the event's own properties, such as `$set`.
    fileprivate var isEnvelope: Bool {
        guard name.utf8.first == UInt8(ascii: "$"), case .object(let object) = value else { return false }
        return object.allSatisfy { $0.value.isPlain(withLists: true) }
    }
}

extension PropertyValue {
    /// Replaces the elements of an array, or the properties of an object, for which a closure returns a new one.
    /// Returns nil if nothing changed.
    func replacingContents(
        _ newElement: (PropertyValue) -> PropertyValue?, _ newProperty: (Property) -> Property?
    ) -> PropertyValue? {
        switch self {
        case .array(let array):
            var hasChanged = false
            let elements = array.map { element in
                let new = newElement(element)
                hasChanged = hasChanged || new != nil
                return new ?? element
            }
            return hasChanged ? .array(PropertyArray(elements)) : nil
        case .object(let object):
            return object.replacing(newProperty).map { .object($0) }
        case .string, .int, .double, .bool, .date, .null:
            return nil
        }
    }

    /// Whether this is a scalar, or a list of strings if lists are permitted.
    fileprivate func isPlain(withLists permitsLists: Bool) -> Bool {
        switch self {
        case .object: false
        case .array(let array): permitsLists && array.allSatisfy { if case .string = $0 { true } else { false } }
        case .string, .int, .double, .bool, .date, .null: true
        }
    }
}
