public import Sluice

/// `/v1/batch` of Segment, RudderStack and others that speak the same.
///
/// The event's id is the `messageId`, by which Segment knows a retry. The login id is the `userId`; an event without any
/// id of a person has its own as `anonymousId`, since one of the two must be there.
public struct SegmentFormat: WireFormat {
    private let writeKey: Secret

    /// - Parameter writeKey: that of the source.
    public init(writeKey: String) {
        self.writeKey = Secret(writeKey)
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 2_500, bytes: 400_000) }
    public var maximumBodyBytes: Int { 500_000 }
    /// 32 KB, and the envelope around a single event.
    public var maximumEventBytes: Int { 32_768 + 48 }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("v1", "batch")
        request.setBasicAuthorization(user: writeKey.text, password: "")
        request.setHeader("Content-Type", "application/json")
        var writer = batch.makeWriter()
        writer.raw(#"{"batch":["#)
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            SegmentFormat.write(try line.event(), to: &writer)
        }
        writer.raw(#"],"sentAt":"#)
        writer.isoTime(request.sendTime)
        writer.raw("}")
        request.body = writer.bytes
    }

    /// Segment answers `{"success":true}`, RudderStack `OK`, and others nothing.
    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        if answer.status == 429, answer.retryAfter == nil { return .all(.retry(after: answer.rateLimitReset())) }
        guard (200...299).contains(answer.status) else { return .all(answer.verdict) }
        if answer.isWhole, answer.body.isEmpty || answer.body.starts(with: "OK".utf8) { return .all(.accepted) }
        guard let object = answer.jsonObject, object["success"] != false else { return .all(.retry(after: nil)) }
        return .all(.accepted)
    }

    private static func write(_ event: Event, to writer: inout JSONWriter) {
        writer.raw(#"{"type":"track","messageId":"#)
        writer.string(event.id.description)
        let anonymousID = event.anonymousID ?? (event.loginID == nil ? event.anyDistinctID : nil)
        writer.optionalString("anonymousId", anonymousID)
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

extension WireFormat where Self == SegmentFormat {
    /// Track calls for Segment, by the source's write key. The URL is `https://api.segment.io`, or that of the EU.
    public static func segment(writeKey: String) -> SegmentFormat { SegmentFormat(writeKey: writeKey) }

    /// The same for RudderStack, whose URL is that of the data plane.
    public static func rudderStack(writeKey: String) -> SegmentFormat { SegmentFormat(writeKey: writeKey) }
}
