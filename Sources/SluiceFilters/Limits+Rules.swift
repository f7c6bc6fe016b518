public import Sluice

extension Limits {
    /// A limit, and the action beyond it.
    public struct Rule: Sendable, Hashable {
        let limit: Int
        let strategy: Strategy

        /// Shortens names and strings. Of too many properties, keeps those that were set first. Of too many event names, drops
        /// the event.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func cut(to limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .cut) }
        /// Drops the property. For an event's name, drops the event.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func dropProperty(over limit: Int) -> Rule {
            Rule(limit: max(0, limit), strategy: .dropProperty)
        }
        /// Drops the event.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func dropEvent(over limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .dropEvent) }
        /// Passes the unchanged event to your closure, and drops it.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func setAside(over limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .setAside) }
    }

    /// The action for something that a rule forbids.
    public enum Strategy: Sendable, Hashable {
        /// Shortens it. If that is impossible, as for a forbidden name, drops the property.
        case cut
        /// Drops the property. For an event's name, drops the event.
        case dropProperty
        /// Drops the event.
        case dropEvent
        /// Passes the unchanged event to your closure, and drops it.
        case setAside
    }

    /// The limits of a backend. Nil sets no limit.
    public struct Rules: Sendable {
        /// The length of the event's name.
        public var eventName: Rule?
        /// The number of different event names in one process.
        public var distinctEventNames: Rule?
        /// The number of the event's properties.
        public var properties: Rule?
        /// The length of the name of a property.
        public var propertyName: Rule?
        /// The length of a string.
        public var string: Rule?
        /// The action for names with characters other than ASCII letters, digits, `_` and `$`, or with a digit first.
        public var names: Strategy?
        /// Names that properties must not have, regardless of the case of ASCII letters. A name that ends with `*` is a prefix.
        /// The action is that of ``names``, or else the property is dropped.
        public var reservedNames: Set<String> = []
        /// The action for objects, and for lists of anything but strings. Objects of plain values under a name that begins with
        /// `$`, such as the `$set` of a profile, are allowed: the backend's wire format flattens them.
        public var nesting: Strategy?

        /// Sets no limits.
        public init() {}

        /// App Center: 20 properties, 200 names of events, 256 characters for those, 125 for names and values of
        /// properties. Longer texts are cut, events of further names are dropped.
        public static let appCenter: Rules = {
            var rules = Rules()
            rules.eventName = .cut(to: 256)
            rules.distinctEventNames = .dropEvent(over: 200)
            rules.properties = .cut(to: 20)
            rules.propertyName = .cut(to: 125)
            rules.string = .cut(to: 125)
            return rules
        }()

        /// Sensors Analytics: names of up to 100 letters, digits, `_` and `$`, its reserved names for properties, strings
        /// of 8,191 characters, and lists of strings only. Strings are cut, other properties left out, events of wrong
        /// names dropped.
        public static let sensors: Rules = {
            var rules = Rules()
            rules.eventName = .dropEvent(over: 100)
            rules.propertyName = .dropProperty(over: 100)
            rules.string = .cut(to: 8_191)
            rules.names = .dropProperty
            rules.reservedNames = [
                "date", "datetime", "distinct_id", "event", "events", "first_id", "id", "original_id", "device_id",
                "properties", "second_id", "time", "user_id", "users", "user_tag*", "user_group*",
            ]
            rules.nesting = .dropProperty
            return rules
        }()
    }
}

extension Sanitization {
    /// The name of a property was cut to a limit.
    public static let cutPropertyName = Sanitization(rawValue: "cutPropertyName")
}
