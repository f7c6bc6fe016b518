import Sluice

/// The meaning of an event, for backends that have record types of their own.
///
/// The names and properties are the ones that SluiceIdentity and SluiceDuration track. An event with such a name but
/// without the properties comes from elsewhere, and is an ordinary event.
enum Verb: Equatable {
    /// An ordinary event.
    case track
    /// The first login of an anonymous person.
    case signUp(anonymousID: String)
    /// The login of another person under an anonymous id that has signed up.
    case switchUser(anonymousID: String)
    /// Another id of the same person.
    case alias(String)
    /// A group that the person belongs to, with the group's own properties.
    case group(type: String, id: String, Properties)
    case screen(String)
    case set(Properties)
    case setOnce(Properties)
    case increment(Properties)
    /// Each value is a list.
    case append(Properties)
    case unset([String])
    case delete

    /// The names of all events that aren't ordinary ones.
    static let eventNames: Set<String> = [
        "$SignUp", "$Alias", "$GroupIdentify", "$AppViewScreen", "$ProfileSet", "$ProfileSetOnce", "$ProfileIncrement",
        "$ProfileAppend", "$ProfileUnset", "$ProfileDelete",
    ]

    /// The properties of these events that a record type has in a separate place.
    static let properties: Set<String> = [
        "$original_id", "$switches_user", "$alias", "$group_type", "$group_key", "$group_set", "$screen_name", "$set",
        "$set_once", "$increment", "$append", "$unset",
    ]

    init(_ event: Event) {
        self = Verb.eventNames.contains(event.name) ? Verb.read(event) ?? .track : .track
    }

    private static func read(_ event: Event) -> Verb? {
        let properties = event.properties
        switch event.name {
        case "$SignUp":
            let isSwitch = properties["$switches_user"] == true
            return properties["$original_id"]?.string.map {
                isSwitch ? .switchUser(anonymousID: $0) : .signUp(anonymousID: $0)
            }
        case "$Alias": return properties["$alias"]?.string.map { .alias($0) }
        case "$GroupIdentify":
            guard let type = properties["$group_type"]?.string, let id = properties["$group_key"]?.string else {
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
        default: return nil
        }
    }
}

extension Event {
    /// The id of a known person: the login id, or a distinct id that isn't the anonymous one, as a server sets it.
    var userID: String? { loginID ?? (distinctID == anonymousID ? nil : distinctID) }

    /// The anonymous id. An event without any id of a person has its own, for receivers that require one.
    var deviceID: String? { anonymousID ?? (userID == nil ? id.description : nil) }

    /// The distinct id, or the next best id for receivers that require one. An event without any id of a person has its
    /// own.
    var anyDistinctID: String { distinctID ?? loginID ?? anonymousID ?? id.description }

    /// The person's groups: their ids by their types.
    var groups: Properties { properties["$groups"]?.object ?? [:] }

    /// The properties that have no field of their own in the record.
    func properties(without names: Set<String>) -> Properties {
        var properties = properties
        properties.removeAll { names.contains($0.name) }
        return properties
    }

    /// The properties that the host passed to a login. Super properties and others of the event aren't traits.
    var traits: Properties { properties["$set"]?.object ?? [:] }
}
