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
/// without the properties, or with an id that stands for a missing one, comes from elsewhere, and is an ordinary event. So is
/// a change of a profile without an id of a person. A minor version can add verbs, so have a `default` in a `switch`.
public enum Verb: Sendable, Hashable {
    /// An ordinary event.
    case track
    /// The first login of an anonymous person. `Event.traits` are the properties of the person.
    case signUp(anonymousID: String)
    /// A later login under an anonymous id that has signed up, which joins no ids.
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
        if event.name.hasPrefix("$Profile"), event.userID ?? event.anonymousID == nil { return nil }
        func id(_ name: String) -> String? { properties[name]?.string?.asID }
        switch event.name {
        case "$SignUp":
            let isSwitch = properties["$switches_user"] == true
            return id("$original_id").map { isSwitch ? .switchUser(anonymousID: $0) : .signUp(anonymousID: $0) }
        case "$Alias": return id("$alias").map { .alias($0) }
        case "$GroupIdentify":
            guard let type = properties["$group_type"]?.asName, let id = id("$group_key") else { return nil }
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

    /// The person's groups: their ids by their types. An id that stands for a missing one is left out.
    public var groups: Properties { properties["$groups"]?.object?.ids ?? [:] }

    /// The distinct id, or the next best id for receivers that require one. An event without any id of a person has its
    /// own.
    var anyDistinctID: String { distinctID ?? loginID ?? anonymousID ?? id.description }

    /// The time of the session's start, from the id that `Sessions` creates.
    var sessionStart: Timestamp? { properties["$session_id"]?.string.flatMap { EventID($0)?.time } }
}

extension EventLine {
    private static let ids: NameSet = ["$session_id", "$window_id", "$device_id", "$product_tour_id"]
    private static let objectsOfIDs: NameSet = ["$groups", "$identities"]
    private static let checked: NameSet = [
        "$set", "$set_once", "$increment", "$append", "$unset", "$group_set", "$session_id", "$window_id", "$device_id",
        "$product_tour_id", "$groups", "$identities",
    ]

    /// The ``record()`` for a vendor. Placeholders of ids are left out of its properties, and so are empty changes, unless the
    /// vendor has types for them.
    func vendorRecord(keepsEmptyChanges: Bool = false) throws(SluiceError) -> Event {
        var event = try record()
        // Properties that have just been read are written much faster if they don't change.
        var repairs: [(name: String, value: PropertyValue?)] = []
        event.properties.forEachPair { name, value in
            guard Self.checked.contains(name) else { return }
            let kept = Self.repaired(copy name, copy value, keepsEmptyChanges)
            if kept != copy value { repairs.append((copy name, kept)) }
        }
        for (name, value) in repairs { event.properties[name] = value }
        return event
    }

    private static func repaired(_ name: String, _ value: PropertyValue, _ keepsEmpty: Bool) -> PropertyValue? {
        if ids.contains(name) { return value.string.map { $0.asID == nil } ?? false ? .none : value }
        var value = value
        if let members = value.object, objectsOfIDs.contains(name),
            !members.allSatisfy({ !$0.name.isBlank && $0.value.asID == $0.value })
        {
            value = .object(members.ids)
        }
        return !keepsEmpty && (value.object?.isEmpty ?? value.array?.isEmpty ?? false) ? .none : value
    }
}

extension PropertyValue {
    /// The text as a name, such as one of a type of groups. Nil if it is blank.
    var asName: String? { string.flatMap { $0.isBlank ? nil : $0 } }

    /// The host's id for a field of the record: an integer, also as a text or with a fraction of zero, or a text that doesn't
    /// stand for a missing id. Things such as orders can have the id 0.
    var fieldID: PropertyValue? {
        switch self {
        case .int: self
        case .double(let id): Int64(exactly: id).map { .int($0) }
        // A `nil` would be a null.
        case .string(let id): id.asID != nil || Int(id) != nil ? self : .none
        case .bool, .date, .array, .object, .null: nil
        }
    }

    /// The id of a group or a person, or a list of such ids. Nil if it stands for a missing id.
    fileprivate var asID: PropertyValue? {
        guard let list = array else { return fieldID?.text.asID == nil ? nil : fieldID }
        let ids = list.compactMap(\.asID)
        return ids.isEmpty ? .none : .array(PropertyArray(ids))
    }
}

extension Properties {
    /// The ids of groups or persons among the members, by their kinds.
    var ids: Properties {
        Properties(compactMap { member in member.name.isBlank ? nil : member.value.asID.map { (member.name, $0) } })
    }

    /// Reads the property that has a field of its own, and whose name the caller leaves out. A value that the field can't have
    /// stays a property, with `properties.` in front of its name: call ``freeing(_:)`` before.
    mutating func take<Value>(_ name: String, _ read: (PropertyValue) -> Value?) -> Value? {
        guard let value = self[name], value != .null else { return nil }
        let result = read(value)
        if result == nil { self["properties." + name] = value }
        return result
    }

    /// The properties without the names that ``take(_:_:)`` gives to values of `names`. One that has such a name gets the prefix
    /// once more, in each event, so two names never become one.
    func freeing(_ names: NameSet) -> Properties {
        var isFree = true
        forEachPair { name, _ in if name.utf8.count > 11, (copy name).hasPrefix("properties.") { isFree = false } }
        return isFree
            ? self
            : replacing { property in
                guard property.name.hasPrefix("properties.") else { return nil }
                return Property(
                    property.name.prefixed(by: "properties.") { names.contains(String($0)) }, property.value)
            } ?? self
    }

    /// Gives a property the vendor's name, and the value in the vendor's unit. The host's own property with that name takes
    /// precedence, and the other one stays.
    mutating func rename(_ name: String, to other: String, _ value: PropertyValue?) {
        guard let value, self[other] == nil else { return }
        self[name] = nil
        self[other] = value
    }

    /// `$event_duration` in seconds, with three decimals. Nil if it isn't a number.
    var durationInSeconds: PropertyValue? {
        self["$event_duration"]?.double.map { .double($0.rounded() / 1_000) }
    }
}
