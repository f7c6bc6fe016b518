public import Sluice

/// Version 3 of Confluent's REST API for Kafka: a stream of records in, a stream of reports out.
///
/// A record's value is the store's line, its key the distinct id, and a header `event_id` holds the id: Kafka itself does
/// not know a retry. Credentials go into the transport's headers.
public struct KafkaV3Format: WireFormat {
    private let cluster: String
    private let topic: String

    /// - Parameters:
    ///   - cluster: the id of the cluster.
    ///   - topic: the name of the topic.
    public init(cluster: String, topic: String) {
        self.cluster = cluster
        self.topic = topic
    }

    /// As many as have their reports in the 64 KiB that are read of an answer.
    public var maximumBatchSize: BatchSize { BatchSize(events: 100, bytes: 800_000) }
    public var maximumBodyBytes: Int { 1_000_000 }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v3", "clusters", cluster, "topics", topic, "records")
        request.setHeader("Content-Type", "application/json")
        var writer = batch.makeWriter()
        for line in batch.events {
            writer.raw("{")
            if let key = try line.event().distinctID {
                writer.raw(#""key":{"type":"STRING","data":"#)
                writer.string(key)
                writer.raw("},")
            }
            writer.raw(#""value":{"type":"JSON","data":"#)
            writer.raw(line.bytes)
            writer.raw(#"},"headers":[{"name":"event_id","value":"#)
            writer.string(try line.canonicalID().description.base64)
            writer.raw("}]}\n")
        }
        request.body = writer.bytes
    }

    /// The reports come in the order of the records. An answer that ends before all have theirs leaves the rest in doubt.
    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        guard (200...299).contains(answer.status) else { return .all(answer.verdict) }
        let reports = ConcatenatedJSON.objects(in: answer.body)
        guard reports.count <= batch.events.count else { return .all(.retry(after: nil)) }
        let findings = reports.map(finding)
        let missing = repeatElement(Finding.retry, count: batch.events.count - findings.count)
        return .weighing(findings + missing, retryAfter: answer.retryAfter)
    }

    /// Codes are statuses as of HTTP, some with two digits more, such as 50003.
    private func finding(of report: Properties) -> Finding {
        guard let code = report["error_code"]?.asInt else { return .retry }
        return Finding(status: code >= 10_000 ? code / 100 : code, of: "Kafka")
    }
}

extension WireFormat where Self == KafkaV3Format {
    /// Records for a topic by version 3 of the REST API. All parameters are those of ``KafkaV3Format/init(cluster:topic:)``;
    /// the URL is that of the API, which ends with `/kafka` at Confluent Cloud and at a REST Proxy within a broker.
    public static func kafkaV3(cluster: String, topic: String) -> KafkaV3Format {
        KafkaV3Format(cluster: cluster, topic: topic)
    }
}
