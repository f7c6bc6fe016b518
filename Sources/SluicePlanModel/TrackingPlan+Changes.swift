import SluiceEvents

/// A difference between two versions of a plan.
public struct PlanChange: Sendable, Hashable, CustomStringConvertible {
    /// The event and the property, such as `Purchase.items[].sku`.
    public let place: String
    /// The change, such as `is required now`.
    public let text: String
    /// Whether an event that conforms to the earlier plan can violate the later one, or is sent with other contents.
    public let isBreaking: Bool

    /// The place and the change, such as `Purchase.sku is required now`.
    public var description: String { "\(place) \(text)" }
}

extension TrackingPlan {
    /// Returns the changes since an earlier version of the plan.
    ///
    /// ```swift
    /// let breaking = plan.changes(since: earlier).filter(\.isBreaking)
    /// ```
    ///
    /// - Parameter earlier: The plan of the apps that are in use.
    /// - Returns: The changes of events, properties and rules, in the order of the earlier plan, and then the new events.
    ///   Changes of descriptions and owners are left out.
    public func changes(since earlier: TrackingPlan) -> [PlanChange] {
        var changes: [PlanChange] = []
        for old in earlier.events {
            if let new = event(named: old.name) {
                new.rule.addChanges(since: old.rule, old.name, isEvent: true, &changes)
            } else {
                changes.append(.removal(of: old.name, at: old.name, old.rule))
            }
        }
        for new in events where earlier.event(named: new.name) == nil {
            changes.append(PlanChange(place: new.name, text: "is new", isBreaking: new.name.isOfPlugins))
        }
        return changes
    }
}

extension PlanChange {
    /// A name of plugins is never unknown, so its removal breaks nothing. But personal data would be stored unchanged.
    fileprivate static func removal(of name: String, at place: String, _ rule: ValueRule) -> PlanChange {
        PlanChange(place: place, text: "is removed", isBreaking: !name.isOfPlugins || rule.changesValues)
    }
}

extension String {
    /// Whether the name begins with `$`. Such an event or property is never unknown. If a plan begins to list it, events that
    /// conformed with any values can break its rules.
    fileprivate var isOfPlugins: Bool { utf8.first == UInt8(ascii: "$") }
}

extension ValueRule {
    fileprivate func addChanges(
        since old: ValueRule, _ place: String, isEvent: Bool = false, _ changes: inout [PlanChange]
    ) {
        func add(_ text: String, isBreaking: Bool) {
            changes.append(PlanChange(place: place, text: text, isBreaking: isBreaking))
        }
        if treatment != old.treatment { add("is \(treatment) now, and was \(old.treatment)", isBreaking: true) }
        if kind != old.kind {
            add("has the type \(kind.rawValue) now, and had \(old.kind.rawValue)", isBreaking: !isWider(than: old))
            return
        }
        addLimits(since: old, add)
        let (removed, added) = (old.choices.filter(isNoChoice), choices.filter(old.isNoChoice))
        if !removed.isEmpty { add("lost values: \(removed.text)", isBreaking: true) }
        if !added.isEmpty { add("has new values: \(added.text)", isBreaking: false) }
        if let items, let oldItems = old.items { items.addChanges(since: oldItems, place + "[]", &changes) }
        addProperties(since: old, place, isEvent, &changes)
    }

    private func addLimits(since old: ValueRule, _ add: (String, _ isBreaking: Bool) -> Void) {
        let (new, old) = (limits, old.limits)
        if new.minimum != old.minimum { add("has the minimum \(new.minimum.text)", new.minimum > old.minimum) }
        if new.maximum != old.maximum { add("has the maximum \(new.maximum.text)", new.maximum < old.maximum) }
        if new.length.lowerBound != old.length.lowerBound {
            let isBreaking = new.length.lowerBound > old.length.lowerBound
            add("has at least \(count(new.length.lowerBound))", isBreaking)
        }
        if new.length.upperBound != old.length.upperBound {
            let isBreaking = new.length.upperBound < old.length.upperBound
            add(
                new.length.upperBound == .max ? "has any length" : "has at most \(count(new.length.upperBound))",
                isBreaking)
        }
    }

    private func addProperties(since old: ValueRule, _ place: String, _ isEvent: Bool, _ changes: inout [PlanChange]) {
        // An object without rules takes any properties, and an event takes none.
        let wasOpen = !isEvent && kind == .object && old.properties.isEmpty && !properties.isEmpty
        for earlier in old.properties {
            let name = "\(place).\(earlier.name)"
            guard let own = property(named: earlier.name) else {
                changes.append(.removal(of: earlier.name, at: name, earlier.rule))
                continue
            }
            if own.isRequired != earlier.isRequired {
                let text = own.isRequired ? "is required now" : "isn't required any more"
                changes.append(PlanChange(place: name, text: text, isBreaking: own.isRequired))
            }
            own.rule.addChanges(since: earlier.rule, name, &changes)
        }
        for own in properties where old.property(named: own.name) == nil {
            let text = own.isRequired ? "is new and required" : "is new"
            let isBreaking = own.isRequired || wasOpen || own.name.isOfPlugins
            changes.append(PlanChange(place: "\(place).\(own.name)", text: text, isBreaking: isBreaking))
        }
    }

    private func isNoChoice(_ value: PropertyValue) -> Bool { !isChoice(value) }

    /// Whether each value that conforms to the old rule, which has another type, also conforms to this one.
    private func isWider(than old: ValueRule) -> Bool {
        switch (kind, old.kind) {
        case (.number, .integer): limits.minimum <= old.limits.minimum && limits.maximum >= old.limits.maximum
        // A date is a string of at least 20 characters.
        case (.string, .date): limits.length.lowerBound <= 20 && limits.length.upperBound == .max
        case (.string, .choice):
            old.choices.allSatisfy { $0.string.map { limits.length.contains($0.unicodeScalars.count) } ?? false }
        case (.integer, .choice), (.number, .choice):
            old.choices.allSatisfy { $0.double.map { (limits.minimum...limits.maximum).contains($0) } ?? false }
        default: false
        }
    }

    /// How the value is stored.
    private var treatment: String {
        switch personal {
        case .hash: "hashed"
        case .drop: "dropped"
        case .keep, nil: "kept"
        }
    }
}

extension [PropertyValue] {
    /// The values as text, separated by commas.
    package var text: String {
        map { value in
            if case .int(let int) = value { "\(int)" } else { value.string ?? "" }
        }.joined(separator: ", ")
    }
}
