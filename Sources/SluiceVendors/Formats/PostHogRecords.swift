import Sluice

/// The events of PostHog, with its names and properties.
struct PostHogRecords {
    /// 1 MB, plus the envelope.
    static let maximumEventBytes = 1_048_576 + 1_024

    /// The paths of all endpoints for events. A host may have configured any of them.
    static let otherPaths = ["i/v1/analytics/events", "i/v0/e", "batch", "capture", "track", "engage", "e"]

    static let library: Properties = [
        "$lib": .string(LibraryVersion.name), "$lib_version": .string(LibraryVersion.current),
    ]

    let locatesUsers: Bool

    /// The event under PostHog's names. With `isNested`, identities and the library are among the properties too, as in
    /// `/batch`.
    func event(_ source: Event, isNested: Bool) -> Event {
        var event = source
        VendorNames.application.apply(to: &event)
        let concernsPerson = become(Verb(event), &event, isNested: isNested)
        var defaults: Properties = [
            "$is_identified": .bool(event.userID != nil), "$process_person_profile": .bool(concernsPerson),
        ]
        if isNested { defaults.merge(Self.library) }
        // The name of PostHog's SDKs.
        event.properties.rename("$app_id", to: "$app_namespace", event.properties["$app_id"])
        defaults["$device_id"] = event.anonymousID.map { .string($0) }
        if !locatesUsers {
            // Neither the place nor the system of a server is the user's.
            defaults.merge(["$geoip_disable": true, "$is_server": true])
        }
        event.properties.addDefaults(defaults)
        return event
    }

    /// Gives the event PostHog's name and properties.
    ///
    /// - Returns: Whether the event creates or changes a person.
    private func become(_ verb: Verb, _ event: inout Event, isNested: Bool) -> Bool {
        let isOfKnown = event.userID != nil || !event.groups.isEmpty
        var own: Properties = [:]
        switch verb {
        // PostHog can't increment, append to or delete a profile. A change of nothing has no record.
        case .track, .increment, .append, .delete, .unset([]),
            .switchUser where event.traits.isEmpty:
            return isOfKnown
        case .revenue(let revenue):
            event.name = Revenue.orderName
            event.properties = revenue.order(of: event)
            return isOfKnown
        case .screen:
            event.name = "$screen"
            return isOfKnown
        case .signUp(let anonymousID):
            event.name = "$identify"
            event.properties["$original_id"] = nil
            own["$anon_distinct_id"] = .string(anonymousID)
        case .switchUser:
            // An anonymous id stays with its first person.
            event.name = "$set"
            event.properties.removeAll { ["$original_id", "$switches_user"].contains($0.name) }
            event.properties["$set"] = .object(event.traits)
        case .alias(let id):
            event.name = "$create_alias"
            event.properties["$alias"] = nil
            own["alias"] = .string(id)
        case .group: event.name = "$groupidentify"
        case .set, .setOnce, .unset: event.name = "$set"
        }
        if isNested, ["$identify", "$create_alias"].contains(event.name) {
            own["distinct_id"] = .string(event.anyDistinctID)
        }
        let names = Set(own.map(\.name))
        event.properties = Properties(event.properties.map { ($0.outerName(beside: names), $0.value) }) + own
        return true
    }
}
