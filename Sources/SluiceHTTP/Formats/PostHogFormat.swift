import Sluice

/// `/batch` of PostHog. The event's id is the `uuid`.
struct PostHogFormat: WireFormat {
    let apiKey: String
    let isHistoricalMigration: Bool
    let locatesUsers: Bool

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 5_000_000) }
    var maximumBodyBytes: Int { 20_000_000 }
    /// 1 MB, plus the envelope.
    var maximumEventBytes: Int { 1_048_576 + 1_024 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("batch")
        let sendTime = request.sendTime.description
        try request.setJSON(for: batch) { json in
            try json.object {
                $0["api_key"] = apiKey
                $0["historical_migration"] = .bool(isHistoricalMigration)
                $0["sent_at"] = sendTime
                try $0.array("batch", batch.events) { json, line in
                    let event = try line.event()
                    json.object { write(event, to: &$0) }
                }
            }
        }
    }

    /// The body's status is 1, or `Ok` from newer servers.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        guard let object = response.jsonObject, [1, "Ok", "ok"].contains(object["status"]) else {
            return .all(.retry(after: nil))
        }
        // Other products, such as recordings, have quotas too.
        if object["quota_limited"]?.array?.contains("events") == true {
            return .all(.hold(reason: "PostHog drops events, since the project's quota is used up"))
        }
        return .all(.accepted)
    }

    private func write(_ event: Event, to json: inout JSONWriter) {
        var event = event
        become(Verb(event), &event)
        json["event"] = event.name
        json["distinct_id"] = event.anyDistinctID
        json["uuid"] = event.id.description
        json.object("properties", event.properties)
        json["timestamp"] = event.time.description
    }

    /// Gives the event PostHog's name and properties.
    private func become(_ verb: Verb, _ event: inout Event) {
        var concernsPerson = event.userID != nil || !event.groups.isEmpty
        switch verb {
        // PostHog can't increment, append to or delete a profile.
        case .track, .increment, .append, .delete: break
        case .screen: event.name = "$screen"
        case .signUp(let anonymousID):
            event.name = "$identify"
            event.properties["$original_id"] = nil
            event.properties["distinct_id"] = .string(event.anyDistinctID)
            event.properties["$anon_distinct_id"] = .string(anonymousID)
            concernsPerson = true
        case .switchUser:
            // An anonymous id stays with its first person.
            event.name = "$set"
            event.properties.removeAll { ["$original_id", "$switches_user"].contains($0.name) }
            event.properties["$set"] = .object([:])
            concernsPerson = true
        case .alias(let id):
            event.name = "$create_alias"
            event.properties["$alias"] = nil
            event.properties["distinct_id"] = .string(event.anyDistinctID)
            event.properties["alias"] = .string(id)
            concernsPerson = true
        case .group:
            event.name = "$groupidentify"
            concernsPerson = true
        case .set, .setOnce, .unset:
            event.name = "$set"
            concernsPerson = true
        }
        var defaults: Properties = [
            "$lib": .string(LibraryVersion.name), "$lib_version": .string(LibraryVersion.current),
            "$is_identified": .bool(event.userID != nil), "$process_person_profile": .bool(concernsPerson),
        ]
        // The name of PostHog's SDKs.
        if let id = event.properties["$app_id"], event.properties["$app_namespace"] == nil {
            event.properties["$app_id"] = nil
            event.properties["$app_namespace"] = id
        }
        defaults["$device_id"] = event.anonymousID.map { .string($0) }
        if !locatesUsers { defaults["$geoip_disable"] = true }
        event.properties.addDefaults(defaults)
    }
}
