import Sluice
import SluiceHTTP

/// `POST /ingest` of Acme: events in an envelope, and in the answer a word for each of them.
struct AcmeFormat: WireFormat {
    let key: Secret  // Never printed, unlike a String.

    var maximumBatchSize: BatchSize { BatchSize(events: 1_000, bytes: 900_000) }
    var maximumBodyBytes: Int { 1_000_000 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("ingest")
        request.setHeader("Content-Type", "application/json")
        request.setHeader("X-Acme-Key", key.text)
        var writer = JSONWriter()
        writer.raw(#"{"sent":"#)
        writer.integer(request.sendTime.milliseconds)
        writer.raw(#","events":["#)
        for (index, line) in batch.events.enumerated() {
            if index > 0 { writer.raw(",") }
            writer.raw(line.bytes)  // As it is stored; line.event() reads it, for another shape.
        }
        writer.raw("]}")
        request.body = writer.bytes
    }

    func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        guard answer.status == 200 else { return .all(answer.verdict) }
        guard case .array(let words) = answer.jsonObject?["results"] else { return .all(.retry(after: nil)) }
        let findings: [Finding] = words.map { word in
            switch word {
            case "ok": .accepted
            case "known": .duplicate
            case "bad": .refused("Acme refused the event")
            default: .retry
            }
        }
        return .weighing(findings, retryAfter: answer.retryAfter)
    }
}
