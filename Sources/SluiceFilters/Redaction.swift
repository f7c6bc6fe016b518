public import Sluice

/// Replaces secrets in events before they are stored.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Redaction(keys: ["password", "token"], patterns: [.email, .paymentCard])
///     …
/// }
/// ```
///
/// The value of a property with one of the keys, regardless of case, becomes `"[redacted]"`. Keys are compared by
/// characters: `é` is the same as an `e` with a combining accent. Text
/// that matches a pattern becomes the pattern's mark, such as `[email]`, and the text around it stays. Both apply at
/// every depth of arrays and objects. Patterns are searched in strings and in the names of events and properties, and
/// payment cards also in numbers. If names become equal, one property stays.
///
/// User ids are not redacted, so pass a hash to `login` instead of an e-mail address. List it below the stages that add
/// properties, and above `Limits`, because half a card number is not recognized. The ledger counts changed events as
/// ``Sluice/Sanitization/redacted``.
public struct Redaction: Processor {
    private let keys: CaseInsensitiveNames
    private let patterns: [Pattern]

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - keys: The names of properties whose values are secret.
    ///   - patterns: Patterns of secret text, applied in this order.
    public init(keys: [String] = [], patterns: [Pattern] = []) {
        self.keys = CaseInsensitiveNames(keys)
        self.patterns = patterns
    }

    /// Replaces the secrets of the event.
    public func process(_ event: inout Event) -> Disposition {
        if let name = redacted(event.name) {
            event.name = name
            event.report(.redacted)
        }
        if patterns.isEmpty, event.properties.isFlat, !event.properties.hasName(among: keys) { return .keep }
        // One property after the other, because the list carries its sanitizations.
        for property in event.properties {
            guard let redacted = redacted(property) else { continue }
            event.report(.redacted)
            if redacted.name != property.name { event.properties[property.name] = nil }
            event.properties[redacted.name] = redacted.value
        }
        return .keep
    }

    /// Returns nil if nothing changed.
    private func redacted(_ property: Property) -> Property? {
        let name = redacted(property.name)
        let value = keys.contains(property.name) ? .string("[redacted]") : redacted(property.value)
        guard name != nil || value != nil else { return nil }
        return Property(name ?? property.name, value ?? property.value)
    }

    // The depth of a value bounds the recursion.
    private func redacted(_ value: PropertyValue) -> PropertyValue? {
        switch value {
        case .string(let string):
            return redacted(string).map { .string($0) }
        case .int(let int):
            return redacted(number: int)
        case .double(let double):
            return Int64(exactly: double).flatMap { redacted(number: $0) }
        case .array, .object:
            return value.replacingContents({ redacted($0) }, { redacted($0) })
        case .bool, .date, .null:
            return nil
        }
    }

    private func redacted(number: Int64) -> PropertyValue? {
        // The shortest card number has 13 digits.
        guard number >= 1_000_000_000_000 else { return nil }
        for pattern in patterns where pattern.appliesToNumbers {
            if let text = pattern.replacing(in: String(number)) { return .string(text) }
        }
        return nil
    }

    private func redacted(_ string: String) -> String? {
        var result: String?
        for pattern in patterns {
            if let replaced = pattern.replacing(in: result ?? string) { result = replaced }
        }
        return result
    }
}

extension Sanitization {
    /// A secret was replaced: `Redaction`.
    public static let redacted = Sanitization(rawValue: "redacted")
}
