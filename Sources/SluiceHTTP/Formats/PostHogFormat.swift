public import Sluice

/// `/batch` of PostHog.
///
/// The event's id is the `uuid`, by which PostHog knows a retry, together with name, time and person. While the project's
/// quota is used up, PostHog drops events behind a status 200: they are held here instead, within the store's limits.
public struct PostHogFormat: WireFormat {
    private let apiKey: Secret

    /// - Parameter apiKey: that of the project, `phc_…`.
    public init(apiKey: String) {
        self.apiKey = Secret(apiKey)
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 5_000_000) }
    public var maximumBodyBytes: Int { 20_000_000 }
    /// 1 MB, and room for the envelope around a single event.
    public var maximumEventBytes: Int { 1_048_576 + 1_024 }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("batch")
        request.setHeader("Content-Type", "application/json")
        var writer = batch.makeWriter()
        writer.raw(#"{"api_key":"#)
        writer.string(apiKey.text)
        writer.raw(#","historical_migration":false,"sent_at":"#)
        writer.isoTime(request.sendTime)
        writer.raw(#","batch":["#)
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            PostHogFormat.write(try line.event(), to: &writer)
        }
        writer.raw("]}")
        request.body = writer.bytes
    }

    /// The body's status is 1, or `Ok` by newer servers.
    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        guard (200...299).contains(answer.status) else { return .all(answer.verdict) }
        guard let object = answer.jsonObject, [1, "Ok", "ok"].contains(object["status"]) else {
            return .all(.retry(after: nil))
        }
        // Other things than events, such as recordings, have quotas too.
        if object["quota_limited"]?.asArray?.contains("events") == true {
            return .all(.hold("PostHog drops events, as the project's quota is used up"))
        }
        return .all(.accepted)
    }

    private static func write(_ event: Event, to writer: inout JSONWriter) {
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

extension WireFormat where Self == PostHogFormat {
    /// Events for PostHog, by the project's API key. The URL is `https://us.i.posthog.com`, that of the EU, or an own one.
    public static func postHog(apiKey: String) -> PostHogFormat { PostHogFormat(apiKey: apiKey) }
}
