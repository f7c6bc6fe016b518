public import Sluice
import SluiceHTTP

/// The meaning of an event, for backends that have record types of their own.
///
/// ```swift
/// let event = Event(name: "$AppViewScreen", properties: ["$screen_name": "Home"])
/// switch Verb(event) {
/// case .screen(let name): print("viewed \(name)")
/// case .set(let properties): print("has \(properties.count) properties")
/// default: break
/// }
/// ```
///
/// The names and properties are the ones that `Identity`, `Screens` and `Revenue` track. An event with such a name but
/// without the properties, or with an id that stands for a missing one, comes from elsewhere, and is an ordinary event. A
/// minor version can add verbs, so have a `default` in a `switch`.
public enum Verb: Sendable, Hashable {
    /// An ordinary event.
    case track
    /// The first login of an anonymous person. `Event.traits` are the properties of the person.
    case signUp(anonymousID: String)
    /// The login of another person under an anonymous id that has signed up.
    case switchUser(anonymousID: String)
    /// Another id of the same person.
    case alias(String)
    /// A group that the person belongs to, with the group's own properties.
    case group(type: String, id: String, Properties)
    /// A screen that the person views.
    case screen(String)
    /// Properties to set in the person's profile.
    case set(Properties)
    /// Properties to set if the profile doesn't have them.
    case setOnce(Properties)
    /// Numbers to add to properties of the profile.
    case increment(Properties)
    /// Values to append to lists of the profile. Each value is a list.
    case append(Properties)
    /// The names of properties to remove from the profile.
    case unset([String])
    /// The removal of the profile.
    case delete
    /// Income from the person.
    case revenue(Revenue)

    /// The names of all events that aren't ordinary ones.
    static let eventNames: Set<String> = [
        "$SignUp", "$Alias", "$GroupIdentify", "$AppViewScreen", "$ProfileSet", "$ProfileSetOnce", "$ProfileIncrement",
        "$ProfileAppend", "$ProfileUnset", "$ProfileDelete", Revenue.eventName,
    ]

    /// Reads the meaning of an event.
    public init(_ event: Event) {
        self = Verb.eventNames.contains(event.name) ? Verb.read(event) ?? .track : .track
    }

    private static func read(_ event: Event) -> Verb? {
        let properties = event.properties
        switch event.name {
        case "$SignUp":
            let isSwitch = properties["$switches_user"] == true
            return properties["$original_id"]?.string?.asID.map {
                isSwitch ? .switchUser(anonymousID: $0) : .signUp(anonymousID: $0)
            }
        case "$Alias": return properties["$alias"]?.string?.asID.map { .alias($0) }
        case "$GroupIdentify":
            guard let type = properties["$group_type"]?.string, let id = properties["$group_key"]?.string?.asID else {
                return nil
            }
            return .group(type: type, id: id, properties["$group_set"]?.object ?? [:])
        case "$AppViewScreen": return properties["$screen_name"]?.string.map { .screen($0) }
        case "$ProfileSet": return properties["$set"]?.object.map { .set($0) }
        case "$ProfileSetOnce": return properties["$set_once"]?.object.map { .setOnce($0) }
        case "$ProfileIncrement": return properties["$increment"]?.object.map { .increment($0) }
        case "$ProfileAppend": return properties["$append"]?.object.map { .append($0) }
        case "$ProfileUnset": return properties["$unset"]?.array.map { .unset($0.compactMap(\.string)) }
        case "$ProfileDelete": return .delete
        case Revenue.eventName: return Revenue(event).map { .revenue($0) }
        default: return nil
        }
    }
}

extension Verb {
    /// The person's traits that a login or a profile's change sets.
    func traits(of event: Event) -> Properties {
        switch self {
        case .signUp, .switchUser: event.traits
        case .set(let traits): traits
        default: [:]
        }
    }
}

/// The parts of an event that record types have fields for.
extension Event {
    /// The id of a known person: the login id, or a distinct id that isn't the anonymous one, as a server sets it. Nil
    /// before a login.
    public var userID: String? { loginID ?? (distinctID?.hasBytes(of: anonymousID) == true ? nil : distinctID) }

    /// The anonymous id. An event without any id of a person has its own, for receivers that require one. Nil for an
    /// event that has only a `userID`.
    public var deviceID: String? { anonymousID ?? (userID == nil ? id.description : nil) }

    /// The properties that the host passed to a login. Super properties and others of the event aren't traits.
    public var traits: Properties { properties["$set"]?.object ?? [:] }

    /// The person's groups: their ids by their types.
    public var groups: Properties { properties["$groups"]?.object ?? [:] }

    /// The distinct id, or the next best id for receivers that require one. An event without any id of a person has its
    /// own.
    var anyDistinctID: String { distinctID ?? loginID ?? anonymousID ?? id.description }

    /// The time of the session's start, from the id that `Sessions` creates.
    var sessionStart: Timestamp? { properties["$session_id"]?.string.flatMap { EventID($0)?.time } }
}

extension Properties {
    /// Reads the property that has a field of its own. A value that the field can't have stays a property, with `properties.` in
    /// front of its name, which backends keep for themselves.
    mutating func take<Value>(_ name: String, _ read: (PropertyValue) -> Value?) -> Value? {
        guard let value = self[name], value != .null else { return nil }
        let result = read(value)
        if result == nil { self["properties." + name] = value }
        return result
    }

    /// `$event_duration` in seconds, with three decimals. Nil if it isn't a number.
    var durationInSeconds: PropertyValue? {
        switch self["$event_duration"] {
        case .int(let milliseconds): .double(Double(milliseconds) / 1_000)
        case .double(let milliseconds): .double(milliseconds.rounded() / 1_000)
        default: nil
        }
    }
}
