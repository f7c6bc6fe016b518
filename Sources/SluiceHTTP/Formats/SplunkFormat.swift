import Sluice

/// `/services/collector/event` of Splunk's HTTP Event Collector, which names the first invalid event.
///
/// Sources: "Format events for HTTP Event Collector" and "Troubleshoot HTTP Event Collector" of help.splunk.com.
struct SplunkFormat: WireFormat {
    let token: String
    let index: String?
    let sourceType: String

    var maximumBatchSize: BatchSize { BatchSize(events: 10_000, bytes: 1_000_000) }
    var acceptsGzip: Bool { true }

    private static let otherPaths = ["event/1.0", "raw/1.0", "raw"].map { "services/collector/" + $0 }

    func validate() throws(SluiceError) {
        try ArgumentCheck.key("token", token)
        try ArgumentCheck.name("index", index, "_-")
        try ArgumentCheck.text("sourceType", sourceType)
        // "indexes.conf" of help.splunk.com, for indexes of one's own.
        guard let name = index?.utf8, let first = name.first else { return }
        let isReserved = name.indices.contains { name[$0...].starts(with: "kvstore".utf8) }
        if isReserved || "_-".utf8.contains(first) || name.contains(where: { $0 &- 0x41 < 26 }) {
            throw ArgumentCheck.invalid(
                "index", "isn't a name that Splunk accepts: use small letters, digits, - and _ (not first), no kvstore")
        }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("services", "collector", "event", replacing: Self.otherPaths)
        request.setHeader("Authorization", "Splunk \(token)")
        try request.setJSON(for: batch) { json in
            for line in batch.events {
                let time = try line.time()
                json.object {
                    $0["time"] = .double(Double(time.milliseconds) / 1_000)
                    $0["sourcetype"] = sourceType
                    $0["index"] = index
                    $0.raw("event", line.json)
                }
                json.raw("\n")
            }
        }
    }

    /// Splunk may keep the events before the invalid one, but doesn't confirm them. The others are sent a second time
    /// without it.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let answer = response.jsonObject
        let code = answer?["code"]?.asInt
        switch (response.status, code) {
        case (200, 0): return .all(.accepted)
        case (200...299, _): return .all(.retry(after: nil))
        // The index, or a channel that the token's acknowledgements need.
        case (400, 7), (400, 10), (400, 11), (400, 14), (400, 16):
            return .all(.hold(reason: "Splunk refuses the token's use or the index (code \(code ?? 0)); check both"))
        case (400, 6), (400, 12), (400, 13), (400, 15):
            guard let first = answer?["invalid-event-number"]?.asInt, batch.events.indices.contains(first) else {
                return .all(response.verdict)
            }
            let refusal = Verdict.rejected(reason: "Splunk refused the event (code \(code ?? 0))")
            return .each(batch.events.indices.map { $0 == first ? refusal : .retry(after: .zero) })
        default: return .all(response.verdict)
        }
    }
}
