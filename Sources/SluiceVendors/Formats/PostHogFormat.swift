import SluiceHTTP

/// Version 1 of PostHog's capture API: `/i/v1/analytics/events`, with a result for each event.
struct PostHogFormat: WireFormat {
    let apiKey: String
    let isHistoricalMigration: Bool
    let records: PostHogRecords

    /// The results fit into the 64 KiB that are read of a response, with details too.
    var maximumBatchSize: BatchSize { BatchSize(events: 500, bytes: 5_000_000) }
    var maximumBodyBytes: Int { 20_000_000 }
    var maximumEventBytes: Int { PostHogRecords.maximumEventBytes }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) { try ArgumentCheck.key("apiKey", apiKey) }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("i", "v1", "analytics", "events", replacing: PostHogRecords.otherPaths)
        // The transport's id has the time of the first attempt.
        let id = EventID(request.id)
        let firstTime = id?.time ?? request.sendTime
        request.setHeader("Authorization", "Bearer \(apiKey)")
        request.setHeader("PostHog-Sdk-Info", "\(LibraryVersion.name)/\(LibraryVersion.current)")
        request.setHeader("PostHog-Attempt", String(request.retryCount + 1))
        request.setHeader("PostHog-Request-Id", (id ?? batch.events.first?.id)?.description ?? "")
        request.setHeader("PostHog-Request-Timestamp", request.sendTime.description)
        try request.setJSONObject(for: batch) {
            $0["created_at"] = firstTime.description
            if isHistoricalMigration { $0["historical_migration"] = true }
            try $0.objects("batch", batch.events) {
                Self.write(records.event(try $1.vendorRecord(), isNested: false), to: &$0)
            }
        }
    }

    /// Reads `{"results":{"<uuid>":{"result":"ok"}}}`. As in PostHog's SDKs, an event without a result, or with an unknown
    /// one, is accepted.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        guard response.isComplete else { return .all(.retry(after: nil)) }
        guard let results = response.jsonObject?["results"]?.object, results.allSatisfy({ $0.value.object != nil })
        else { return .all(.unrecognized("PostHog")) }
        return .each(
            batch.events.map { line in
                guard let id = line.id, let result = results[id.description]?.object else { return .accepted }
                func rejected(_ reason: String) -> Verdict {
                    .rejected(reason: reason).saying(PropertyValue.object(result).text)
                }
                switch result["result"] {
                case "retry": return .retry(after: response.retryAfter)
                case "drop": return rejected("PostHog dropped the event")
                case "limited": return rejected("PostHog dropped the event, since a quota is used up")
                default: return .accepted
                }
            })
    }

    /// The controls of PostHog's SDKs, which the API takes beside the properties.
    private static let switches: KeyValuePairs = [
        "$cookieless_mode": "cookieless_mode", "$ignore_sent_at": "disable_skew_correction",
        "$process_person_profile": "process_person_profile",
    ]

    private static let ids: KeyValuePairs = ["$session_id": "session_id", "$window_id": "window_id"]

    private static let elsewhere = NameSet(
        switches.map(\.key) + ids.map(\.key) + PostHogRecords.library.map(\.name) + ["$product_tour_id"])

    private static func write(_ event: Event, to json: inout JSONWriter) {
        json["event"] = event.name
        json["uuid"] = event.id.description
        json["distinct_id"] = event.anyDistinctID
        json["timestamp"] = event.time.description
        var properties = event.properties.freeing(elsewhere)
        for (name, member) in ids { json[member] = properties.take(name, \.string) }
        json.object("options") {
            for (name, option) in switches { $0[option] = properties.take(name, \.asBool).map { .bool($0) } }
            $0["product_tour_id"] = properties.take("$product_tour_id", \.string)
        }
        // The server takes the library from a header.
        json.object("properties", properties, without: elsewhere)
    }
}

extension PropertyValue {
    /// What PostHog's SDKs take for true and false. One value of another type would make the server refuse the request.
    fileprivate var asBool: Bool? {
        switch self {
        case .bool(let bool): return bool
        case .int(let int): return int != 0
        case .double(let double): return double != 0
        case .string(let string):
            let word = string.filter { $0 != " " }.lowercased()
            return ["true", "1"].contains(word) ? true : ["false", "0"].contains(word) ? false : nil
        case .date, .array, .object, .null: return nil
        }
    }
}

/// `/batch` of PostHog, for servers without version 1. The event's id is the `uuid`.
struct PostHogBatchFormat: WireFormat {
    let apiKey: String
    let isHistoricalMigration: Bool
    let records: PostHogRecords

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 5_000_000) }
    var maximumBodyBytes: Int { 20_000_000 }
    var maximumEventBytes: Int { PostHogRecords.maximumEventBytes }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) { try ArgumentCheck.key("apiKey", apiKey) }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("batch", replacing: PostHogRecords.otherPaths)
        let sendTime = request.sendTime.description
        try request.setJSONObject(for: batch) {
            $0["api_key"] = apiKey
            $0["historical_migration"] = .bool(isHistoricalMigration)
            $0["sent_at"] = sendTime
            try $0.objects("batch", batch.events) {
                let event = records.event(try $1.vendorRecord(), isNested: true)
                $0["event"] = event.name
                $0["distinct_id"] = event.anyDistinctID
                $0["uuid"] = event.id.description
                $0.object("properties", event.properties)
                $0["timestamp"] = event.time.description
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
}
