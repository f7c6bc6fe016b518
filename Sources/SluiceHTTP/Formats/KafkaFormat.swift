import Sluice

/// Version 2 of Confluent's REST Proxy for Kafka.
struct KafkaFormat: WireFormat {
    let topic: String

    /// The results fit into the 64 KiB that are read of a response.
    var maximumBatchSize: BatchSize { BatchSize(events: 250, bytes: 800_000) }
    var maximumBodyBytes: Int { 1_000_000 }

    func validate() throws(SluiceError) { try ArgumentCheck.name("topic", topic, limit: 249) }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("topics", topic)
        try request.setJSONObject(for: batch, as: "application/vnd.kafka.json.v2+json") {
            try $0.objects("records", batch.events) {
                // Redpanda would store a null as the text "null".
                $0["key"] = try $1.person()
                $0.raw("value", $1.json)
            }
        }
        request.setHeader("Accept", "application/vnd.kafka.v2+json")
    }

    /// Reads the results. Confluent's proxy and Karapace return one for each record, in order, and Redpanda returns one
    /// for each partition.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        let later = Verdict.retry(after: response.retryAfter)
        let count = batch.events.count
        guard let offsets = response.jsonObject?["offsets"]?.array, !offsets.isEmpty, offsets.count <= count
        else { return .all(later) }
        let results = offsets.map { Self.verdict(of: $0, later: later) }
        // Even a list as long as the batch can have one result for each partition, in another order.
        let arePartitions = Set(offsets.compactMap { $0.object?["partition"]?.asInt }).count == results.count
        if results.count == count, count == 1 || !arePartitions {
            return .results(zip(results, offsets).map { $0.saying($1.object?["error"]?.string) })
        }
        guard arePartitions else { return .all(later) }
        if results.allSatisfy({ $0 == .accepted }) { return .all(.accepted) }
        return .all(results.contains(Self.refusal) ? .split(reason: "Kafka refused a record") : later)
    }

    private static let refusal = Verdict.rejected(reason: "Kafka refused the record")

    private static func verdict(of result: PropertyValue, later: Verdict) -> Verdict {
        guard let result = result.object else { return later }
        switch result["error_code"] {
        case nil: return result["offset"]?.asInt == nil ? later : .accepted
        // Karapace uses this code for its own timeouts too.
        case .some(.int(1)):
            let reason = result["error"]?.string ?? ""
            return reason.hasPrefix("timed out") || reason == "Publish message cancelled" ? later : refusal
        // Redpanda returns Kafka's codes: a record or a list of records is too large, or a record is invalid.
        case .some(.int(10)), .some(.int(18)), .some(.int(87)): return refusal
        default: return later
        }
    }
}
