import Sluice

/// An event as a record of Sensors Analytics: a `track`, or one of its types for sign-ups, profiles and items.
///
/// SluiceIdentity's events have these types. An event with such a name but without the properties that the type requires
/// comes from elsewhere and remains a `track`.
struct SensorsRecord {
    var type = "track"
    /// Only `track` and `track_signup` have a name.
    var hasName = true
    var originalID: String?
    var item: (type: String, id: String)?
    /// More ids of the user, which Sensors expects beside the properties.
    var identities: Properties?
    var properties: Properties

    init(_ event: Event) {
        properties = event.properties
        if let bound = properties["$identities"]?.asObject {
            identities = bound
            properties["$identities"] = nil
        }
        switch event.name {
        case "$SignUp": becomeSignUp()
        case "$ProfileSet": become("profile_set", event.properties["$set"]?.asObject)
        case "$ProfileSetOnce": become("profile_set_once", event.properties["$set_once"]?.asObject)
        case "$ProfileIncrement": become("profile_increment", event.properties["$increment"]?.asObject)
        case "$ProfileAppend": become("profile_append", event.properties["$append"]?.asObject)
        case "$ProfileUnset": become("profile_unset", event.properties["$unset"]?.asNames)
        case "$ProfileDelete": become("profile_delete", Properties())
        case "$ItemSet": becomeItem("item_set", event, event.properties["$item"]?.asObject)
        case "$ItemDelete": becomeItem("item_delete", event, Properties())
        default: break
        }
    }

    private mutating func becomeSignUp() {
        guard case .string(let previous)? = properties["$original_id"] else { return }
        type = "track_signup"
        originalID = previous
        properties["$original_id"] = nil
    }

    private mutating func become(_ type: String, _ properties: Properties?) {
        guard let properties else { return }
        self.type = type
        self.properties = properties
        hasName = false
    }

    private mutating func becomeItem(_ type: String, _ event: Event, _ properties: Properties?) {
        guard case .string(let kind)? = event.properties["$item_type"],
            case .string(let id)? = event.properties["$item_id"], let properties
        else { return }
        become(type, properties)
        item = (kind, id)
    }
}

extension PropertyValue {
    /// A list of names as properties with the value true.
    fileprivate var asNames: Properties? {
        guard let names = asArray else { return nil }
        return Properties(
            names.compactMap { name in
                guard case .string(let text) = name else { return nil }
                return (text, .bool(true))
            })
    }
}
