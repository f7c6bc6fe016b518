import Sluice

/// `/v1/batch` of Segment, RudderStack and compatible servers. The event's id is the `messageId`.
struct SegmentFormat: WireFormat {
    let writeKey: String

    var maximumBatchSize: BatchSize { BatchSize(events: 2_500, bytes: 400_000) }
    var maximumBodyBytes: Int { 500_000 }
    /// 32 KB, plus the envelope.
    var maximumEventBytes: Int { 32_768 + 48 }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v1", "batch")
        request.setBasicAuthorization(user: writeKey, password: "")
        var writer = batch.makeWriter()
        writer.raw(#"{"batch":["#)
        try writer.events(of: batch, Self.write)
        writer.raw(#"],"sentAt":"#)
        writer.isoTime(request.sendTime)
        writer.raw("}")
        request.setJSON(writer)
    }

    /// Segment returns `{"success":true}`, RudderStack `OK`, and others an empty body.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        if response.status == 429, response.retryAfter == nil { return .all(.retry(after: response.rateLimitReset())) }
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        if response.isComplete, response.body.isEmpty || response.body.starts(with: "OK".utf8) {
            return .all(.accepted)
        }
        guard let object = response.jsonObject, object["success"] != false else { return .all(.retry(after: nil)) }
        return .all(.accepted)
    }

    private static func write(_ writer: inout JSONWriter, _ event: Event) {
        writer.raw(#"{"type":"track","messageId":"#)
        writer.string(event.id.description)
        writer.optionalString("anonymousId", event.anyAnonymousID)
        writer.optionalString("userId", event.loginID)
        writer.raw(#","event":"#)
        writer.string(event.name)
        writer.raw(#","properties":"#)
        writer.object(event.properties)
        writer.raw(#","context":{"library":{"name":"Sluice"}},"timestamp":"#)
        writer.isoTime(event.time)
        writer.raw("}")
    }
}
