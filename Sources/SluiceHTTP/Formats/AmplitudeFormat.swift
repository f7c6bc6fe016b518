public import Sluice

/// `/2/httpapi` of Amplitude, or its `/batch` if the URL ends so.
///
/// The event's id is the `insert_id`, by which Amplitude knows a retry for 7 days. It takes all events of a request or
/// none, but names those that are at fault: they are given up, and the others sent again without them.
public struct AmplitudeFormat: WireFormat {
    private let apiKey: Secret

    /// - Parameter apiKey: that of the project.
    public init(apiKey: String) {
        self.apiKey = Secret(apiKey)
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 1_999, bytes: 800_000) }
    public var maximumBodyBytes: Int { 1_000_000 }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if !request.url.hasSuffix("/batch") { request.appendPath("2", "httpapi") }
        request.setHeader("Content-Type", "application/json")
        var writer = batch.makeWriter()
        writer.raw(#"{"api_key":"#)
        writer.string(apiKey.text)
        // By default it refuses ids of fewer than 5 characters.
        writer.raw(#","options":{"min_id_length":1},"events":["#)
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            AmplitudeFormat.write(try line.event(), to: &writer)
        }
        writer.raw("]}")
        request.body = writer.bytes
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        switch answer.status {
        case 200...299: .all(answer.jsonObject?["code"] == 200 ? .accepted : .retry(after: nil))
        case 400: classifyRefusal(answer, batch.events.count)
        default: .all(answer.verdict)
        }
    }

    private func classifyRefusal(_ answer: HTTPAnswer, _ count: Int) -> Verdicts {
        let keys = [
            "events_with_invalid_fields", "events_with_missing_fields", "events_with_invalid_id_lengths",
            "silenced_events",
        ]
        let lists = keys.compactMap { answer.jsonObject?[$0] }
        // Of a receiver that spares few it may not be the events: those are sent in parts.
        guard let refused = PropertyValue.array(PropertyArray(lists)).eventIndices(below: count),
            !refused.isEmpty, refused.count <= count / 2
        else { return .all(answer.verdict) }
        return .each(
            (0..<count).map {
                refused.contains($0) ? .rejected("Amplitude refused the event") : .retry(after: .zero)
            })
    }

    private static func write(_ event: Event, to writer: inout JSONWriter) {
        writer.raw(#"{"event_type":"#)
        writer.string(event.name)
        let deviceID = event.anonymousID ?? (event.loginID == nil ? event.anyDistinctID : nil)
        writer.optionalString("user_id", event.loginID)
        writer.optionalString("device_id", deviceID)
        writer.raw(#","time":"#)
        writer.integer(event.time.milliseconds)
        writer.raw(#","insert_id":"#)
        writer.string(event.id.description)
        writer.raw(#","event_properties":"#)
        writer.object(event.properties)
        writer.raw("}")
    }
}

extension WireFormat where Self == AmplitudeFormat {
    /// Events for Amplitude, by the project's API key. The URL is `https://api2.amplitude.com`, or that of the EU.
    public static func amplitude(apiKey: String) -> AmplitudeFormat { AmplitudeFormat(apiKey: apiKey) }
}
