public import Sluice

/// Keeps events within the limits that a backend sets.
///
/// ```swift
/// Limits(
///     eventName: .cut(to: 256), properties: .cut(to: 20), propertyName: .dropProperty(over: 125), string: .cut(to: 125))
/// ```
///
/// Lengths are characters, counted as Unicode scalars. Names and strings are held to their rules at every depth of
/// arrays and objects; a rule that drops the property drops the whole property of the event in which the excess was
/// found. Properties are counted at the top. What stands above it counts, so let it stand above `AutoProperties` if only
/// the host's own properties are to be limited.
///
/// Of names that are cut to the same one, one property stays. What is cut or left out is counted in ``counts``, dropped
/// events with their reason in the ledger.
public final class Limits: Processor {
    /// A limit, and what happens beyond it.
    public struct Rule: Sendable, Hashable {
        enum Strategy: Sendable, Hashable {
            case cut, dropProperty, dropEvent
        }

        let limit: Int
        let strategy: Strategy

        /// What is too long is shortened; of too many properties those that were set first are kept.
        public static func cut(to limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .cut) }
        /// The property is left out. For an event's name, the event is dropped.
        public static func dropProperty(over limit: Int) -> Rule {
            Rule(limit: max(0, limit), strategy: .dropProperty)
        }
        /// The event is dropped.
        public static func dropEvent(over limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .dropEvent) }
    }

    /// What was changed so far, over all events that were not dropped.
    public struct Counts: Sendable, Hashable {
        public internal(set) var cutEventNames = 0
        public internal(set) var cutPropertyNames = 0
        public internal(set) var cutStrings = 0
        public internal(set) var droppedProperties = 0

        static func += (left: inout Counts, right: Counts) {
            left.cutEventNames += right.cutEventNames
            left.cutPropertyNames += right.cutPropertyNames
            left.cutStrings += right.cutStrings
            left.droppedProperties += right.droppedProperties
        }
    }

    private let eventName: Rule?
    private let properties: Rule?
    private let values: ValueLimits
    private let total = Locked(Counts())

    /// Nil sets no limit.
    ///
    /// - Parameters:
    ///   - eventName: the length of the event's name.
    ///   - properties: the number of its properties.
    ///   - propertyName: the length of the name of a property.
    ///   - string: the length of a string.
    public init(
        eventName: Rule? = nil, properties: Rule? = nil, propertyName: Rule? = nil, string: Rule? = nil
    ) {
        self.eventName = eventName
        self.properties = properties
        values = ValueLimits(name: propertyName, string: string)
    }

    /// What was changed so far.
    public var counts: Counts { total.withLock { $0 } }

    public func process(_ event: inout Event) -> Disposition {
        var counts = Counts()
        if let rule = eventName, let cut = event.name.cut(toCharacters: rule.limit) {
            guard rule.strategy == .cut else { return .drop(.eventNameTooLong) }
            event.name = cut
            counts.cutEventNames += 1
        }
        if let reason = limitProperties(of: &event, &counts) { return .drop(reason) }
        if counts != Counts() { total.withLock { $0 += counts } }
        return .keep
    }

    private func limitProperties(of event: inout Event, _ counts: inout Counts) -> DropReason? {
        if values.hold(for: event.properties), event.properties.count <= properties?.limit ?? .max { return nil }
        var changes: [(from: Property, to: Property, counts: Counts)] = []
        for property in event.properties {
            var findings = ValueLimits.Findings()
            let fitted = values.fitted(property, &findings)
            if let reason = findings.dropReason { return reason }
            if findings.dropsProperty {
                event.properties[property.name] = nil
                counts.droppedProperties += 1
            } else if let fitted {
                changes.append((property, fitted, findings.counts))
            }
        }
        if let rule = properties, event.properties.count > rule.limit {
            guard rule.strategy != .dropEvent else { return .tooManyProperties }
            counts.droppedProperties += event.properties.count - rule.limit
            var position = 0
            event.properties.removeAll { _ in
                position += 1
                return position > rule.limit
            }
        }
        // Last, because a new name goes to the end of the list, whose order decides above.
        for change in changes where event.properties[change.from.name] != nil {
            counts += change.counts
            if change.to.name != change.from.name {
                event.properties[change.from.name] = nil
                if event.properties[change.to.name] != nil { counts.droppedProperties += 1 }
            }
            event.properties[change.to.name] = change.to.value
        }
        return nil
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
}
