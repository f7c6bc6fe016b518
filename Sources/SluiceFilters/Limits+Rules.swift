public import Sluice

extension Limits {
    /// A limit and the action beyond it, or an action for everything that is forbidden.
    public struct Rule: Sendable, Hashable {
        enum Strategy: Sendable, Hashable {
            case cut, dropProperty, dropEvent, setAside
        }

        let limit: Int
        let strategy: Strategy

        private init(_ strategy: Strategy, _ limit: Int = 0) {
            self.limit = limit
            self.strategy = strategy
        }

        /// Shortens it. If that is impossible, as for a forbidden name, drops the property.
        public static let cut = Rule(.cut)
        /// Drops the property. For an event's name, drops the event.
        public static let dropProperty = Rule(.dropProperty)
        /// Drops the event.
        public static let dropEvent = Rule(.dropEvent)
        /// Passes the unchanged event to your closure, and drops it from the pipeline.
        public static let setAside = Rule(.setAside)

        /// Shortens names and strings. Keeps the properties that were set first if there are too many. Drops events
        /// with a new name if there are too many names.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func cut(to limit: Int) -> Rule { Rule(.cut, limit) }

        /// Drops the property. For an event's name, drops the event.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func dropProperty(over limit: Int) -> Rule { Rule(.dropProperty, limit) }

        /// Drops the event.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func dropEvent(over limit: Int) -> Rule { Rule(.dropEvent, limit) }

        /// Passes the unchanged event to your closure, and drops it from the pipeline.
        ///
        /// - Parameter limit: The longest length, or the highest number.
        /// - Returns: The rule.
        public static func setAside(over limit: Int) -> Rule { Rule(.setAside, limit) }
    }

    /// The limits of App Center.
    ///
    /// An event has up to 20 properties. Event names have up to 256 characters, and names and values of properties up
    /// to 125, in UTF-16 code units. Longer texts are cut. There are up to 200 event names, and events of further names are
    /// dropped. Names that begin with `$` don't count. As in App Center's SDKs, properties without a name and values that
    /// are objects or lists are left out, and don't count among the 20. Objects under a name that begins with `$`, such as
    /// `$set`, stay without their nested members.
    public static var appCenter: Limits {
        var limits = Limits(
            eventName: .cut(to: 256), properties: .cut(to: 20), propertyName: .cut(to: 125), string: .cut(to: 125))
        limits.distinctEventNames = .dropEvent(over: 200)
        limits.nesting = .dropProperty
        limits.isStrict = true
        return limits
    }

    /// The limits of Sensors Analytics.
    ///
    /// Names have up to 100 letters, digits, `_` and `$`, and none is reserved. This holds for events, properties, members of
    /// profiles and items, and kinds of items, ids and groups. Strings have up to 8,191 characters, and lists contain only
    /// strings. Strings are cut, other properties are left out, and events with forbidden names are dropped.
    public static var sensors: Limits {
        var limits = Limits(
            eventName: .dropEvent(over: 100), propertyName: .dropProperty(over: 100), string: .cut(to: 8_191))
        limits.names = .dropProperty
        limits.reservedNames = [
            "date", "datetime", "distinct_id", "event", "event_id", "events", "first_id", "id", "original_id",
            "device_id", "properties", "second_id", "time", "user_id", "users", "user_tag*", "user_group*",
        ]
        limits.nesting = .dropProperty
        return limits
    }
}

extension Sanitization {
    /// The name of a property was cut to a limit.
    public static let cutPropertyName = Sanitization(rawValue: "cutPropertyName")
}
