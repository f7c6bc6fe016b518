import Sluice

/// The rules for single properties. Rules for lengths hold at every depth. The members of an object under a `$` name, such
/// as the `$set` of a profile, are properties themselves, because wire formats put them at the top level.
// A class, because `Limits` is a value, and each copy would retain every part of this one.
final class ValueLimits: Sendable {
    struct Findings {
        var sanitizations: [Sanitization] = []
        /// Why the property is dropped.
        var dropReason: DropReason?
        var refusal: Refusal?
        var dropsProperty: Bool { dropReason != nil }
        var isFinal: Bool { dropsProperty || refusal != nil }

        /// Records a violation that can't be shortened. The property or the event is dropped.
        mutating func forbid(_ strategy: Limits.Rule.Strategy, _ reason: DropReason) {
            switch strategy {
            case .cut, .dropProperty: dropReason = dropReason ?? reason
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
        guard characters == nil, reserved.isEmpty else { return false }
        if name == nil, string == nil, nesting == nil { return true }
        return properties.isFlat
            && properties.longestNameBytes <= name?.limit ?? .max
            && properties.longestStringBytes <= string?.limit ?? .max
    }

    /// Why nothing can have this name: an event, a property, or a kind of items or ids.
    func violation(of name: String) -> (strategy: Limits.Rule.Strategy, reason: DropReason)? {
        if let characters, !name.hasPlainCharacters { return (characters, .invalidName) }
        if !reserved.isEmpty, reserved.contains(name) { return (characters ?? .dropProperty, .reservedName) }
        return nil
    }

    /// The property within the limits. Nil if it needs no change, or if the findings drop it.
    func fitted(_ property: Property, _ findings: inout Findings) -> Property? {
        let name = property.name
        guard name.utf8.first == UInt8(ascii: "$") else { return plain(property, withLists: !isStrict, &findings) }
        switch property.value {
        case .object(let members):
            let outer = plain(Property(name, true), withLists: true, &findings)
            // As wire formats without objects do.
            let prefix = SluiceNames.objects.contains(name) ? "" : name.dropFirst() + "_"
            let fitted = fitted(members.lazy.map { Property(prefix + $0.name, $0.value) }, &findings)
            let pairs = fitted?.map { (String(Substring($0.name.utf8.dropFirst(prefix.utf8.count))), $0.value) }
            guard outer != nil || pairs != nil else { return nil }
            return Property(outer?.name ?? name, pairs.map { .object(members.replacingAll(by: $0)) } ?? property.value)
        case .array(let names) where name == SluiceNames.list:
            let fitted = fitted(names.lazy.map { Property($0.string ?? "", true) }, &findings)
            return fitted.map { Property(name, .array(PropertyArray($0.map { .string($0.name) }))) }
        case .string(let kind) where SluiceNames.kinds.contains(name):
            var own = Findings()
            _ = plain(Property(kind, true), withLists: true, &own)
            if let reason = own.dropReason { own.refusal = Refusal(reason, .dropEvent) }
            findings.refusal = findings.refusal ?? own.refusal
        default: break
        }
        return plain(property, withLists: !isStrict, &findings)
    }

    /// The properties within the limits. Nil if all are.
    private func fitted(_ properties: some Sequence<Property>, _ findings: inout Findings) -> [Property]? {
        var isChanged = false
        let result = properties.compactMap { property in
            var own = Findings()
            let fitted = plain(property, withLists: true, &own)
            findings.refusal = findings.refusal ?? own.refusal
            findings.sanitizations += own.dropsProperty ? [.droppedProperty] : own.sanitizations
            isChanged = isChanged || own.dropsProperty || fitted != nil
            return own.dropsProperty ? nil : fitted ?? property
        }
        return isChanged ? result : nil
    }

    private func plain(
        _ property: Property, withLists permitsLists: Bool, _ findings: inout Findings
    ) -> Property? {
        if let violation = violation(of: property.name) { findings.forbid(violation.strategy, violation.reason) }
        if isStrict, property.name.isEmpty { findings.forbid(.dropProperty, .invalidName) }
        if let nesting, !property.value.isPlain(withLists: permitsLists) { findings.forbid(nesting, .nestedValue) }
        guard name != nil || string != nil, !findings.isFinal else { return nil }
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

/// The properties of `Identity` whose values have names. All wire formats put these names at the top level of a record.
private enum SluiceNames {
    /// Objects whose members keep their names. Others get the object's name in front, such as `groups_company`.
    static let objects: Set = ["$set", "$set_once", "$increment", "$append", "$item", "$identities"]
    /// A list of names.
    static let list = "$unset"
    /// The name of a kind of things, without which the event has no meaning.
    static let kinds: Set = ["$item_type", "$id_kind"]
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
