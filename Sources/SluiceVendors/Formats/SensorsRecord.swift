import SluiceHTTP

/// An event as a record of Sensors Analytics: a `track`, or one of its types for sign-ups, bound ids, profiles and items.
struct SensorsRecord {
    var type = "track"
    var name: String
    var originalID: String?
    var item: (type: String, id: String)?
    /// Further ids of the user, which Sensors expects beside the properties.
    var identities: Properties?
    var properties: Properties

    init(_ event: Event) {
        name = event.name
        properties = event.properties
        if var bound = properties["$identities"]?.object {
            bound.removeAll { Self.ownKinds.contains($0.name) }
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
        case .revenue(let revenue): becomeRevenue(revenue)
        case .alias, .group, .screen: break
        }
        if type != "track_id_unbind" { addOwnIdentities(of: event) }
        // Otherwise Sensors would treat the distinct id as anonymous.
        if item == nil, event.loginID == nil, event.userID != nil { properties["$is_login_id"] = true }
        let offset = event.properties["$utc_offset"]?.int ?? 0
        let minutesEast = (-1_440...1_440).contains(offset) ? offset : 0
        properties = Properties(
            properties.flattened.map { ($0.name, $0.value.withSensorsDates(minutesEast: minutesEast)) })
    }

    /// The kinds of the record's own ids. A host can't bind others under them.
    private static let ownKinds = ["$identity_login_id", "$identity_anonymous_id"]

    /// Sensors joins the ids that one record lists.
    private mutating func addOwnIdentities(of event: Event) {
        for (kind, id) in zip(Self.ownKinds, [event.userID, event.anonymousID]) {
            if let id { identities?[kind] = .string(id) }
        }
    }

    private mutating func becomeRevenue(_ revenue: Revenue) {
        name.removeFirst()
        if let code = revenue.currencyCode { properties["$currency"] = .string(code) }
        for property in properties where ["$amount", "$currency", "$product_id", "$quantity"].contains(property.name) {
            properties.rename(property.name, to: String(property.name.dropFirst()), property.value)
        }
    }

    /// Sensors' SDKs write durations in seconds, and minutes west of UTC.
    private mutating func useVendorsNames() {
        properties.rename("$event_duration", to: "event_duration", properties.durationInSeconds)
        if case .int(let minutes) = properties["$utc_offset"], minutes > .min {
            properties.rename("$utc_offset", to: "$timezone_offset", .int(-minutes))
        }
        properties.rename("$session_id", to: "$event_session_id", properties["$session_id"])
    }

    private mutating func become(_ type: String, _ properties: Properties) {
        self.type = type
        self.properties = properties
    }

    /// Moves the id to the `identities`, beside the given ones.
    private mutating func becomeBinding(_ type: String, beside others: Properties) {
        guard let kind = properties["$id_kind"]?.asName, let id = properties["$id_value"]?.string?.asID,
            !Self.ownKinds.contains(kind)
        else { return }
        self.type = type
        properties["$id_kind"] = nil
        properties["$id_value"] = nil
        identities = others
        identities?[kind] = .string(id)
    }

    private mutating func becomeItem(_ type: String, _ event: Event, _ properties: Properties?) {
        // An item may be called `0` or `none`: its id joins no persons.
        guard let kind = event.properties["$item_type"]?.asName, let id = event.properties["$item_id"]?.asName,
            let properties
        else { return }
        become(type, properties)
        item = (kind, id)
    }
}

extension Properties {
    /// Replaces Sluice's own objects by their members, because Sensors has no objects. `$groups` becomes `groups_company` and
    /// so on, which depends on the type only: the groups get their names first, and another property yields.
    fileprivate var flattened: Properties {
        guard contains(where: { $0.ownMembers != nil }) else { return self }
        // As pairs: setting one after the other would search for each.
        var (names, pairs): (Set<String>, [(String, PropertyValue)]) = ([], [])
        for property in filter({ $0.name == "$groups" }) + filter({ $0.name != "$groups" }) {
            for (first, value) in property.ownMembers ?? [(property.name, property.value)] {
                var name = first
                while !names.insert(name).inserted { name = ("own_" + name).cut }
                pairs.append((name, value))
            }
        }
        return Properties(pairs)
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
    /// The members of Sluice's own object, each with the object's name in front.
    fileprivate var ownMembers: [(String, PropertyValue)]? {
        guard name.hasPrefix("$") else { return nil }
        return value.object?.map { ((name.dropFirst() + "_" + $0.name).cut, $0.value) }
    }
}

extension String {
    /// The name with a hash if it is longer than Sensors accepts.
    fileprivate var cut: String { utf16.count > 100 ? fitted(to: 100) { _ in true } : self }
}
