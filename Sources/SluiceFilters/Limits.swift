public import Sluice

/// Keeps events within the limits that a backend sets.
///
/// ```swift
/// Limits(.appCenter)
/// Limits(eventName: .cut(to: 256), properties: .cut(to: 20), propertyName: .dropProperty(over: 125))
/// Limits(.sensors) { event, reason in print("refused: \(event.name), \(reason.rawValue)") }
/// ```
///
/// Lengths are characters, counted as Unicode scalars. Lengths of names and strings hold at every depth of arrays and
/// objects; a rule that drops the property drops the whole property of the event in which the excess was found.
/// Properties are counted at the top, and the rules for characters and reserved names are for names at the top. What
/// stands above it counts, so let it stand above `AutoProperties` if only the host's own properties are to be limited.
///
/// Of names that are cut to the same one, one property stays. The ledger counts events of which something was cut or
/// left out by ``Sluice/Sanitization``, and those that were dropped or set aside by ``Sluice/DropReason``.
public final class Limits: Processor {
    private let rules: Rules
    private let values: ValueLimits
    private let setAside: @Sendable (_ event: Event, _ reason: DropReason) -> Void
    private let eventNames = Locked<Set<String>>([])

    /// A rule that allows names of no characters, or no name at all, can only be a mistake: the pipeline then throws
    /// ``Sluice/SluiceError/Code/invalidArgument`` when it is built.
    ///
    /// - Parameters:
    ///   - rules: what the backend takes.
    ///   - setAside: gets the events of rules that set aside, as they came, inside `track` on the caller's thread. It
    ///     must not wait.
    public init(
        _ rules: Rules, setAside: @escaping @Sendable (_ event: Event, _ reason: DropReason) -> Void = { _, _ in }
    ) {
        self.rules = rules
        self.setAside = setAside
        values = ValueLimits(rules)
    }

    /// Nil sets no limit.
    ///
    /// - Parameters:
    ///   - eventName: the length of the event's name.
    ///   - properties: the number of its properties.
    ///   - propertyName: the length of the name of a property.
    ///   - string: the length of a string.
    public convenience init(
        eventName: Rule? = nil, properties: Rule? = nil, propertyName: Rule? = nil, string: Rule? = nil
    ) {
        var rules = Rules()
        rules.eventName = eventName
        rules.properties = properties
        rules.propertyName = propertyName
        rules.string = string
        self.init(rules)
    }

    /// Checks the rules.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a rule that allows no name at all.
    public func prepare() throws {
        let names = [
            ("eventName", rules.eventName), ("distinctEventNames", rules.distinctEventNames),
            ("propertyName", rules.propertyName),
        ]
        for case (let name, let rule?) in names where rule.limit < 1 {
            throw SluiceError(
                .invalidArgument, "Limits with \(name) of less than 1 leave no name: choose 1 at least, or nil for any")
        }
    }

    public func process(_ event: inout Event) -> Disposition {
        let isNameFine = rules.eventName.map { event.name.utf8.count <= $0.limit } ?? true
        if isNameFine, rules.names == nil, rules.distinctEventNames == nil, values.hold(for: event.properties),
            event.properties.count <= rules.properties?.limit ?? .max
        {
            return .keep
        }
        let original = event
        guard let refusal = limit(&event) else { return .keep }
        if refusal.isSetAside { setAside(original, refusal.reason) }
        return .drop(refusal.reason)
    }

    private func limit(_ event: inout Event) -> Refusal? {
        if let strategy = rules.names, !event.name.hasPlainCharacters {
            return Refusal(.invalidName, strategy)
        }
        if let rule = rules.eventName, let cut = event.name.cut(toCharacters: rule.limit) {
            guard rule.strategy == .cut else { return Refusal(.eventNameTooLong, rule.strategy) }
            event.name = cut
            event.report(.truncatedName)
        }
        if let rule = rules.distinctEventNames, !isKnown(event.name, rule.limit) {
            return Refusal(.tooManyEventNames, rule.strategy)
        }
        if values.hold(for: event.properties), event.properties.count <= rules.properties?.limit ?? .max { return nil }
        return limitProperties(of: &event)
    }

    private func isKnown(_ name: String, _ limit: Int) -> Bool {
        eventNames.withLock { names in
            if names.contains(name) { return true }
            guard names.count < limit else { return false }
            names.insert(name)
            return true
        }
    }

    private func limitProperties(of event: inout Event) -> Refusal? {
        var changes: [(from: Property, to: Property, sanitizations: [Sanitization])] = []
        for property in event.properties {
            var findings = ValueLimits.Findings()
            let fitted = values.fitted(property, &findings)
            if let refusal = findings.refusal { return refusal }
            if findings.dropsProperty {
                event.properties[property.name] = nil
                event.report(.droppedProperty)
            } else if let fitted {
                changes.append((property, fitted, findings.sanitizations))
            }
        }
        if let rule = rules.properties, event.properties.count > rule.limit {
            guard rule.strategy == .cut || rule.strategy == .dropProperty else {
                return Refusal(.tooManyProperties, rule.strategy)
            }
            event.report(.droppedProperty)
            var position = 0
            event.properties.removeAll { _ in
                position += 1
                return position > rule.limit
            }
        }
        // Last, because a new name goes to the end of the list, whose order decides above.
        for change in changes where event.properties[change.from.name] != nil {
            for sanitization in change.sanitizations { event.report(sanitization) }
            if change.to.name != change.from.name {
                event.properties[change.from.name] = nil
                if event.properties[change.to.name] != nil { event.report(.droppedProperty) }
            }
            event.properties[change.to.name] = change.to.value
        }
        return nil
    }
}

/// Why an event may not pass, and whether the host is to have it.
struct Refusal: Equatable {
    let reason: DropReason
    let isSetAside: Bool

    init(_ reason: DropReason, _ strategy: Limits.Strategy) {
        self.reason = reason
        isSetAside = strategy == .setAside
    }
}

extension String {
    /// The first `limit` Unicode scalars; nil if there are no more.
    func cut(toCharacters limit: Int) -> String? {
        guard utf8.count > limit,
            let end = unicodeScalars.index(startIndex, offsetBy: limit, limitedBy: endIndex), end < endIndex
        else { return nil }
        return String(self[..<end])
    }

    /// Whether it consists of ASCII letters, digits, `_` and `$`, and does not begin with a digit.
    var hasPlainCharacters: Bool {
        guard let first = utf8.first, !first.isDigit else { return false }
        return utf8.allSatisfy { $0.isDigit || $0.isLetter || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "$") }
    }
}
