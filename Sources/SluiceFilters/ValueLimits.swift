import Sluice

/// The rules for names and strings, applied at every depth.
struct ValueLimits: Sendable {
    struct Findings {
        var counts = Limits.Counts()
        var dropsProperty = false
        var dropReason: DropReason?
    }

    let name: Limits.Rule?
    let string: Limits.Rule?

    /// Whether nothing in a list can be too long, by what the list knows of itself: bytes are never fewer than characters.
    func hold(for properties: Properties) -> Bool {
        if name == nil, string == nil { return true }
        return properties.isFlat
            && properties.longestNameBytes <= name?.limit ?? .max
            && properties.longestStringBytes <= string?.limit ?? .max
    }

    /// The property as it may stay; nil if it needs no change, or is to be dropped by the findings.
    func fitted(_ property: Property, _ findings: inout Findings) -> Property? {
        guard name != nil || string != nil else { return nil }
        var cutName: String?
        if let name, let cut = property.name.cut(toCharacters: name.limit) {
            cutName = cut
            note(name, .propertyNameTooLong, \.cutPropertyNames, &findings)
        }
        let value = fitted(property.value, &findings)
        guard cutName != nil || value != nil else { return nil }
        return Property(cutName ?? property.name, value ?? property.value)
    }

    // Recursion is bounded by the depth that a value can have.
    private func fitted(_ value: PropertyValue, _ findings: inout Findings) -> PropertyValue? {
        switch value {
        case .string(let text):
            guard let string, let cut = text.cut(toCharacters: string.limit) else { return nil }
            note(string, .stringTooLong, \.cutStrings, &findings)
            return .string(cut)
        case .array(let array):
            var hasChanged = false
            let elements = array.map { element in
                guard let fitted = fitted(element, &findings) else { return element }
                hasChanged = true
                return fitted
            }
            return hasChanged ? .array(PropertyArray(elements)) : nil
        case .object(let object):
            var hasChanged = false
            let properties = object.map { property in
                let fitted = fitted(property, &findings)
                hasChanged = hasChanged || fitted != nil
                return (fitted?.name ?? property.name, fitted?.value ?? property.value)
            }
            return hasChanged ? .object(Properties(properties)) : nil
        case .int, .double, .bool, .date, .null:
            return nil
        }
    }

    private func note(
        _ rule: Limits.Rule, _ reason: DropReason, _ count: WritableKeyPath<Limits.Counts, Int>,
        _ findings: inout Findings
    ) {
        switch rule.strategy {
        case .cut: findings.counts[keyPath: count] += 1
        case .dropProperty: findings.dropsProperty = true
        case .dropEvent: findings.dropReason = reason
        }
    }
}
