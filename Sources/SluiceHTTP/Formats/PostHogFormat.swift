import Sluice

/// `/batch` of PostHog. The event's id is the `uuid`.
struct PostHogFormat: WireFormat {
    let apiKey: String

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 5_000_000) }
    var maximumBodyBytes: Int { 20_000_000 }
    /// 1 MB, plus the envelope.
    var maximumEventBytes: Int { 1_048_576 + 1_024 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("batch")
        var writer = batch.makeWriter()
        writer.raw(#"{"api_key":"#)
        writer.string(apiKey)
        writer.raw(#","historical_migration":false,"sent_at":"#)
        writer.isoTime(request.sendTime)
        writer.raw(#","batch":["#)
        try writer.events(of: batch, Self.write)
        writer.raw("]}")
        request.setJSON(writer)
    }

    /// The body's status is 1, or `Ok` from newer servers.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        guard let object = response.jsonObject, [1, "Ok", "ok"].contains(object["status"]) else {
            return .all(.retry(after: nil))
        }
        // Recordings and others have quotas too.
        if object["quota_limited"]?.asArray?.contains("events") == true {
            return .all(.hold("PostHog drops events, since the project's quota is used up"))
        }
        return .all(.accepted)
    }

    private static func write(_ writer: inout JSONWriter, _ event: Event) {
        writer.raw(#"{"event":"#)
        writer.string(event.name)
        writer.raw(#","distinct_id":"#)
        writer.string(event.anyDistinctID)
        writer.raw(#","uuid":"#)
        writer.string(event.id.description)
        writer.raw(#","properties":"#)
        writer.object(event.properties)
        writer.raw(#","timestamp":"#)
        writer.isoTime(event.time)
        writer.raw("}")
    }
}
