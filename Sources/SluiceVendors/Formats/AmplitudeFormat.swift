import SluiceHTTP

/// `/2/httpapi` of Amplitude, or `/batch` if the URL ends with it. The event's id is the `insert_id`.
struct AmplitudeFormat: WireFormat {
    let apiKey: String
    let locatesUsers: Bool

    /// Fewer than 2,000 records, even if each event is two.
    var maximumBatchSize: BatchSize { BatchSize(events: 999, bytes: 800_000) }
    var maximumBodyBytes: Int { 1_000_000 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) { try ArgumentCheck.key("apiKey", apiKey) }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if !request.hasPath(endingWith: "batch") {
            request.appendPath("2", "httpapi", replacing: ["httpapi", "identify", "groupidentify"])
        }
        let sendTime = request.sendTime.description
        try request.setJSONObject(for: batch) {
            $0["api_key"] = apiKey
            // Amplitude would refuse ids with fewer than 5 characters otherwise.
            $0.object("options") { $0["min_id_length"] = 1 }
            $0["client_upload_time"] = sendTime
            let records = try batch.events.flatMap { Self.records(of: try $0.vendorRecord()) }
            $0.objects("events", records) { write($1, to: &$0) }
        }
    }

    /// Amplitude accepts all events of a request or none of them, but lists the invalid and the throttled ones. The
    /// others are sent a second time without them.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let count = batch.events.count
        let rest = Verdict.retry(after: .zero)
        switch response.status {
        case 200...299:
            let object = response.jsonObject
            // Fewer than were sent contradict the code.
            let isComplete = object?["events_ingested"]?.asInt.map { $0 >= recordedEvents(of: batch).count } ?? true
            return .all(object?["code"] == 200 && isComplete ? .accepted : .retry(after: nil))
        case 400:
            let object = response.jsonObject ?? [:]
            let isKeyInvalid = object["error"]?.string?.hasPrefix("Invalid API key") == true
            if isKeyInvalid || object["missing_field"] == "api_key" {
                return .all(.hold(reason: "Amplitude refuses the API key"))
            }
            let keys = [
                "events_with_invalid_fields", "events_with_missing_fields", "events_with_invalid_id_lengths",
                "silenced_events",
            ]
            guard let refused = indices(keys, in: response, of: batch) else { break }
            return .each(
                (0..<count).map { refused.contains($0) ? .rejected(reason: "Amplitude refused the event") : rest })
        case 429:
            let daily = listed("exceeded_daily_quota_users", "exceeded_daily_quota_devices", in: response, of: batch)
            let short = listed("throttled_users", "throttled_devices", in: response, of: batch)
                .union(indices(["throttled_events"], in: response, of: batch) ?? []).subtracting(daily)
            if short.isEmpty, daily.isEmpty { break }
            // The events of a batch are set aside together, for the short time if it applies to any of them. Amplitude measures
            // the rate over 30 s, and updates the daily quota once an hour.
            let later: Verdict =
                short.isEmpty
                ? .retry(after: .seconds(3_600), reason: "the daily quota of the user or device is used up")
                : .retry(after: response.retryAfter ?? .seconds(30), reason: "Amplitude throttles the user or device")
            return .each((0..<count).map { short.contains($0) || daily.contains($0) ? later : rest })
        default: break
        }
        return .all(response.verdict)
    }

    /// - Returns: The indices of events whose records are listed, or nil if the lists are empty or contain anything other
    ///   than indices of records.
    private func indices(_ keys: [String], in response: HTTPResponse, of batch: Batch) -> Set<Int>? {
        let events = recordedEvents(of: batch)
        let lists = keys.compactMap { response.jsonObject?[$0] }
        let indices = PropertyValue.array(PropertyArray(lists)).eventIndices(below: events.count)
        return indices?.isEmpty == false ? indices.map { Set($0.map { events[$0] }) } : nil
    }

    /// Returns the index of the event of each record.
    private func recordedEvents(of batch: Batch) -> [Int] {
        // Only such an event is several records.
        batch.recordedEvents { line in
            try line.field("event") == "$GroupIdentify" ? Self.records(of: line.vendorRecord()).count : 1
        }
    }

    /// Returns the indices of the events whose user or device is a member of these objects.
    private func listed(_ users: String, _ devices: String, in response: HTTPResponse, of batch: Batch) -> Set<Int> {
        func names(_ key: String) -> Set<String> { Set(response.jsonObject?[key]?.object?.map(\.name) ?? []) }
        let (users, devices) = (names(users), names(devices))
        return Set(
            batch.events.indices.filter { index in
                let event = batch.events[index].sentRecord
                return event?.userID.map(users.contains) == true || event?.deviceID.map(devices.contains) == true
            })
    }

    // MARK: Records

    private struct Record {
        var event: Event
        var type: String
        var id: String
        var groups: Properties?
        /// The member that a record about a person or a group has instead of `event_properties`, and its operation.
        var change: (member: String, operation: Properties)?
        var revenue: Revenue?
    }

    private static func records(of event: Event) -> [Record] {
        let verb = Verb(event)
        var named = event
        VendorNames.amplitude.apply(to: &named)
        var record = Record(event: named, type: named.name, id: event.id.description)
        switch verb {
        case .group(let type, let id, let set):
            let groups: Properties = [type: .string(id)]
            record.groups = groups
            // Amplitude's SDKs send this when a person joins a group.
            var joining = record
            joining.type = "$identify"
            joining.id += "-join"
            joining.change = ("user_properties", ["$set": .object(groups)])
            if set.isEmpty { return [joining] }
            record.type = "$groupidentify"
            record.change = ("group_properties", ["$set": .object(set)])
            return [record, joining]
        case .screen(let name):
            record.type = "[Amplitude] Screen Viewed"
            record.event.properties.rename("$screen_name", to: "[Amplitude] Screen Name", .string(name))
        case .revenue(let revenue):
            record.type = "revenue_amount"
            record.event.properties = revenue.properties
            record.revenue = revenue
        default:
            if let operation = operation(of: verb, event) {
                record.type = "$identify"
                record.change = ("user_properties", operation)
            }
        }
        return [record]
    }

    private func write(_ record: Record, to json: inout JSONWriter) {
        let event = record.event
        var properties = event.properties.freeing(Self.ownProperties)
        json["event_type"] = record.type
        json["user_id"] = event.userID
        json["device_id"] = event.deviceID
        json["time"] = .int(event.time.milliseconds)
        json["insert_id"] = record.id
        json["session_id"] = event.sessionStart.map { .int($0.milliseconds) }
        for (name, property) in Self.topLevel { json[name] = properties[property] }
        json["os_name"] = properties["$os_name"] ?? properties["$os"]
        json["language"] = properties["$locale"]?.string.map { String($0.map { $0 == "_" ? "-" : $0 }) }
        if locatesUsers { json["ip"] = "$remote" }
        json["country"] = locatesUsers ? nil : properties["$country"]
        json["library"] = "\(LibraryVersion.name)/\(LibraryVersion.current)"
        if let revenue = record.revenue {
            json["revenue"] = .double(revenue.amount)
            json["price"] = revenue.price.map { .double($0) }
            json["quantity"] = .int(Int64(revenue.quantity))
            json["productId"] = revenue.productID
            json["currency"] = revenue.currencyCode
        }
        if let change = record.change {
            if let groups = record.groups { json.object("groups", groups) }
            json.object(change.member, change.operation)
        } else {
            if let groups = properties.take("$groups", \.object), !groups.isEmpty { json.object("groups", groups) }
            json.object("event_properties", properties, without: Self.ownProperties)
        }
    }

    private static let topLevel: KeyValuePairs = [
        "platform": "$os", "os_version": "$os_version", "app_version": "$app_version",
        "device_manufacturer": "$manufacturer", "device_model": "$model", "carrier": "$carrier",
    ]

    /// The properties that are sent beside the event's own ones.
    private static let ownProperties = NameSet(topLevel.map(\.value) + ["$groups"])

    /// Returns the change of the profile, by the names of Amplitude's operations. Nil for an ordinary event, and for a
    /// change of nothing, which Amplitude's SDKs don't send.
    private static func operation(of verb: Verb, _ event: Event) -> Properties? {
        if case .delete = verb { return ["$clearAll": "-"] }
        let (name, members): (String, Properties) =
            switch verb {
            // Amplitude has a separate API for aliases.
            case .track, .alias, .group, .screen, .revenue, .delete: ("", [:])
            case .signUp, .switchUser, .set: ("$set", verb.traits(of: event))
            case .setOnce(let properties): ("$setOnce", properties)
            case .increment(let properties): ("$add", properties)
            case .append(let properties): ("$append", properties)
            case .unset(let names): ("$unset", Properties(names.map { ($0, "-") }))
            }
        return members.isEmpty ? nil : [name: .object(members)]
    }
}
