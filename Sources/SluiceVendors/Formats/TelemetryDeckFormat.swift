import SluiceHTTP

/// `/v2/` of TelemetryDeck. A person is a SHA-256 of the id and the salt.
///
/// Sources: "Ingest API v2" of telemetrydeck.com, and TelemetryDeck's Swift SDK for `receivedAt` and its own names.
struct TelemetryDeckFormat: WireFormat {
    let appID: String
    let namespace: String?
    let salt: String
    let isTestMode: Bool

    var maximumBatchSize: BatchSize { BatchSize(events: 100, bytes: 1_000_000) }

    func validate() throws(SluiceError) {
        try ArgumentCheck.key("appID", appID)
        try ArgumentCheck.name("namespace", namespace)
        if !salt.isEmpty { try ArgumentCheck.text("salt", salt) }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if let namespace {
            request.appendPath("v2", "namespace", namespace, replacing: ["v1", "v2"])
        } else if !request.url.split(separator: "/").contains("namespace") {
            request.appendPath("v2", replacing: ["v1"])
        }
        request.closePath()
        try request.setJSON(for: batch, as: "application/json; charset=utf-8") { json in
            try json.objects(batch.events) { write(try $1.vendorRecord(), to: &$0) }
        }
    }

    private func write(_ event: Event, to json: inout JSONWriter) {
        json["appID"] = appID
        json["clientUser"] = sha256(Array((event.anyDistinctID + salt).utf8)).hexadecimal
        json["sessionID"] = event.properties["$session_id"]?.string
        // Seconds, as the vendor's SDK writes them.
        json["receivedAt"] = String(event.time.description.prefix(19)) + "+0000"
        if isTestMode { json["isTestMode"] = true }
        var payload: Properties = ["Sluice.eventID": .string(event.id.description)]
        var type = event.name
        var rest = event.properties
        switch Verb(event) {
        case .screen(let name):
            type = "TelemetryDeck.Navigation.pathChanged"
            payload["TelemetryDeck.Navigation.schemaVersion"] = "1"
            payload["TelemetryDeck.Navigation.destinationPath"] = .string(name)
        case .revenue(let revenue):
            type = "TelemetryDeck.Purchase.completed"
            payload["TelemetryDeck.Purchase.currencyCode"] = revenue.currencyCode.map { .string($0) }
            payload["TelemetryDeck.Purchase.productID"] = revenue.productID.map { .string($0) }
            rest = revenue.properties
            // Its reports expect US dollars. The host's own value takes precedence.
            let isReported = revenue.currencyCode ?? "USD" == "USD" && (rest["floatValue"] ?? .null) == .null
            rest[isReported ? "floatValue" : "$amount"] = .double(revenue.amount)
        default: break
        }
        if let value = rest["floatValue"], value.double != nil {
            json["floatValue"] = value
            rest["floatValue"] = nil
        }
        json["type"] = type
        rest.removeAll { $0.value == .null || $0.name == "$session_id" && $0.value.string != nil }
        payload.merge(
            Properties(
                rest.map { property in
                    let name = Self.names[property.name].flatMap { rest[$0] == nil ? $0 : nil }
                    return (name ?? property.name, property.value)
                }))
        json.object("payload") { json in
            for property in payload {
                // Not as a property, because a long text of a list would be cut.
                switch property.value {
                case .array, .object: json[property.name] = property.value.text
                default: json[property.name] = property.value
                }
            }
        }
    }

    /// The vendor's names for automatic properties.
    private static let names = [
        "$app_version": "TelemetryDeck.AppInfo.version", "$app_build": "TelemetryDeck.AppInfo.buildNumber",
        "$model": "TelemetryDeck.Device.modelName", "$os": "TelemetryDeck.Device.operatingSystem",
        "$architecture": "TelemetryDeck.Device.architecture", "$timezone": "TelemetryDeck.Device.timeZone",
        "$locale": "TelemetryDeck.RunContext.locale", "$lib": "TelemetryDeck.SDK.name",
        "$lib_version": "TelemetryDeck.SDK.version",
    ]
}
