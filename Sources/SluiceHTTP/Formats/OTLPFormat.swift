public import Sluice

/// OpenTelemetry's logs over HTTP as JSON (`/v1/logs`): each event a log record with an `eventName`.
///
/// Properties are attributes, and so are `event.id`, `distinct_id`, `anonymous_id` and `login_id`. The URL is that of the
/// collector. A receiver that takes only a part of the records does not say which: then as many of the last events as
/// it refused are given up, so that the counts are right. Refused all of them, they are sent in parts instead.
public struct OTLPFormat: WireFormat {
    private let service: String
    private static let names: Set<String> = ["event.id", "distinct_id", "anonymous_id", "login_id"]

    /// - Parameter service: the resource's `service.name`.
    public init(service: String) {
        self.service = service
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 2_000_000) }
    public var maximumBodyBytes: Int { 20_000_000 }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v1", "logs")
        request.setHeader("Content-Type", "application/json")
        var writer = batch.makeWriter()
        writer.raw(#"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"#)
        writer.string(service)
        writer.raw(#"}}]},"scopeLogs":[{"scope":{"name":"Sluice"},"logRecords":["#)
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            OTLPFormat.write(try line.event(), to: &writer)
        }
        writer.raw("]}]}]}")
        request.body = writer.bytes
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        guard (200...299).contains(answer.status) else { return .all(answer.verdict) }
        guard let object = answer.jsonObject else { return .all(.retry(after: nil)) }
        guard let refused = object["partialSuccess"]?.asObject?["rejectedLogRecords"] else { return .all(.accepted) }
        let count = batch.events.count
        guard let number = refused.asInt, (0...count).contains(number) else { return .all(.retry(after: nil)) }
        guard number < count else { return .all(.split(.refused("the OTLP receiver refused the record"))) }
        let reason = "the OTLP receiver refused \(number) of \(count) records, and does not say which"
        return .each((0..<count).map { $0 < count - number ? .accepted : .rejected(reason) })
    }

    private static func write(_ event: Event, to writer: inout JSONWriter) {
        writer.raw(#"{"timeUnixNano":"#)
        writer.unixNanoseconds(event.time)
        writer.raw(#","observedTimeUnixNano":"#)
        writer.unixNanoseconds(event.time)
        writer.raw(#","severityNumber":9,"eventName":"#)
        writer.string(event.name)
        writer.raw(#","body":{"stringValue":"#)
        writer.string(event.name)
        writer.raw(#"},"attributes":[{"key":"event.id","value":{"stringValue":"#)
        writer.string(event.id.description)
        writer.raw("}}")
        for (name, id) in [
            ("distinct_id", event.distinctID), ("anonymous_id", event.anonymousID), ("login_id", event.loginID),
        ] {
            guard let id else { continue }
            writer.raw(",")
            writer.otlpPair(name, .string(id))
        }
        for property in event.properties {
            writer.raw(",")
            writer.otlpPair(property.outerName(beside: names), property.value)
        }
        writer.raw("]}")
    }
}

extension WireFormat where Self == OTLPFormat {
    /// Log records for an OpenTelemetry collector, by the name of the service that they come from.
    public static func otlp(service: String) -> OTLPFormat { OTLPFormat(service: service) }
}
