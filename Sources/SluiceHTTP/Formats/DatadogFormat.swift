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

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("api", "v2", "logs")
        request.setHeader("DD-API-KEY", apiKey)
        var writer = batch.makeWriter()
        writer.raw("[")
        try writer.events(of: batch, write)
        writer.raw("]")
        request.setJSON(writer)
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        switch response.status {
        case 202: .all(.accepted)
        case 200...299: .all(.unrecognized("Datadog"))
        default: .all(response.verdict)
        }
    }

    private func write(_ writer: inout JSONWriter, _ event: Event) {
        writer.raw(#"{"ddsource":"sluice","service":"#)
        writer.string(service)
        writer.optionalString("ddtags", tags)
        writer.raw(#","timestamp":"#)
        writer.integer(event.time.milliseconds)
        writer.raw(#","message":"#)
        writer.string(event.name)
        writer.raw(#","event_id":"#)
        writer.string(event.id.description)
        writer.optionalString("distinct_id", event.distinctID)
        writer.optionalString("anonymous_id", event.anonymousID)
        writer.optionalString("login_id", event.loginID)
        writer.raw(#","properties":"#)
        writer.object(event.properties)
        writer.raw("}")
    }
}
