public import Sluice

/// Version 2 of Confluent's REST Proxy for Kafka, which Redpanda and Karapace speak too.
///
/// A record's value is the store's line, its key the distinct id: a person's events stay in order, in one partition. Kafka
/// does not know a retry; let consumers know events by their `id`.
public struct KafkaFormat: WireFormat {
    private let topic: String

    /// - Parameter topic: its name.
    public init(topic: String) {
        self.topic = topic
    }

    /// As many as have their results in the 64 KiB that are read of an answer.
    public var maximumBatchSize: BatchSize { BatchSize(events: 250, bytes: 800_000) }
    public var maximumBodyBytes: Int { 1_000_000 }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("topics", topic)
        request.setHeader("Content-Type", "application/vnd.kafka.json.v2+json")
        request.setHeader("Accept", "application/vnd.kafka.v2+json")
        var writer = batch.makeWriter()
        writer.raw(#"{"records":["#)
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            writer.raw(#"{"key":"#)
            writer.value(try line.event().distinctID.map { .string($0) } ?? .null)
            writer.raw(#","value":"#)
            writer.raw(line.bytes)
            writer.raw("}")
        }
        writer.raw("]}")
        request.body = writer.bytes
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        guard (200...299).contains(answer.status) else { return .all(answer.verdict) }
        guard let offsets = answer.jsonObject?["offsets"]?.asArray, offsets.count == batch.events.count else {
            return .all(.retry(after: nil))
        }
        return .weighing(offsets.map(finding), retryAfter: answer.retryAfter)
    }

    /// 1 is an error that a retry does not mend, 2 one that it may.
    private func finding(of offset: PropertyValue) -> Finding {
        guard let offset = offset.asObject else { return .retry }
        return switch offset["error_code"] {
        case nil, .some(.null): offset["offset"]?.asInt == nil ? .retry : .accepted
        case .some(.int(1)): .refused("Kafka refused the record")
        default: .retry
        }
    }
}

extension WireFormat where Self == KafkaFormat {
    /// Records for a topic by version 2 of the REST Proxy, whose URL is that of the proxy.
    public static func kafka(topic: String) -> KafkaFormat { KafkaFormat(topic: topic) }
}
