import Sluice

/// Version 2 of Confluent's REST Proxy for Kafka.
struct KafkaFormat: WireFormat {
    let topic: String

    /// The results fit into the 64 KiB that are read of a response.
    var maximumBatchSize: BatchSize { BatchSize(events: 250, bytes: 800_000) }
    var maximumBodyBytes: Int { 1_000_000 }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("topics", topic)
        request.setHeader("Content-Type", "application/vnd.kafka.json.v2+json")
        request.setHeader("Accept", "application/vnd.kafka.v2+json")
        var writer = batch.makeWriter()
        try writer.object {
            try $0.array("records", batch.events) { json, line in
                let key = try line.field("distinct_id") ?? .null
                json.object {
                    $0["key"] = key
                    $0.raw("value", line.bytes)
                }
            }
        }
        request.body = writer.bytes
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        guard let offsets = response.jsonObject?["offsets"]?.asArray, offsets.count == batch.events.count else {
            return .all(.retry(after: nil))
        }
        let later = Verdict.retry(after: response.retryAfter)
        return .results(
            offsets.map { offset in
                guard let offset = offset.asObject else { return later }
                return switch offset["error_code"] {
                case nil, .some(.null): offset["offset"]?.asInt == nil ? later : .accepted
                case .some(.int(1)): .rejected("Kafka refused the record")
                default: later
                }
            })
    }
}
