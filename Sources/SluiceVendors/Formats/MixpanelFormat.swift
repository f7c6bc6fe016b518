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
        try ArgumentCheck.number("project", project)
        try ArgumentCheck.key("token", token)
    }

    func endpoints(for line: EventLine) throws -> [String] {
        guard token != nil, let name = try line.field("event")?.string, Verb.eventNames.contains(name) else {
            return [Self.events]
        }
        let event = try line.vendorRecord()
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
        let events = try batch.events.map { try $0.vendorRecord() }
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
                json.objects(events) { write($1, to: &$0) }
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
            let failures = (records ?? []).map { ($0.object?["index"]?.int ?? -1, $0.object?["message"]?.string) }
            let failed = Set(failures.map(\.0))
            guard !failed.isEmpty, failed.isSubset(of: events.indices) else {
                return .all(response.status == 400 ? response.verdict : .retry(after: nil))
            }
            let words = Dictionary(failures.map { (events[$0], $1) }) { $0 ?? $1 }
            // Mixpanel has accepted the other events only if it counts them. Otherwise they are sent a second time
            // without the refused ones.
            let count = (object?["num_records_imported"] ?? object?["num_good_events"])?.asInt
            let isAccepted = count == events.count - failed.count
            let rest: Verdict = isAccepted ? .accepted : .retry(after: .zero)
            let refusal = Verdict.rejected(reason: "Mixpanel refused the event")
            return .each(batch.events.indices.map { words[$0].map { refusal.saying($0) } ?? rest })
        default: return .all(response.verdict)
        }
    }

    // MARK: Events

    /// The endpoint without a name: the route waits for a time that it names.
    private static let events = ""
    /// The names that the format writes itself.
    private static let names: Set<String> = ["time", "distinct_id", "$insert_id", "$device_id", "$user_id"]
    /// ``names``, and the names that single verbs add.
    private static let allNames = names.union(["alias", "$anon_distinct_id", "$identified_id"])

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
                $0["$anon_distinct_id"] = Self.distinctID(of: anonymousID)
                $0["$identified_id"] = event.userID
            case .switchUser: $0["$identified_id"] = event.userID
            case .alias(let id): $0["alias"] = id.hasBytes(of: event.anonymousID) ? Self.distinctID(of: id) : id
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
        // The name of a group depends on its type only, and isn't one that a property gets.
        let groups = event.groups.map { group in
            let name = group.name.prefixed(by: "groups.") {
                Self.allNames.contains(String($0)) || $0.starts(with: "properties.".unicodeScalars)
            }
            return (name, PropertyValue.array([group.value]))
        }
        let names = names.union(groups.map(\.0))
        return Properties(
            own.map { property in
                let ownName = Self.ownNames[property.name].flatMap { own[$0] == nil ? $0 : nil }
                return (Property(ownName ?? property.name, .null).outerName(beside: names), property.value)
            } + groups)
    }

    /// The distinct id of an anonymous person, with the prefix of Mixpanel's SDKs. Projects with Simplified ID Merge derive
    /// the same id from `$device_id`. Projects with Original ID Merge take it from `distinct_id`.
    private static func distinctID(of anonymousID: String) -> String { "$device:" + anonymousID }

    private func personID(of event: Event) -> String? { event.userID ?? event.anonymousID.map(Self.distinctID) }

    private func ownProperties(of event: Event, _ verb: Verb) -> Properties {
        var (own, traits) = (event.properties, Properties())
        switch verb {
        case .revenue(let revenue): own = revenue.order(of: event)
        case .alias: own["$alias"] = nil
        case .signUp, .switchUser:
            own["$original_id"] = nil
            if own["$switches_user"] == true { own["$switches_user"] = nil }
            if own["$set"]?.object != nil { own["$set"] = nil }
            // Without a token they can't reach the profile.
            if token == nil { traits = event.traits }
        default: break
        }
        own.rename("$event_duration", to: "$duration", own.durationInSeconds)
        // After the duration, because one of theirs isn't the event's.
        own.addDefaults(traits)
        if event.properties["$groups"]?.object != nil { own["$groups"] = nil }
        return own
    }

    /// The names of Mixpanel's SDKs for automatic properties.
    private static let ownNames = [
        "$app_version": "$app_version_string", "$app_build": "$app_build_number", "$lib": "mp_lib",
    ]

    // MARK: Profiles

    private static let persons = "engage"
    private static let groups = "groups"

    /// Returns the index of the event of each record that a request for the batch contains.
    private func recordedEvents(of batch: Batch, _ endpoint: String) -> [Int] {
        let areUpdates = [Self.persons, Self.groups].contains(endpoint)
        return batch.recordedEvents { try areUpdates ? updates(for: $0.vendorRecord()).count : 1 }
    }

    /// Returns the records of an event. Mixpanel appends one value at a time, so several values are several records.
    private func updates(for event: Event) -> [Properties] {
        var operations: [(name: String, value: PropertyValue)]
        var record: Properties = ["$token": token.map { .string($0) } ?? .null]
        let verb = Verb(event)
        switch verb {
        case .signUp, .switchUser, .set: operations = [("$set", .object(verb.traits(of: event)))]
        case .setOnce(let properties): operations = [("$set_once", .object(properties))]
        case .increment(let properties): operations = [("$add", .object(properties))]
        case .append(let lists): operations = lists.rows.map { ("$append", .object($0)) }
        case .unset(let names): operations = [("$unset", .array(PropertyArray(names.map { .string($0) })))]
        case .delete: operations = [("$delete", "")]
        case .group(let type, let id, let properties):
            record["$group_key"] = .string(type)
            record["$group_id"] = .string(id)
            operations = [("$set", .object(properties))]
        case .revenue(let revenue):
            let charge: Properties = [
                "$amount": .double(revenue.amount), "$time": .string(String(event.time.description.prefix(19))),
            ]
            operations = [("$append", ["$transactions": .object(charge)])]
        case .track, .alias, .screen: operations = []
        }
        operations.removeAll { $0.value == [:] || $0.value == [] }
        if record["$group_key"] == nil {
            // Revenue and logins without an id belong to no profile.
            guard let id = personID(of: event) else { return [] }
            record["$distinct_id"] = .string(id)
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
