public import Sluice

extension Limits {
    /// A limit, and what happens beyond it.
    public struct Rule: Sendable, Hashable {
        let limit: Int
        let strategy: Strategy

        /// What is too long is shortened; of too many properties those that were set first are kept. Of too many names of
        /// events, the event is dropped.
        public static func cut(to limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .cut) }
        /// The property is left out. For an event's name, the event is dropped.
        public static func dropProperty(over limit: Int) -> Rule {
            Rule(limit: max(0, limit), strategy: .dropProperty)
        }
        /// The event is dropped.
        public static func dropEvent(over limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .dropEvent) }
        /// The event is handed to the host's closure, as it was, and dropped here.
        public static func setAside(over limit: Int) -> Rule { Rule(limit: max(0, limit), strategy: .setAside) }
    }

    /// What happens to what a rule forbids.
    public enum Strategy: Sendable, Hashable {
        /// It is shortened. What cannot be, such as a forbidden name, goes with its property.
        case cut
        /// The property is left out. For an event's name, the event is dropped.
        case dropProperty
        /// The event is dropped.
        case dropEvent
        /// The event is handed to the host's closure, as it was, and dropped here.
        case setAside
    }

    /// What a backend takes. Nil sets no limit.
    public struct Rules: Sendable {
        /// The length of the event's name.
        public var eventName: Rule?
        /// How many different names events may have, in the life of the process.
        public var distinctEventNames: Rule?
        /// The number of the event's properties.
        public var properties: Rule?
        /// The length of the name of a property.
        public var propertyName: Rule?
        /// The length of a string.
        public var string: Rule?
        /// Names of other characters than ASCII letters, digits, `_` and `$`, or with a digit first.
        public var names: Strategy?
        /// Names that properties may not have, in whatever case of their ASCII letters. One that ends with `*` stands for
        /// all names that begin so. ``names`` says what happens to them; without it, the property is left out.
        public var reservedNames: Set<String> = []
        /// Objects, and lists of anything but strings. Objects of plain values under a name that begins with `$` may stay:
        /// they are what plugins keep apart, such as the `$set` of a profile, and a format for the backend takes them out.
        public var nesting: Strategy?

        public init() {}

        /// App Center: 20 properties, 200 names of events, 256 characters for those, 125 for names and values of
        /// properties. What is too long is cut, events of further names are dropped.
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
    /// The name of a property lost what lay beyond a limit.
    public static let cutPropertyName = Sanitization(rawValue: "cutPropertyName")
}
