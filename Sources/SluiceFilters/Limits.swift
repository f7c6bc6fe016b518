public import Sluice

/// Keeps events within the limits of your backend.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Limits(.sensors) { event, reason in print("refused: \(event.name), \(reason.rawValue)") }
///     …
/// }
/// ```
///
/// Lengths are counted in UTF-16 code units, as the SDKs of vendors do on Apple's platforms and on Android. A text is
/// cut between two characters. The lengths of names and strings hold at every depth of arrays and objects. A rule that
/// drops a property drops the whole property of the event. Counts, characters and reserved names are checked at the top
/// level only. Properties from the stages above count too. List ``sensors`` below all stages that add properties,
/// because the vendor refuses an event with a forbidden name. To limit only your own properties, list rules of your own
/// above `AutoProperties`.
///
/// The members of an object under a name that begins with `$`, such as the `$set` of a profile, count as properties: a
/// forbidden member is left out, and the others stay. The name that is checked is the one that wire formats write:
/// `plan` for a `$set` in `$ProfileSet`, and `set_plan` in any other event. The names in `$unset` follow the rules too.
/// An event whose kind of item or id has a forbidden name is dropped.
///
/// Ids are neither cut nor left out because of their length, because a part of an id can be the id of others: `$alias`,
/// `$original_id`, `$id_value`, `$group_key`, `$item_id`, `$product_id`, `order_id`, and the members of `$identities`
/// and `$groups`. A member of these two that has a forbidden name is left out, whatever the rule's action, because
/// every event has them.
///
/// If cutting makes names equal, one property stays. The ledger counts changed events by ``Sluice/Sanitization``, and
/// dropped events by ``Sluice/DropReason``.
public struct Limits: Processor {
    /// The length of the event's name. Nil means no limit, as for all rules.
    public var eventName: Rule?
    /// The number of distinct event names: per installation if persisted, otherwise per process. Names that begin with
    /// `$`, such as the ones of plugins, don't count, and always pass.
    public var distinctEventNames: Rule?
    /// The number of the event's properties.
    public var properties: Rule?
    /// The length of the name of a property.
    public var propertyName: Rule? { didSet { values = ValueLimits(self) } }
    /// The length of a string.
    public var string: Rule? { didSet { values = ValueLimits(self) } }
    /// The action for names with characters other than ASCII letters, digits, `_` and `$`, or with a digit first.
    public var names: Rule? { didSet { values = ValueLimits(self) } }
    /// Names that neither events nor properties may have, regardless of case. A name that ends with `*` is a prefix.
    ///
    /// ```swift
    /// var limits = Limits(string: .cut(to: 1_000))
    /// limits.reservedNames = ["id", "time", "internal_*"]
    /// ```
    ///
    /// The action is the one of ``names``. Without it, the property or the event is dropped.
    public var reservedNames: Set<String> = [] { didSet { values = ValueLimits(self) } }
    /// The action for objects, and for lists of anything but strings. Objects under a name that begins with `$`, such as the
    /// `$set` of a profile, are allowed, because the backend's wire format flattens them. The rule applies to their members.
    public var nesting: Rule? { didSet { values = ValueLimits(self) } }
    /// Whether ``nesting`` forbids lists of strings too, and a property must have a name.
    var isStrict = false { didSet { values = ValueLimits(self) } }

    private var setAside: @Sendable (_ event: Event, _ reason: DropReason) -> Void = { _, _ in }
    private var values = ValueLimits()
    /// The event names so far, for ``distinctEventNames``.
    private var knownNames: PersistedState<KnownNames>
    /// Connects this plugin to its pipelines.
    public private(set) var context: PluginContext

    /// Creates a filter with limits for lengths. Set its other properties for further rules.
    ///
    /// ```swift
    /// let limits = Limits(eventName: .cut(to: 256), properties: .cut(to: 20), propertyName: .dropProperty(over: 125))
    /// ```
    ///
    /// - Parameters:
    ///   - eventName: The limit for the event's name.
    ///   - properties: The limit for the number of properties.
    ///   - propertyName: The limit for the name of a property.
    ///   - string: The limit for a string.
    public init(eventName: Rule? = nil, properties: Rule? = nil, propertyName: Rule? = nil, string: Rule? = nil) {
        self.eventName = eventName
        self.properties = properties
        self.propertyName = propertyName
        self.string = string
        (context, knownNames) = Limits.place(.memory)
        values = ValueLimits(self)
    }

    /// Creates a filter with the limits of another one, such as `.appCenter` or `.sensors`.
    ///
    /// ```swift
    /// let limits = Limits(.appCenter, persistedIn: .file(stateDirectory))
    /// ```
    ///
    /// - Parameters:
    ///   - limits: The backend's limits.
    ///   - persistence: Where to keep the event names for ``distinctEventNames``. They are written on another thread
    ///     after `track` has returned. If a crash loses a name, the next launch counts it as new.
    ///   - setAside: Receives the unchanged events of rules with `setAside`. It is called inside `track`, on the
    ///     caller's thread, and must not wait.
    public init(
        _ limits: Limits, persistedIn persistence: Persistence = .memory,
        setAside: @escaping @Sendable (_ event: Event, _ reason: DropReason) -> Void = { _, _ in }
    ) {
        self = limits
        self.setAside = setAside
        (context, knownNames) = Limits.place(persistence)
    }

    private static func place(_ persistence: Persistence) -> (PluginContext, PersistedState<KnownNames>) {
        let context = PluginContext()
        return (
            context, PersistedState("event-names", in: persistence, initial: KnownNames(), report: context.report)
        )
    }

    /// Checks the rules, and reads the event names of earlier launches.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a rule that allows no name at all or has a negative
    ///   limit, and for a reserved name with an invisible character, and an error of the place where the event names
    ///   are kept.
    public func prepare() throws {
        let rules = [
            ("eventName", eventName, 1), ("distinctEventNames", distinctEventNames, 1),
            ("propertyName", propertyName, 1), ("properties", properties, 0), ("string", string, 0),
        ]
        for case (let name, let rule?, let least) in rules {
            try SluiceError.require(
                rule.limit >= least,
                "Limits with \(name) of less than \(least): choose \(least) at least, or nil for any")
        }
        try SluiceError.require(names: reservedNames, of: "reservedNames", prefixes: true)
        if distinctEventNames != nil { try knownNames.load() }
    }

    /// Applies the limits to the event.
    public func process(_ event: inout Event) -> Disposition {
        guard let violation = limit(&event) else { return .keep }
        if violation.strategy == .setAside { setAside(event, violation.reason) }
        return .drop(violation.reason)
    }

    /// Returns the reason to drop the event, which is then unchanged.
    private func limit(_ event: inout Event) -> Violation? {
        if let violation = values.violation(of: event.name) { return violation }
        var name = event.name
        if let rule = eventName, let cut = name.cut(to: rule.limit) {
            guard rule.strategy == .cut else { return Violation(.eventNameTooLong, rule.strategy) }
            name = cut
        }
        if let rule = distinctEventNames, !isKnown(name, rule.limit) {
            return Violation(.tooManyEventNames, rule.strategy)
        }
        if !hold(for: event.properties), let violation = limitProperties(of: &event, named: name) { return violation }
        if name != event.name {
            event.name = name
            event.report(.truncatedName)
        }
        return nil
    }

    /// Whether the bounds of the list prove that all properties are within the limits.
    private func hold(for list: Properties) -> Bool {
        if let properties, list.count > properties.limit { return false }
        return values.hold(for: list)
    }

    private func isKnown(_ name: String, _ limit: Int) -> Bool {
        if name.utf8.first == UInt8(ascii: "$") { return true }
        let answer = knownNames.read { $0.names.contains(name) ? true : $0.names.count < limit ? nil : false }
        return answer ?? knownNames.update { $0.add(name, limit) }
    }

    /// Returns when the event names are stored.
    public func finish() async { await knownNames.finish() }

    private func limitProperties(of event: inout Event, named name: String) -> Violation? {
        var kept: [(property: Property, sanitizations: [Sanitization])] = []
        var isChanged = false
        let naming = name.utf8.first == UInt8(ascii: "$") ? OwnNames.names[name] : nil
        for property in event.properties {
            var findings = ValueLimits.Findings()
            let fitted = values.fitted(property, naming: naming, &findings)
            if let violation = findings.violation, violation.dropsEvent { return violation }
            isChanged = isChanged || findings.violation != nil || fitted != nil
            if findings.violation == nil { kept.append((fitted ?? property, findings.sanitizations)) }
        }
        if let rule = properties, kept.count > rule.limit {
            let violation = Violation(.tooManyProperties, rule.strategy)
            if violation.dropsEvent { return violation }
            isChanged = true
            kept.removeLast(kept.count - max(0, rule.limit))
        }
        guard isChanged else { return nil }
        for sanitization in Set(kept.lazy.flatMap(\.sanitizations)) { event.report(sanitization) }
        let fitted = event.properties.replacingAll(by: kept.map { ($0.property.name, $0.property.value) })
        // Even if names are equal after cutting.
        if fitted.count < event.properties.count { event.report(.droppedProperty) }
        event.properties = fitted
        return nil
    }
}

/// The event names of an installation.
private struct KnownNames: PersistedValue {
    var names: Set<String> = []

    init() {}

    init?(_ object: Properties) {
        guard let array = object["names"]?.array, array.allSatisfy({ $0.string != nil }) else { return nil }
        names = Set(array.compactMap(\.string))
    }

    mutating func merge(stored: KnownNames) { names.formUnion(stored.names) }

    /// - Returns: whether the name is known now.
    mutating func add(_ name: String, _ limit: Int) -> Bool {
        if names.count < limit { names.insert(name) }
        return names.contains(name)
    }

    var object: Properties { ["names": .array(PropertyArray(names.sorted().map { .string($0) }))] }
}

extension String {
    /// The first characters with at most `limit` UTF-16 code units, or nil if the string is not longer. Of a character
    /// that is longer than the limit, the first Unicode scalars.
    func cut(to limit: Int) -> String? {
        guard utf8.count > limit, utf16.count > limit else { return nil }
        var units = 0
        let whole = prefix { character in
            units += character.utf16.count
            return units <= limit
        }
        if !whole.isEmpty { return String(whole) }
        units = 0
        var scalars = unicodeScalars.prefix { scalar in
            units += scalar.utf16.count
            return units <= limit
        }
        // A joiner joins nothing at the end.
        while scalars.last?.properties.isJoinControl == true { scalars.removeLast() }
        return String(scalars)
    }

    /// Whether it consists of ASCII letters, digits, `_` and `$`, and does not begin with a digit.
    var hasPlainCharacters: Bool {
        guard let first = utf8.first, !first.isDigit else { return false }
        return utf8.allSatisfy { $0.isDigit || $0.isLetter || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "$") }
    }
}
