import Sluice

/// Version 3 of Confluent's REST API for Kafka: a stream of records, and a stream of reports in the response.
struct KafkaV3Format: WireFormat {
    let cluster: String
    let topic: String

    /// The reports fit into the 64 KiB that are read of a response.
    var maximumBatchSize: BatchSize { BatchSize(events: 100, bytes: 800_000) }
    var maximumBodyBytes: Int { 1_000_000 }

    func validate() throws(SluiceError) {
        try ArgumentCheck.name("cluster", cluster)
        try ArgumentCheck.name("topic", topic, limit: 249)
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v3", "clusters", cluster, "topics", topic, "records")
        try request.setJSON(for: batch) { json in
            for line in batch.events {
                let key = try line.person()
                let id = HTTPEncoding.base64(try line.canonicalID().description.utf8)
                json.object {
                    if let key { $0.object("key", ["type": "STRING", "data": .string(key)]) }
                    $0.object("value") {
                        $0["type"] = "JSON"
                        $0.raw("data", line.json)
                    }
                    $0["headers"] = [["name": "event_id", "value": .string(id)]]
                }
                json.raw("\n")
            }
        }
    }

    /// The reports are in the order of the records. If some are missing, the results of the last records are unknown.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        let reports = response.jsonObjects
        let later = Verdict.retry(after: response.retryAfter)
        guard reports.count <= batch.events.count else { return .all(later) }
        let results = reports.map { report -> Verdict in
            guard let code = report["error_code"]?.asInt else { return later }
            // A status, or a status with two more digits such as 50003.
            return Verdict(status: code >= 10_000 ? code / 100 : code, of: "Kafka", retryAfter: response.retryAfter)
                .saying(report["message"]?.string, code >= 10_000 ? code / 100 : code)
        }
        return .results(results + repeatElement(later, count: batch.events.count - results.count))
    }
}
