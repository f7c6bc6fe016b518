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
/// The value of a secret property becomes `"[redacted]"`. A property with one of your keys is secret, regardless of
/// case. Keys are compared by characters: `é` is the same as an `e` with a combining accent. Without keys of yours, a
/// property is secret if its name contains a word such as `password`, `token`, `secret` or `apiKey`, with any case and
/// separators. Its value is then kept if it is a boolean, or a number that no one types: `max_tokens: 4096`, but not
/// `pin: 1234`. Pass `keys: []` to use patterns only.
///
/// Text that matches a pattern becomes the pattern's mark, such as `[email]`, and the text around it stays. Keys and
/// patterns apply at every depth of arrays and objects. Patterns are searched for in strings and in the names of events and
/// properties, and payment cards also in numbers. If names become equal, one property stays. In `$increment` and
/// `$append`, a member of another type that would become a text is left out, because receivers refuse it.
///
/// Ids of people and groups are not redacted, because all who get the same mark would become one person: the ids of an
/// event, `$alias`, `$original_id`, `$id_value`, `$group_key`, `$identities` and `$groups`. So pass a hash to `login`
/// instead of an e-mail address, or use ``Pseudonyms``. `$item_id`, `$product_id`, `order_id` and the kinds of ids are
/// redacted under a key of yours only.
///
/// List the filter below the stages that add properties, and above `Limits`, because half a card number is not
/// recognized. The ledger counts changed events as ``Sluice/Sanitization/redacted``.
public struct Redaction: Processor {
    /// Nil for the default keys.
    private let keys: CaseInsensitiveNames?
    private let names: [String]
    private let patterns: [Pattern]
    private static let secretNames = SecretNames(SecretNames.words)
    private static let codeNames = SecretNames(SecretNames.codes)

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - keys: The names of properties whose values are secret. By default, names that contain the word of a secret.
    ///   - patterns: Patterns of secret text, applied in this order.
    public init(keys: [String]? = nil, patterns: [Pattern] = []) {
        self.keys = keys.map { CaseInsensitiveNames($0) }
        names = keys ?? []
        self.patterns = patterns
    }

    /// Checks the keys.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if a key is blank, has a blank or an invisible
    ///   character at an end, such as the newline of a file, or contains a control character or a `*`.
    public func prepare() throws { try SluiceError.require(names: names, of: "keys") }

    /// Replaces the secrets of the event.
    public func process(_ event: inout Event) -> Disposition {
        if let name = redacted(event.name) {
            event.name = name
            event.report(.redacted)
        }
        if patterns.isEmpty, let keys, event.properties.isFlat, !event.properties.hasName(among: keys) { return .keep }
        if let properties = event.properties.replacing({ redacted(topLevel: $0) }) {
            event.properties = properties
            event.report(.redacted)
        }
        return .keep
    }

    /// Redacts a property of the event itself. Ids are kept. The id of a thing is redacted if its name is a key of the host.
    private func redacted(topLevel property: Property) -> Property? {
        let name = property.name
        if OwnNames.people.contains(name) || OwnNames.things.contains(name) && !isSecret(property) { return nil }
        guard OwnNames.typed.contains(name), let all = property.value.object else { return redacted(property) }
        var members = all
        members.removeAll { $0.value.string == nil && redacted($0)?.value.string != nil }
        let rest = Property(name, .object(members))
        return redacted(rest) ?? (members.count < all.count ? rest : nil)
    }

    /// Returns nil if nothing changed.
    private func redacted(_ property: Property) -> Property? {
        let name = redacted(property.name)
        let value = isSecret(property) ? .string("[redacted]") : redacted(property.value)
        guard name != nil || value != nil else { return nil }
        return Property(name ?? property.name, value ?? property.value)
    }

    private func isSecret(_ property: Property) -> Bool {
        if let keys { return keys.contains(property.name) }
        switch property.value {
        case .bool: return false
        // Under a plural, it is a count.
        case .int, .double: return Redaction.codeNames.contains(property.name) && !property.name.hasSuffix("s")
        default: return Redaction.secretNames.contains(property.name)
        }
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
        let texts = patterns.lazy.filter(\.appliesToNumbers).compactMap { $0.replacing(in: String(number)) }
        return texts.first.map { .string($0) }
    }

    private func redacted(_ string: String) -> String? {
        var result: String?
        for pattern in patterns { result = pattern.replacing(in: result ?? string) ?? result }
        return result
    }
}

extension Sanitization {
    /// A secret was replaced: `Redaction`.
    public static let redacted = Sanitization(rawValue: "redacted")
}
