import Sluice

/// `/api/v2/logs` of Datadog.
struct DatadogFormat: WireFormat {
    let apiKey: String
    let service: String
    let tags: String?

    var maximumBatchSize: BatchSize { BatchSize(events: 1_000, bytes: 4_000_000) }
    var maximumBodyBytes: Int { 5_000_000 }
    /// 1 MB, plus the brackets.
    var maximumEventBytes: Int { 1_048_576 + 2 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) {
        try ArgumentCheck.key("apiKey", apiKey)
        try ArgumentCheck.text("service", service)
        try ArgumentCheck.text("tags", tags)
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("api", "v2", "logs", replacing: ["api/v1/input", "v1/input"])
        request.setHeader("DD-API-KEY", apiKey)
        try request.setJSON(for: batch) { json in
            try json.objects(batch.events) { write(try $1.record(), to: &$0) }
        }
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        .all(response.verdict(confirmedBy: 202, of: "Datadog"))
    }

    private func write(_ event: Event, to json: inout JSONWriter) {
        json["ddsource"] = "sluice"
        json["service"] = service
        json["ddtags"] = tags
        json["timestamp"] = .int(event.time.milliseconds)
        json["message"] = event.name
        json["event_id"] = event.id.description
        json["distinct_id"] = event.distinctID
        json["anonymous_id"] = event.anonymousID
        json["login_id"] = event.loginID
        json.object("properties", event.properties)
    }
}
