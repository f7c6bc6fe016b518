public import Sluice

/// `_bulk` of Elasticsearch and OpenSearch: each event a document with a verdict of its own.
///
/// A document is the store's line with an `@timestamp` in front, as data streams want it. Its `_id` is the event's, and
/// `create` refuses an id that is there already: a retry doubles nothing. The URL is that of the cluster; credentials go
/// into the transport's headers.
public struct ElasticsearchFormat: WireFormat {
    private let index: String

    /// - Parameter index: the name of an index, an alias or a data stream.
    public init(index: String) {
        self.index = index
    }

    /// As many as have their results in the 64 KiB that are read of an answer, even if all are refused.
    public var maximumBatchSize: BatchSize { BatchSize(events: 500, bytes: 10_000_000) }
    public var maximumBodyBytes: Int { 90_000_000 }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath(index, "_bulk")
        request.appendQuery("filter_path", "errors,items.*.status")
        request.setHeader("Content-Type", "application/x-ndjson")
        var writer = batch.makeWriter()
        for line in batch.events {
            writer.raw(#"{"create":{"_id":"#)
            writer.string(try line.canonicalID().description)
            writer.raw("}}\n{\"@timestamp\":")
            writer.isoTime(try line.event().time)
            writer.raw(",")
            writer.raw(line.bytes.dropFirst())
            writer.raw("\n")
        }
        request.body = writer.bytes
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        guard answer.status == 200 else {
            return .all((200...299).contains(answer.status) ? .retry(after: nil) : answer.verdict)
        }
        guard let items = answer.jsonObject?["items"]?.asArray, items.count == batch.events.count else {
            return .all(.retry(after: nil))
        }
        return .weighing(items.map(finding), retryAfter: answer.retryAfter)
    }

    private func finding(of item: PropertyValue) -> Finding {
        guard let status = item.asObject?["create"]?.asObject?["status"]?.asInt else { return .retry }
        return status == 409 ? .duplicate : Finding(status: status, of: "Elasticsearch")
    }
}

extension WireFormat where Self == ElasticsearchFormat {
    /// Documents for an index, an alias or a data stream of Elasticsearch or OpenSearch, by its name.
    public static func elasticsearch(index: String) -> ElasticsearchFormat {
        ElasticsearchFormat(index: index)
    }
}
