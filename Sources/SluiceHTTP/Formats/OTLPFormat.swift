import Sluice

/// OpenTelemetry's logs over HTTP with JSON (`/v1/logs`).
struct OTLPFormat: WireFormat {
    let service: String
    private static let names: Set<String> = ["event.id", "distinct_id", "anonymous_id", "login_id"]

    init(service: String) {
        self.service = service
    }

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 2_000_000) }
    var maximumBodyBytes: Int { 20_000_000 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v1", "logs")
        var writer = batch.makeWriter()
        writer.raw(#"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"#)
        writer.string(service)
        writer.raw(#"}}]},"scopeLogs":[{"scope":{"name":"Sluice"},"logRecords":["#)
        try writer.events(of: batch, Self.write)
        writer.raw("]}]}]}")
        request.setJSON(writer)
    }

    /// The receiver returns how many records it rejected, but not which. A retry isn't allowed. Reject as many of the last
    /// events, so that the counts are right.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        guard let object = response.jsonObject else { return .all(.retry(after: nil)) }
        guard let rejected = object["partialSuccess"]?.asObject?["rejectedLogRecords"] else { return .all(.accepted) }
        let count = batch.events.count
        guard let number = rejected.asInt, (0...count).contains(number) else { return .all(.retry(after: nil)) }
        let reason = "the OTLP receiver rejected \(number) of \(count) records without saying which"
        return .each((0..<count).map { $0 < count - number ? .accepted : .rejected(reason) })
    }

    private static func write(_ writer: inout JSONWriter, _ event: Event) {
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

extension JSONWriter {
    /// A `KeyValue` of OTLP.
    fileprivate mutating func otlpPair(_ name: String, _ value: PropertyValue) {
        raw(#"{"key":"#)
        string(name)
        raw(#","value":"#)
        otlpValue(value)
        raw("}")
    }

    /// An `AnyValue`: integers as strings, dates in ISO 8601, and null as an empty object.
    private mutating func otlpValue(_ value: PropertyValue) {
        raw("{")
        switch value {
        case .string(let string):
            raw(#""stringValue":"#)
            self.string(string)
        case .int(let int):
            raw(#""intValue":"#)
            string(String(int))
        case .double(let double):
            raw(#""doubleValue":"#)
            number(double)
        case .bool:
            raw(#""boolValue":"#)
            self.value(value)
        case .date(let date):
            raw(#""stringValue":"#)
            isoTime(date)
        case .array(let array):
            raw(#""arrayValue":{"values":["#)
            list(array) { $0.otlpValue($1) }
            raw("]}")
        case .object(let object):
            raw(#""kvlistValue":{"values":["#)
            list(object) { $0.otlpPair($1.name, $1.value) }
            raw("]}")
        case .null: break
        }
        raw("}")
    }
}
