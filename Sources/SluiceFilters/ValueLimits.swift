import Sluice

/// The rules for single properties. Rules for lengths hold at every depth. The members of an object under a `$` name, such
/// as the `$set` of a profile, are properties themselves, because wire formats put them at the top level.
// A class, because `Limits` is a value, and each copy would retain every part of this one.
final class ValueLimits: Sendable {
    struct Findings {
        var sanitizations: [Sanitization] = []
        /// Why the property is dropped, or the event, which takes precedence.
        private(set) var violation: Violation?

        /// Records a violation. With a sanitization, the action `cut` has mended it.
        mutating func add(_ new: Violation, cutAs sanitization: Sanitization? = nil) {
            if new.strategy == .cut, let sanitization { return sanitizations.append(sanitization) }
            if violation == nil || new.dropsEvent && violation?.dropsEvent == false { violation = new }
        }
    }

    private let name: Limits.Rule?
    private let string: Limits.Rule?
    private let characters: Limits.Rule.Strategy?
    private let reserved: NamePatterns
    private let nesting: Limits.Rule.Strategy?
    private let isStrict: Bool

    /// - Parameter limits: The limits, or nil for no limits.
    init(_ limits: Limits? = nil) {
        name = limits?.propertyName
        string = limits?.string
        characters = limits?.names?.strategy
        reserved = NamePatterns((limits?.reservedNames ?? []).map(\.caseFolded))
        nesting = limits?.nesting?.strategy
        isStrict = limits?.isStrict ?? false
    }

    /// Whether the bounds of a list prove that all its properties are within the limits. A text never has fewer bytes
    /// than characters.
    func hold(for properties: Properties) -> Bool {
        if isStrict, properties[""] != nil { return false }
        guard characters == nil, reserved.listed.isEmpty else { return false }
        if name == nil, string == nil, nesting == nil { return true }
        return properties.isFlat
            && properties.longestNameBytes <= name?.limit ?? .max
            && properties.longestStringBytes <= string?.limit ?? .max
    }

    /// Why nothing can have this name: an event, a property, or a kind of items or ids.
    func violation(of name: String) -> Violation? {
        if let characters, !name.hasPlainCharacters { return Violation(.invalidName, characters) }
        guard !reserved.listed.isEmpty, reserved.contains(name.caseFolded) else { return nil }
        return Violation(.reservedName, characters ?? .dropProperty)
    }

    /// The property within the limits. Nil if it needs no change, or if the findings drop it.
    ///
    /// - Parameters:
    ///   - property: A property of the event itself.
    ///   - naming: The properties of this event whose contents are names: ``OwnNames/names``.
    ///   - findings: Gets the changes and the violations.
    /// - Returns: The changed property.
    func fitted(_ property: Property, naming: NameSet?, _ findings: inout Findings) -> Property? {
        let name = property.name
        let hasNames = naming?.contains(name) ?? false
        switch property.value {
        case .object(let members) where name.utf8.first == UInt8(ascii: "$"):
            let outer = plain(Property(name, true), withLists: true, &findings)
            // As wire formats without objects do.
            let prefix = hasNames || name == "$identities" ? "" : name.dropFirst() + "_"
            let fitted = fitted(members, prefix: prefix, areIDs: OwnNames.people.contains(name), &findings)
            guard outer != nil || fitted != nil else { return nil }
            return Property(outer?.name ?? name, fitted.map { .object(members.replacingAll(by: $0)) } ?? property.value)
        case .array(let names) where hasNames:
            let fitted = fitted(names.lazy.map { Property($0.string ?? "", true) }, &findings)
            return fitted.map { Property(name, .array(PropertyArray($0.map { .string($0.0) }))) }
        case .string(let kind) where hasNames:
            var own = Findings()
            let isCut = plain(Property(kind, true), withLists: true, &own) != nil
            let reason = own.violation?.reason ?? (isCut ? .propertyNameTooLong : nil)
            if let reason {
                findings.add(Violation(reason, own.violation?.strategy == .setAside ? .setAside : .dropEvent))
            }
            return nil
        default: return plain(property, withLists: !isStrict, isID: OwnNames.isID(name), &findings)
        }
    }

    /// The names and values of members within the limits. Nil if all are.
    ///
    /// - Parameters:
    ///   - members: The members.
    ///   - prefix: The text that a wire format writes in front of their names.
    ///   - areIDs: Whether the values are ids, which every event has. One whose name violates a rule is left out.
    ///   - findings: Gets the changes and the violations.
    /// - Returns: The members that stay.
    private func fitted(
        _ members: some Sequence<Property>, prefix: String = "", areIDs: Bool = false, _ findings: inout Findings
    ) -> [(String, PropertyValue)]? {
        var isChanged = false
        let result = members.compactMap { member -> (String, PropertyValue)? in
            var own = Findings()
            let fitted = plain(Property(prefix + member.name, member.value), withLists: true, isID: areIDs, &own)
            if let violation = own.violation, violation.dropsEvent, !areIDs { findings.add(violation) }
            let isLeftOut = own.violation != nil || areIDs && fitted != nil
            findings.sanitizations += isLeftOut ? [.droppedProperty] : own.sanitizations
            isChanged = isChanged || isLeftOut || fitted != nil
            if isLeftOut { return nil }
            guard let fitted else { return (member.name, member.value) }
            return (String(Substring(fitted.name.utf8.dropFirst(prefix.utf8.count))), fitted.value)
        }
        return isChanged ? result : nil
    }

    private func plain(
        _ property: Property, withLists permitsLists: Bool, isID: Bool = false, _ findings: inout Findings
    ) -> Property? {
        if let violation = violation(of: property.name) { findings.add(violation) }
        if isStrict, property.name.isEmpty { findings.add(Violation(.invalidName, .dropProperty)) }
        if let nesting, !property.value.isPlain(withLists: permitsLists) {
            findings.add(Violation(.nestedValue, nesting))
        }
        guard name != nil || string != nil, findings.violation == nil else { return nil }
        return shortened(property, isID: isID, &findings)
    }

    private func shortened(_ property: Property, isID: Bool = false, _ findings: inout Findings) -> Property? {
        var truncatedName: String?
        if let name, let cut = property.name.cut(to: name.limit) {
            truncatedName = cut
            findings.add(Violation(.propertyNameTooLong, name.strategy), cutAs: .cutPropertyName)
        }
        // The beginning of an id may be the one of another id.
        let value = isID ? nil : fitted(property.value, &findings)
        guard truncatedName != nil || value != nil else { return nil }
        return Property(truncatedName ?? property.name, value ?? property.value)
    }

    // The depth of a value bounds the recursion.
    private func fitted(_ value: PropertyValue, _ findings: inout Findings) -> PropertyValue? {
        switch value {
        case .string(let text):
            guard let string, let cut = text.cut(to: string.limit) else { return nil }
            findings.add(Violation(.stringTooLong, string.strategy), cutAs: .truncatedString)
            return .string(cut)
        case .array, .object:
            return value.replacingContents({ fitted($0, &findings) }, { shortened($0, &findings) })
        case .int, .double, .bool, .date, .null:
            return nil
        }
    }
}

/// A violated rule: why a property or an event is dropped.
struct Violation {
    let reason: DropReason
    let strategy: Limits.Rule.Strategy
    var dropsEvent: Bool { strategy == .dropEvent || strategy == .setAside }

    init(_ reason: DropReason, _ strategy: Limits.Rule.Strategy) {
        (self.reason, self.strategy) = (reason, strategy)
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
            let new = array.map(newElement)
            guard new.contains(where: { $0 != nil }) else { return nil }
            return .array(PropertyArray(zip(array, new).map { $1 ?? $0 }))
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
