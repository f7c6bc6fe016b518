import Sluice

/// `/loki/api/v1/push` of Grafana Loki, which recognizes retries by time, line and labels.
struct LokiFormat: WireFormat {
    private let labels: [String: String]
    private let tenant: String?

    init(labels: [String: String], tenant: String?) {
        // Loki requires a label.
        self.labels = labels.isEmpty ? ["app": "sluice"] : labels
        self.tenant = tenant
    }

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 1_000_000) }
    var maximumBodyBytes: Int { 4_000_000 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("loki", "api", "v1", "push")
        request.setHeader("Content-Type", "application/json")
        if let tenant { request.setHeader("X-Scope-OrgID", tenant) }
        var writer = batch.makeWriter()
        writer.raw(#"{"streams":[{"stream":"#)
        writer.object(Properties(labels.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
        writer.raw(#","values":["#)
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            writer.raw("[")
            writer.unixNanoseconds(try line.event().time)
            writer.raw(",")
            writer.string(String(decoding: line.bytes, as: UTF8.self))
            writer.raw(#",{"event_id":"#)
            writer.string(try line.canonicalID().description)
            writer.raw("}]")
        }
        writer.raw("]}]}")
        request.body = writer.bytes
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        switch response.status {
        case 204: .all(.accepted)
        case 260: .all(.hold("Loki's ingestion is blocked (HTTP 260)"))
        case 200...299: .all(.unrecognized("Loki"))
        default: .all(response.verdict)
        }
    }
}
