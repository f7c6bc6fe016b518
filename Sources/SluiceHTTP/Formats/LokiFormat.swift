import Sluice

/// `/loki/api/v1/push` of Grafana Loki, which recognizes retries by time, line and labels.
struct LokiFormat: WireFormat {
    let labels: [String: String]
    let tenant: String?

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 1_000_000) }
    var maximumBodyBytes: Int { 4_000_000 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) {
        try ArgumentCheck.name("tenant", tenant, "!-_.*'()", limit: 150)
        guard labels.count <= 15 else { throw ArgumentCheck.invalid("labels", "has more than 15 labels: use fewer") }
        // The lengths are Loki's defaults, as the number of labels is.
        for (name, value) in labels {
            try ArgumentCheck.name("labels", name, "_", limit: 1_024)
            try ArgumentCheck.text("labels", value)
            if name.utf8.first?.isDigit == true || value.utf8.count > 2_048 {
                throw ArgumentCheck.invalid("labels", "has a name with a digit in front, or a value above 2,048 bytes")
            }
        }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("loki", "api", "v1", "push", replacing: ["api/prom/push"])
        if let tenant { request.setHeader("X-Scope-OrgID", tenant) }
        try request.setJSONObject(for: batch) {
            try $0.objects("streams", [Properties(labels)]) {
                $0.object("stream", $1)
                try $0.array("values", batch.events) { try Self.write($1, to: &$0) }
            }
        }
    }

    private static func write(_ line: EventLine, to json: inout JSONWriter) throws {
        let time = try line.time().nanoseconds
        let id = try line.canonicalID().description
        let text = String(decoding: line.json, as: UTF8.self)
        json.array([.string(time), .string(text), ["event_id": .string(id)]] as [PropertyValue]) { $0.value($1) }
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        switch response.status {
        case 204: .all(.accepted)
        case 260: .all(.hold(reason: "Loki's ingestion is blocked (HTTP 260)"))
        case 200...299: .all(.unrecognized("Loki"))
        default: .all(response.verdict)
        }
    }
}
