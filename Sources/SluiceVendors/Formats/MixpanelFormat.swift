import SluiceHTTP

/// The strict form of Mixpanel's `/import`, which lists the refused events, and `/engage` and `/groups` for profiles.
/// The `$insert_id` is the event's id.
struct MixpanelFormat: WireFormat {
    let user: String
    let password: String
    let project: String?
    /// The project's token. Without it, profiles can't be changed.
    let token: String?
    let locatesUsers: Bool

    var maximumBatchSize: BatchSize { BatchSize(events: 2_000, bytes: 5_000_000) }
    var maximumBodyBytes: Int { 10_000_000 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) {
        let userName: StaticString = project == nil ? "token" : "user"
        try ArgumentCheck.key(userName, user)
        try ArgumentCheck.user(userName, user)
        if project != nil { try ArgumentCheck.key("secret", password) }
        try ArgumentCheck.key("project", project)
        try ArgumentCheck.key("token", token)
    }

    func endpoints(for line: EventLine) throws -> [String] {
        guard token != nil, let name = try line.field("event")?.string, Verb.eventNames.contains(name) else {
            return [Self.events]
        }
        let event = try line.record()
        // A change of nothing is an event.
        if updates(for: event).isEmpty { return [Self.events] }
        switch Verb(event) {
        case .set, .setOnce, .increment, .append, .unset, .delete: return [Self.persons]
        case .group: return [Self.groups]
        // The profile gets the traits and the revenue.
        case .signUp, .switchUser, .revenue: return [Self.events, Self.persons]
        case .track, .alias, .screen: return [Self.events]
        }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        let events = try batch.events.map { try $0.record() }
        let isForEvents = ![Self.persons, Self.groups].contains(request.endpoint)
        request.appendPath(
            isForEvents ? "import" : request.endpoint, replacing: ["import", Self.persons, Self.groups, "track"])
        request.appendQuery("strict", "1")
        if isForEvents {
            if let project { request.appendQuery("project_id", project) }
            request.setBasicAuthorization(user: user, password: password)
        } else {
            // Mixpanel documents gzip for events only.
            request.isCompressible = false
            request.appendQuery("verbose", "1")
            request.appendQuery("ip", locatesUsers ? "1" : "0")
        }
        request.setJSON(for: batch) { json in
            if isForEvents {
                json.array(events) { json, event in json.object { write(event, to: &$0) } }
            } else {
                json.array(events.flatMap(updates)) { $0.object($1) }
            }
        }
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let object = response.jsonObject
        let records = object?["failed_records"]?.array
        switch response.status {
        // `/engage` and `/groups` return a status of 1 or 0.
        case 200...299 where records?.isEmpty ?? true:
            // Fewer than were sent contradict the code.
            if let imported = object?["num_records_imported"]?.asInt,
                imported < recordedEvents(of: batch, response.endpoint).count
            {
                return .all(.retry(after: nil))
            }
            if object?["code"] == 200 || [1, "OK"].contains(object?["status"]) { return .all(.accepted) }
            return .all(object?["status"] == 0 ? .split(reason: "Mixpanel refused the profiles") : .retry(after: nil))
        case 200...299, 400:
            let events = recordedEvents(of: batch, response.endpoint)
            let indices = records.map { $0.compactMap { $0.object?["index"] } } ?? []
            guard !indices.isEmpty, indices.count == records?.count,
                indices.allSatisfy({ if case .int(0..<Int64(events.count)) = $0 { true } else { false } })
            else { return .all(response.status == 400 ? response.verdict : .retry(after: nil)) }
            let failedRecords = events.indices.filter { indices.contains(.int(Int64($0))) }
            let failed = Set(failedRecords.map { events[$0] })
            let pairs = (records ?? []).compactMap { record -> (Int, String)? in
                guard let index = record.object?["index"]?.asInt else { return nil }
                return (record.object?["message"]?.string).map { (events[index], $0) }
            }
            let words = Dictionary(pairs) { first, _ in first }
            // Mixpanel has accepted the other events only if it counts them. Otherwise they are sent a second time
            // without the refused ones.
            let count = (object?["num_records_imported"] ?? object?["num_good_events"])?.asInt
            let isAccepted = count == events.count - failedRecords.count
            let rest: Verdict = isAccepted ? .accepted : .retry(after: .zero)
            return .each(
                batch.events.indices.map {
                    failed.contains($0) ? .rejected(reason: "Mixpanel refused the event").saying(words[$0]) : rest
                })
        default: return .all(response.verdict)
        }
    }

    // MARK: Events

    /// The endpoint without a name: the route waits for a time that it names.
    private static let events = ""
    /// The names that the format writes itself.
    private static let names: Set<String> = [
        "time", "distinct_id", "$insert_id", "$device_id", "$user_id",
    ]

    private func write(_ event: Event, to json: inout JSONWriter) {
        let verb = Verb(event)
        var names = Self.names
        switch verb {
        case .signUp, .switchUser:
            json["event"] = "$identify"
            names.formUnion(["$anon_distinct_id", "$identified_id"])
        case .alias:
            json["event"] = "$create_alias"
            names.insert("alias")
        case .revenue: json["event"] = Revenue.orderName
        default: json["event"] = event.name
        }
        json.object("properties") {
            $0["time"] = .int(event.time.milliseconds)
            // Mixpanel assigns events with an empty id to no user.
            $0["distinct_id"] = personID(of: event) ?? ""
            $0["$insert_id"] = event.id.description
            $0["$device_id"] = event.anonymousID
            $0["$user_id"] = event.userID
            switch verb {
            case .signUp(let anonymousID):
                $0["$anon_distinct_id"] = Self.devicePrefix + anonymousID
                $0["$identified_id"] = event.userID
            case .switchUser: $0["$identified_id"] = event.userID
            case .alias(let id): $0["alias"] = id
            default: break
            }
            let properties = properties(of: event, verb, beside: names)
            if !locatesUsers, properties["ip"] == nil { $0["ip"] = 0 }
            for property in properties { $0[property.name] = property.value }
        }
    }

    /// The properties and the groups under their final names, each once.
    private func properties(of event: Event, _ verb: Verb, beside names: Set<String>) -> Properties {
        let own = ownProperties(of: event, verb)
        var result = Properties(
            own.filter { !isElsewhere($0.name, event, verb) }.map { property in
                let ownName = Self.ownNames[property.name].flatMap { own[$0] == nil ? $0 : nil }
                return (ownName ?? property.outerName(beside: names), property.value)
            })
        // In Mixpanel's SDKs groups are super properties, so a property of the event keeps its name.
        for group in event.groups {
            var name = group.name
            while names.contains(name) || result[name] != nil { name = "groups." + name }
            result[name] = [group.value]
        }
        return result
    }

    /// The prefix that Mixpanel's SDKs add to an anonymous id. Projects with Simplified ID Merge derive the same id
    /// from `$device_id`. Projects with Original ID Merge take it from `distinct_id`.
    private static let devicePrefix = "$device:"

    private func personID(of event: Event) -> String? {
        event.userID ?? event.anonymousID.map { Self.devicePrefix + $0 }
    }

    private func ownProperties(of event: Event, _ verb: Verb) -> Properties {
        var (own, traits) = (event.properties, Properties())
        switch verb {
        case .revenue(let revenue): own = revenue.order(of: event)
        case .signUp, .switchUser:
            if own["$set"]?.object != nil { own["$set"] = nil }
            // Without a token they can't reach the profile.
            if token == nil { traits = event.traits }
        default: break
        }
        if let seconds = own.durationInSeconds, own["$duration"] == nil {
            own["$event_duration"] = nil
            own["$duration"] = seconds
        }
        // After the duration, because one of theirs isn't the event's.
        own.addDefaults(traits)
        return own
    }

    /// The names of Mixpanel's SDKs for automatic properties.
    private static let ownNames = [
        "$app_version": "$app_version_string", "$app_build": "$app_build_number", "$lib": "mp_lib",
    ]

    /// Whether the property is sent under another name.
    private func isElsewhere(_ name: String, _ event: Event, _ verb: Verb) -> Bool {
        switch (name, verb) {
        case ("$groups", _): event.properties["$groups"]?.object != nil
        case ("$original_id", .signUp), ("$original_id", .switchUser), ("$switches_user", .switchUser),
            ("$alias", .alias):
            true
        default: false
        }
    }

    // MARK: Profiles

    private static let persons = "engage"
    private static let groups = "groups"

    /// Returns the index of the event of each record that a request for the batch contains.
    private func recordedEvents(of batch: Batch, _ endpoint: String) -> [Int] {
        let areUpdates = [Self.persons, Self.groups].contains(endpoint)
        return batch.recordedEvents { try areUpdates ? updates(for: $0.record()).count : 1 }
    }

    /// Returns the records of an event. Mixpanel appends one value at a time, so several values are several records.
    private func updates(for event: Event) -> [Properties] {
        var operations: [(name: String, value: PropertyValue)]
        var record: Properties = ["$token": token.map { .string($0) } ?? .null]
        switch Verb(event) {
        case .set(let properties): operations = [("$set", .object(properties))]
        case .setOnce(let properties): operations = [("$set_once", .object(properties))]
        case .increment(let properties): operations = [("$add", .object(properties))]
        case .append(let lists): operations = lists.rows.map { ("$append", .object($0)) }
        case .unset(let names): operations = [("$unset", .array(PropertyArray(names.map { .string($0) })))]
        case .delete: operations = [("$delete", "")]
        case .group(let type, let id, let properties):
            record["$group_key"] = .string(type)
            record["$group_id"] = .string(id)
            operations = [("$set", .object(properties))]
        case .signUp, .switchUser:
            operations = [("$set", .object(event.traits))]
        case .revenue(let revenue):
            let charge: Properties = [
                "$amount": .double(revenue.amount), "$time": .string(String(event.time.description.prefix(19))),
            ]
            operations = personID(of: event) == nil ? [] : [("$append", ["$transactions": .object(charge)])]
        case .track, .alias, .screen: operations = []
        }
        operations.removeAll { $0.value == [:] || $0.value == [] }
        if record["$group_key"] == nil {
            record["$distinct_id"] = .string(personID(of: event) ?? event.id.description)
            record["$device_id"] = event.anonymousID.map { .string($0) }
            record["$user_id"] = event.userID.map { .string($0) }
        }
        record["$time"] = .int(event.time.milliseconds)
        return operations.map { operation in
            var update = record
            update[operation.name] = operation.value
            return update
        }
    }
}

extension Properties {
    /// The first elements of all lists, then the second ones, and so on.
    fileprivate var rows: [Properties] {
        let lists = map { ($0.name, $0.value.array ?? [$0.value]) }
        let count = lists.map(\.1.count).max() ?? 0
        return (0..<count).map { row in
            Properties(lists.compactMap { name, list in row < list.count ? (name, list[row]) : nil })
        }
    }
}
