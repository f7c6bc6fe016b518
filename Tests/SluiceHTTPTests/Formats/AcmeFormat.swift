import SluiceHTTP

/// `POST /ingest` of Acme: events in an envelope, and a result for each event in the response.
struct AcmeFormat: WireFormat {
    let key: String

    var maximumBatchSize: BatchSize { BatchSize(events: 1_000, bytes: 900_000) }
    var maximumBodyBytes: Int { 1_000_000 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("ingest")
        request.setHeader("Content-Type", "application/json")
        request.setHeader("X-Acme-Key", key)
        var writer = JSONWriter()
        writer.object {
            $0["sent"] = .int(request.sendTime.milliseconds)
            $0.array("events", batch.events) { $0.raw($1.json) }  // The stored lines, or write another shape.
        }
        request.body = writer.bytes
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        guard case .array(let results) = response.jsonObject?["results"] else { return .all(.retry(after: nil)) }
        return .each(
            results.map { result in
                switch result {
                case "ok": .accepted
                case "known": .duplicate
                case "bad": .rejected(reason: "Acme refused the event")
                default: .retry(after: response.retryAfter)
                }
            })
    }
}
