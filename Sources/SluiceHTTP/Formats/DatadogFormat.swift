public import Sluice

/// `/api/v2/logs` of Datadog: each event a log entry whose message is the event's name.
///
/// The entry's attributes are the event's fields, with its id as `event_id`; Datadog does not know a retry.
public struct DatadogFormat: WireFormat {
    private let apiKey: Secret
    private let service: String
    private let tags: String?

    /// - Parameters:
    ///   - apiKey: that of the organization.
    ///   - service: the name of what the events come from.
    ///   - tags: such as `env:prod,version:2`.
    public init(apiKey: String, service: String, tags: String? = nil) {
        self.apiKey = Secret(apiKey)
        self.service = service
        self.tags = tags
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 1_000, bytes: 4_000_000) }
    public var maximumBodyBytes: Int { 5_000_000 }
    /// 1 MB, and the brackets around a single event.
    public var maximumEventBytes: Int { 1_048_576 + 2 }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("api", "v2", "logs")
        request.setHeader("DD-API-KEY", apiKey.text)
        request.setHeader("Content-Type", "application/json")
        var writer = batch.makeWriter()
        writer.raw("[")
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            write(try line.event(), to: &writer)
        }
        writer.raw("]")
        request.body = writer.bytes
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        switch answer.status {
        case 202: .all(.accepted)
        case 200...299: .all(HTTPAnswer.foreign("Datadog"))
        default: .all(answer.verdict)
        }
    }

    private func write(_ event: Event, to writer: inout JSONWriter) {
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

extension WireFormat where Self == DatadogFormat {
    /// Log entries for Datadog. All parameters are those of ``DatadogFormat/init(apiKey:service:tags:)``; the URL is
    /// `https://http-intake.logs.datadoghq.com`, or that of another site.
    public static func datadog(apiKey: String, service: String, tags: String? = nil) -> DatadogFormat {
        DatadogFormat(apiKey: apiKey, service: service, tags: tags)
    }
}
