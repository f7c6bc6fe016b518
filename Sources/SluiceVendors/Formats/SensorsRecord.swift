import Sluice

/// An event as a record of Sensors Analytics: a `track`, or one of its types for sign-ups, bound ids, profiles and items.
struct SensorsRecord {
    var type = "track"
    /// Records about profiles and items have no name.
    var hasName = true
    var name: String
    var originalID: String?
    var item: (type: String, id: String)?
    /// Further ids of the user, which Sensors expects beside the properties.
    var identities: Properties?
    var properties: Properties

    init(_ event: Event) {
        name = event.name
        properties = event.properties
        if let bound = properties["$identities"]?.object {
            identities = bound.isEmpty ? nil : bound
            properties["$identities"] = nil
        }
        useVendorsNames()
        switch Verb(event) {
        // Sensors' SDKs send this record at each login with another id than the present one.
        case .signUp(let anonymousID), .switchUser(let anonymousID):
            type = "track_signup"
            originalID = anonymousID
            let traits = event.traits
            properties.removeAll {
                $0.name == "$original_id" || $0.name == "$switches_user" && $0.value == true
                    || $0.name == "$set" && $0.value.object != nil
            }
            properties.addDefaults(traits)
        case .set(let properties): become("profile_set", properties)
        case .setOnce(let properties): become("profile_set_once", properties)
        case .increment(let properties): become("profile_increment", properties)
        case .append(let properties): become("profile_append", properties)
        case .unset(let names): become("profile_unset", Properties(names.map { ($0, true) }))
        case .delete: become("profile_delete", [:])
        case .track:
            switch event.name {
            case "$ItemSet": becomeItem("item_set", event, event.properties["$item"]?.object)
            case "$ItemDelete": becomeItem("item_delete", event, [:])
            case "$BindID": becomeBinding("track_id_bind", beside: identities ?? [:])
            case "$UnbindID": becomeBinding("track_id_unbind", beside: [:])
            default: break
            }
        // Sensors has no type for revenue, and names of one's own don't begin with a dollar sign.
        case .revenue: becomeRevenue()
        case .alias, .group, .screen: break
        }
        if type != "track_id_unbind" { addOwnIdentities(of: event) }
        // Otherwise Sensors would treat the distinct id as anonymous.
        if item == nil, event.loginID == nil, event.userID != nil { properties["$is_login_id"] = true }
        var minutesEast = 0
        if case .int(let minutes) = event.properties["$utc_offset"], (-1_440...1_440).contains(minutes) {
            minutesEast = Int(minutes)
        }
        properties = Properties(
            properties.flattened.map { ($0.name, $0.value.withSensorsDates(minutesEast: minutesEast)) })
    }

    /// Sensors joins the ids that one record lists.
    private mutating func addOwnIdentities(of event: Event) {
        guard identities != nil else { return }
        if let id = event.userID { identities?["$identity_login_id"] = .string(id) }
        if let id = event.anonymousID { identities?["$identity_anonymous_id"] = .string(id) }
    }

    private mutating func becomeRevenue() {
        name.removeFirst()
        for property in properties where ["$amount", "$currency", "$product_id", "$quantity"].contains(property.name) {
            rename(property.name, String(property.name.dropFirst()), property.value)
        }
    }

    /// Gives a property the vendor's name, unless the host has a property with that name.
    private mutating func rename(_ name: String, _ other: String, _ value: PropertyValue?) {
        guard let value, properties[other] == nil else { return }
        properties[name] = nil
        properties[other] = value
    }

    /// Sensors' SDKs write durations in seconds, and minutes west of UTC.
    private mutating func useVendorsNames() {
        rename("$event_duration", "event_duration", properties.durationInSeconds)
        if case .int(let minutes) = properties["$utc_offset"], minutes > .min {
            rename("$utc_offset", "$timezone_offset", .int(-minutes))
        }
        rename("$session_id", "$event_session_id", properties["$session_id"])
    }

    private mutating func become(_ type: String, _ properties: Properties) {
        self.type = type
        self.properties = properties
        hasName = false
    }

    /// Moves the id to the `identities`, beside the given ones.
    private mutating func becomeBinding(_ type: String, beside others: Properties) {
        guard let kind = properties["$id_kind"]?.string, let id = properties["$id_value"]?.string?.asID else { return }
        self.type = type
        properties["$id_kind"] = nil
        properties["$id_value"] = nil
        identities = others
        identities?[kind] = .string(id)
    }

    private mutating func becomeItem(_ type: String, _ event: Event, _ properties: Properties?) {
        // An item may be called `0` or `none`: its id joins no persons.
        guard let kind = event.properties["$item_type"]?.string, let id = event.properties["$item_id"]?.string,
            !id.isBlank, let properties
        else { return }
        become(type, properties)
        item = (kind, id)
    }
}

extension Properties {
    /// Replaces Sluice's own objects by their members, because Sensors has no objects. `$groups` becomes
    /// `groups_company` and so on, with `_` at the end if the name is taken.
    fileprivate var flattened: Properties {
        guard contains(where: { $0.ownMembers != nil }) else { return self }
        var names = Set(map(\.name))
        // As pairs: setting one after the other would search for each.
        return Properties(
            flatMap { property in
                guard let members = property.ownMembers else { return [(property.name, property.value)] }
                return members.map { member in
                    var name = property.name.dropFirst() + "_" + member.name
                    while !names.insert(name).inserted { name += "_" }
                    return (name, member.value)
                }
            })
    }
}

extension PropertyValue {
    /// Writes dates, in lists too, as Sensors' SDKs do: in local time, without an offset.
    fileprivate func withSensorsDates(minutesEast: Int) -> PropertyValue {
        switch self {
        case .date(let date):
            let local = Timestamp(milliseconds: date.milliseconds &+ Int64(minutesEast) &* 60_000)
            return .string(String(local.description.map { $0 == "T" ? " " : $0 }.dropLast()))
        case .array(let array):
            return .array(PropertyArray(array.map { $0.withSensorsDates(minutesEast: minutesEast) }))
        case .string, .int, .double, .bool, .object, .null: return self
        }
    }
}

extension Property {
    fileprivate var ownMembers: Properties? { name.hasPrefix("$") ? value.object : nil }
}
