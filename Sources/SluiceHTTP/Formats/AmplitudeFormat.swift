import Sluice

/// `/2/httpapi` of Amplitude, or `/batch` if the URL ends with it. The event's id is the `insert_id`.
struct AmplitudeFormat: WireFormat {
    let apiKey: String

    var maximumBatchSize: BatchSize { BatchSize(events: 1_999, bytes: 800_000) }
    var maximumBodyBytes: Int { 1_000_000 }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if !request.url.hasSuffix("/batch") { request.appendPath("2", "httpapi") }
        var writer = batch.makeWriter()
        writer.raw(#"{"api_key":"#)
        writer.string(apiKey)
        // Otherwise ids with fewer than 5 characters would be refused.
        writer.raw(#","options":{"min_id_length":1},"client_upload_time":"#)
        writer.isoTime(request.sendTime)
        writer.raw(#","events":["#)
        try writer.events(of: batch, Self.write)
        writer.raw("]}")
        request.setJSON(writer)
    }

    /// Amplitude accepts all events of a request or no event, but lists the invalid and the throttled ones. The others are
    /// sent again without them.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let count = batch.events.count
        let rest = Verdict.retry(after: .zero)
        switch response.status {
        case 200...299:
            return .all(response.jsonObject?["code"] == 200 ? .accepted : .retry(after: nil))
        case 400:
            let keys = [
                "events_with_invalid_fields", "events_with_missing_fields", "events_with_invalid_id_lengths",
                "silenced_events",
            ]
            guard let refused = indices(keys, in: response, below: count) else { break }
            return .each((0..<count).map { refused.contains($0) ? .rejected("Amplitude refused the event") : rest })
        case 429:
            guard let throttled = indices(["throttled_events"], in: response, below: count) else { break }
            // Amplitude measures over 30 s.
            let reason = "Amplitude throttles the event's user or device"
            let later = Verdict.retry(after: response.retryAfter ?? .seconds(30), reason: reason)
            return .each((0..<count).map { throttled.contains($0) ? later : rest })
        default: break
        }
        return .all(response.verdict)
    }

    /// - Returns: Nil if the lists are empty or contain anything other than indices of events.
    private func indices(_ keys: [String], in response: HTTPResponse, below count: Int) -> Set<Int>? {
        let lists = keys.compactMap { response.jsonObject?[$0] }
        let indices = PropertyValue.array(PropertyArray(lists)).eventIndices(below: count)
        return indices?.isEmpty == false ? indices : nil
    }

    private static func write(_ writer: inout JSONWriter, _ event: Event) {
        writer.raw(#"{"event_type":"#)
        writer.string(event.name)
        writer.optionalString("user_id", event.loginID)
        writer.optionalString("device_id", event.anyAnonymousID)
        writer.raw(#","time":"#)
        writer.integer(event.time.milliseconds)
        writer.raw(#","insert_id":"#)
        writer.string(event.id.description)
        writer.raw(#","event_properties":"#)
        writer.object(event.properties)
        writer.raw("}")
    }
}
