import SluiceHTTP

/// The events API of a shop: `POST /v2/events` with a JSON array. The response names the events that failed.
struct ShopFormat: WireFormat {
    let token: String

    var maximumBatchSize: BatchSize { BatchSize(events: 500, bytes: 500_000) }
    var maximumBodyBytes: Int { 1_000_000 }
    var maximumEventBytes: Int { 32_768 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v2", "events")
        request.setHeader("Content-Type", "application/json")
        request.setHeader("Authorization", "Bearer \(token)")
        var body = JSONWriter()
        try body.array(batch.events) { json, line in
            let event = try line.event()
            json.object {
                $0["id"] = event.id.description
                $0["type"] = event.name
                $0["at"] = .int(event.time.milliseconds)
                $0.object("data", event.properties)
            }
        }
        request.body = body.bytes
    }

    /// Reads `{"failed":{"0192…":"invalid"}}`.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        guard case .object(let failed) = response.jsonObject?["failed"] else {
            return .all(.hold(reason: "the response isn't from the shop; check the URL and proxies"))
        }
        return .each(
            batch.events.map { line in
                switch line.id.flatMap({ failed[$0.description] }) {
                case nil: .accepted
                case "duplicate": .duplicate
                case "throttled": .retry(after: response.retryAfter)
                default: .rejected(reason: "the shop refused the event")
                }
            })
    }
}
