import Sluice

/// OpenTelemetry's logs over HTTP with JSON (`/v1/logs`).
struct OTLPFormat: WireFormat {
    let service: String
    private static let names: Set<String> = ["event.id", "distinct_id", "anonymous_id", "login_id"]

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 2_000_000) }
    var maximumBodyBytes: Int { 20_000_000 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) { try ArgumentCheck.text("service", service) }

    /// Events in a row with the same app, system and device share a resource.
    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v1", "logs")
        var resources: [(attributes: Properties, events: [Event])] = []
        for line in batch.events {
            let event = try line.record()
            let attributes = resource(of: event)
            if resources.last?.attributes == attributes {
                resources[resources.count - 1].events.append(event)
            } else {
                resources.append((attributes, [event]))
            }
        }
        request.setJSONObject(for: batch) {
            $0.objects("resourceLogs", resources) { json, resource in
                json.object("resource") { $0.attributes(resource.attributes) }
                json.objects("scopeLogs", [resource.events]) {
                    $0.object("scope", Self.scope)
                    $0.objects("logRecords", $1) { Self.write($1, to: &$0) }
                }
            }
        }
    }

    private static let scope: Properties = [
        "name": .string(LibraryVersion.name), "version": .string(LibraryVersion.current),
    ]

    /// The names of OpenTelemetry's conventions for automatic properties, which describe the source of the events.
    private static let resourceNames: KeyValuePairs = [
        "$app_version": "service.version", "$app_build": "app.build_id", "$os_name": "os.name",
        "$os_version": "os.version", "$manufacturer": "device.manufacturer", "$model": "device.model.identifier",
        "$host_name": "host.name", "$architecture": "host.arch",
    ]

    private static let resourceProperties = NameSet(resourceNames.map(\.key))

    private func resource(of event: Event) -> Properties {
        var attributes: Properties = [
            "service.name": .string(service), "telemetry.sdk.name": .string(LibraryVersion.name),
            "telemetry.sdk.language": "swift", "telemetry.sdk.version": .string(LibraryVersion.current),
        ]
        for (name, attribute) in Self.resourceNames { attributes[attribute] = event.properties[name] }
        return attributes
    }

    /// Reads the number of rejected records. The receiver doesn't name them, and doesn't allow a retry. To keep the
    /// counts right, as many of the last events are rejected.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        // Loki's endpoint returns 204.
        if response.isComplete, response.body.isEmpty { return .all(.accepted) }
        guard let object = response.jsonObject else { return .all(.retry(after: nil)) }
        if object.isEmpty { return .all(.accepted) }
        // Another member is that of an error or of another server.
        guard let partial = object["partialSuccess"]?.object else { return .all(.retry(after: nil)) }
        guard let rejected = partial["rejectedLogRecords"] else { return .all(.accepted) }
        let count = batch.events.count
        guard let number = rejected.asInt, (0...count).contains(number) else { return .all(.retry(after: nil)) }
        let reason = "the OTLP receiver rejected \(number) of \(count) records without saying which"
        return .each((0..<count).map { $0 < count - number ? .accepted : .rejected(reason: reason) })
    }

    private static func write(_ event: Event, to json: inout JSONWriter) {
        let time = event.time.nanoseconds
        json["timeUnixNano"] = time
        json["observedTimeUnixNano"] = time
        json["severityNumber"] = 9
        json["eventName"] = event.name
        json["body"] = ["stringValue": .string(event.name)]
        let ids: [(String, String?)] = [
            ("event.id", event.id.description), ("distinct_id", event.distinctID),
            ("anonymous_id", event.anonymousID), ("login_id", event.loginID),
        ]
        let own = ids.compactMap { name, id in id.map { Property(name, .string($0)) } }
        let rest = event.properties.filter { !resourceProperties.contains($0.name) }
        json.attributes(own + rest.map { Property($0.outerName(beside: names), $0.value) })
    }
}

extension JSONWriter {
    /// Writes a list with a `KeyValue` of OTLP for each property.
    fileprivate mutating func attributes(_ properties: some Sequence<Property>, as name: String = "attributes") {
        objects(name, properties) { json, property in
            json["key"] = property.name
            json.object("value") { $0.anyValue(property.value) }
        }
    }

    /// Writes the members of an `AnyValue`: integers as strings, dates in ISO 8601, and nothing for a null.
    private mutating func anyValue(_ value: PropertyValue) {
        switch value {
        case .string(let string): self["stringValue"] = string
        case .int(let int): self["intValue"] = String(int)
        case .double: self["doubleValue"] = value
        case .bool: self["boolValue"] = value
        case .date(let date): self["stringValue"] = date.description
        case .array(let array): object("arrayValue") { $0.objects("values", array) { $0.anyValue($1) } }
        case .object(let object): self.object("kvlistValue") { $0.attributes(object, as: "values") }
        case .null: break
        }
    }
}
