public import Sluice

/// `/loki/api/v1/push` of Grafana Loki: one stream, each event a line of JSON with its id as structured metadata.
///
/// Loki knows a retry by time, line and labels, all of which stay the same.
public struct LokiFormat: WireFormat {
    private let labels: [String: String]
    private let tenant: String?

    /// - Parameters:
    ///   - labels: of the stream, at most 15. Each combination of values is a stream of its own to Loki, so they
    ///     are for the app and its environment, never for persons. There must be one: none becomes `app="sluice"`.
    ///   - tenant: the `X-Scope-OrgID` of a Loki with several tenants.
    public init(labels: [String: String], tenant: String? = nil) {
        self.labels = labels.isEmpty ? ["app": "sluice"] : labels
        self.tenant = tenant
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 1_000_000) }
    public var maximumBodyBytes: Int { 4_000_000 }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
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

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        switch answer.status {
        case 204: .all(.accepted)
        case 260: .all(.hold("Loki takes nothing in at present (HTTP 260)"))
        case 200...299: .all(HTTPAnswer.foreign("Loki"))
        default: .all(answer.verdict)
        }
    }
}

extension WireFormat where Self == LokiFormat {
    /// Log lines for Loki. All parameters are those of ``LokiFormat/init(labels:tenant:)``; the URL is that of Loki itself.
    public static func loki(labels: [String: String], tenant: String? = nil) -> LokiFormat {
        LokiFormat(labels: labels, tenant: tenant)
    }
}
