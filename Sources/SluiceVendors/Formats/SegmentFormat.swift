import SluiceHTTP

/// `/v1/batch` of Segment, RudderStack and compatible servers. The event's id is the `messageId`.
struct SegmentFormat: WireFormat {
    let writeKey: String
    /// Whether each event has an `originalTimestamp` and a `sentAt`, from which RudderStack corrects a wrong clock. It
    /// doesn't correct a `timestamp`.
    var isRudderStack = false
    /// Of this format, as one for each instance of a Segment SDK.
    var instanceID = EventID.random(PipelineEnvironment.systemRandom)

    var maximumBatchSize: BatchSize { BatchSize(events: 2_500, bytes: maximumBodyBytes / 5 * 4) }
    /// RudderStack's servers accept 4,000 KiB, for a batch and for an event: `Gateway.maxReqSizeInKB`.
    var maximumBodyBytes: Int { isRudderStack ? 4_096_000 : 500_000 }
    /// Segment: 32 KB, plus the envelope.
    var maximumEventBytes: Int { isRudderStack ? maximumBodyBytes : 32_768 + 48 }
    var acceptsGzip: Bool { true }

    private static let otherPaths = [
        "b", "import", "identify", "i", "track", "t", "page", "p", "screen", "s", "group", "g", "alias", "a",
    ].map { "v1/" + $0 }

    func validate() throws(SluiceError) {
        try ArgumentCheck.key("writeKey", writeKey)
        try ArgumentCheck.user("writeKey", writeKey)
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v1", "batch", replacing: Self.otherPaths)
        request.setBasicAuthorization(user: writeKey, password: "")
        if request.retryCount > 0 { request.setHeader("X-Retry-Count", String(request.retryCount)) }
        let sendTime = request.sendTime.description
        try request.setJSONObject(for: batch) {
            try $0.objects("batch", batch.events) {
                var event = try $1.vendorRecord()
                VendorNames.application.apply(to: &event)
                write(event, to: &$0)
                $0[isRudderStack ? "originalTimestamp" : "timestamp"] = event.time.description
                if isRudderStack { $0["sentAt"] = sendTime }
            }
            $0["sentAt"] = sendTime
        }
    }

    /// Segment returns `{"success":true}`, RudderStack `OK`, and others an empty body.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        if response.status == 429, response.retryAfter == nil { return .all(.retry(after: response.rateLimitReset())) }
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        let object = response.jsonObject
        if object?["success"] == true, object?["error"] == nil { return .all(.accepted) }
        if Self.isOfSegment(response.url) { return .all(.retry(after: nil)) }
        let text = response.body.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        if response.isComplete, text.isEmpty || text.elementsEqual("OK".utf8) { return .all(.accepted) }
        let isFailure = ["success", "message", "error", "errors", "code"].contains { object?[$0] != nil }
        let isFine = ["ok", "status"].allSatisfy { [nil, true, "ok", "success", 200].contains(object?[$0]) }
        return .all(object != nil && !isFailure && isFine ? .accepted : .retry(after: nil))
    }

    private static func isOfSegment(_ url: String) -> Bool {
        let host = url.split(separator: "/").dropFirst().first?.prefix { $0 != ":" && $0 != "?" }.lowercased() ?? ""
        return ["segment.io", "segmentapis.com"].contains { host == $0 || host.hasSuffix("." + $0) }
    }

    private func write(_ event: Event, to json: inout JSONWriter) {
        let verb = Verb(event)
        json["type"] = Self.type(of: verb)
        json["messageId"] = event.id.description
        json["anonymousId"] = event.deviceID
        json["userId"] = event.userID
        // RudderStack has them in the context.
        let traits = verb.traits(of: event)
        if !isRudderStack, !traits.isEmpty { json.object("traits", traits) }
        switch verb {
        case .signUp, .switchUser, .set: break
        case .alias(let previousID):
            // Segment requires a user id here.
            if event.userID == nil { json["userId"] = event.anyDistinctID }
            json["previousId"] = previousID
        case .group(let type, let id, var traits):
            json["groupId"] = id
            // Segment has no field for the type.
            if traits["groupType"] == nil { traits["groupType"] = .string(type) }
            json.object("traits", traits)
        case .screen(let name):
            json["name"] = name
            json.object("properties", event.properties, without: SegmentContext.propertiesOfScreen)
        case .revenue(let revenue):
            json["event"] = Revenue.orderName
            json.object("properties", revenue.order(of: event), without: SegmentContext.properties)
        case .track, .setOnce, .increment, .append, .unset, .delete:
            json["event"] = event.name
            json.object("properties", event.properties, without: SegmentContext.properties)
        }
        json.object("context") {
            SegmentContext.write(event, verb, to: &$0)
            if isRudderStack {
                if !traits.isEmpty { $0.object("traits", traits) }
                $0["sessionId"] = event.sessionStart.map { .int($0.milliseconds / 1_000) }
            } else {
                $0["instanceId"] = instanceID.description
            }
        }
        if isRudderStack { json["channel"] = HTTPFormat.runsOnDevice ? "mobile" : "server" }
    }

    private static func type(of verb: Verb) -> String {
        switch verb {
        case .signUp, .switchUser, .set: "identify"
        case .alias: "alias"
        case .group: "group"
        case .screen: "screen"
        case .track, .setOnce, .increment, .append, .unset, .delete, .revenue: "track"
        }
    }
}

/// Segment's `context`, from the automatic properties.
private enum SegmentContext {
    /// The properties that are sent in the context instead.
    static let properties = NameSet(names)

    /// The same for a screen, whose name is a field.
    static let propertiesOfScreen = NameSet(names + ["$screen_name"])

    private static let names = [
        "$lib", "$lib_version", "$app_name", "$app_version", "$app_build", "$app_id", "$manufacturer", "$model", "$os",
        "$os_version", "$locale", "$timezone", "$screen_width", "$screen_height", "$wifi", "$carrier",
    ]

    static func write(_ event: Event, _ verb: Verb, to json: inout JSONWriter) {
        let properties = event.properties
        json.object("library") {
            $0["name"] = properties["$lib"] ?? .string(LibraryVersion.name)
            $0["version"] = properties["$lib_version"] ?? .string(LibraryVersion.current)
        }
        if case .group = verb {} else { json["groupId"] = event.groups.first?.value }
        object(
            "app",
            ["name": "$app_name", "version": "$app_version", "build": "$app_build", "namespace": "$app_id"],
            of: properties, to: &json)
        if event.anonymousID != nil || properties["$manufacturer"] != nil || properties["$model"] != nil {
            json.object("device") {
                $0["id"] = properties["$device_id"]?.string ?? event.anonymousID
                $0["manufacturer"] = properties["$manufacturer"]
                $0["model"] = properties["$model"]
                $0["type"] = properties["$os"]?.string?.lowercased()
            }
        }
        object("os", ["name": "$os", "version": "$os_version"], of: properties, to: &json)
        object("screen", ["width": "$screen_width", "height": "$screen_height"], of: properties, to: &json)
        json["locale"] = properties["$locale"]
        json["timezone"] = properties["$timezone"]
        // The type itself stays a property, because these fields can't have each one.
        let type = ["wifi", "cellular", "ethernet"].first { properties["$network_type"] == .string($0) }
        var network: Properties = [:]
        network["wifi"] = properties["$wifi"] ?? type.map { .bool($0 == "wifi") }
        network["cellular"] = type.map { .bool($0 == "cellular") }
        network["carrier"] = properties["$carrier"]
        if !network.isEmpty { json.object("network", network) }
    }

    /// Writes an object with the properties that the event has. Writes nothing if the event has none of them.
    private static func object(
        _ name: String, _ members: KeyValuePairs<String, String>, of properties: Properties, to json: inout JSONWriter
    ) {
        let found = Properties(members.compactMap { member in properties[member.value].map { (member.key, $0) } })
        if !found.isEmpty { json.object(name, found) }
    }
}
