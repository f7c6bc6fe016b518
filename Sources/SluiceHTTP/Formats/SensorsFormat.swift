public import Sluice

/// `data_list` of Sensors Analytics: a form with the checksum, and the events as Base64 of gzip of a JSON array.
///
/// The verbs of `Identity` go out as the types that Sensors has for them, such as `profile_set`; everything else is a
/// `track`.
///
/// The URL is the project's whole one, `https://HOST:8106/sa?project=…`. The status decides for all events alike. Where
/// there is no zlib, the gzip inside is one that compresses nothing.
public struct SensorsFormat: WireFormat {
    private let token: Secret?
    private let deflater: Deflater

    /// - Parameter token: that of the project, if the URL does not hold it.
    public init(token: String? = nil) {
        self.init(token: token, deflater: .system ?? .storing)
    }

    init(token: String?, deflater: Deflater) {
        self.token = token.map { Secret($0) }
        self.deflater = deflater
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 50, bytes: 1_000_000) }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if let token { request.appendQuery("token", token.text) }
        request.setHeader("Content-Type", "application/x-www-form-urlencoded")
        var writer = batch.makeWriter()
        let sendTime = request.sendTime
        writer.raw("[")
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            SensorsFormat.write(try line.event(), sendTime, to: &writer)
        }
        writer.raw("]")
        let array = writer.bytes
        guard let file = Gzip.file(of: array, by: deflater) ?? Gzip.file(of: array, by: .storing) else {
            throw SluiceError(.inputOutput, "the events cannot be compressed")
        }
        let list = file.base64
        request.body = Array("crc=\(list.javaHashCode)&gzip=1&data_list=".utf8) + list.percentEncoded
    }

    static func write(_ event: Event, _ sendTime: Timestamp, to writer: inout JSONWriter) {
        let record = SensorsRecord(event)
        writer.raw(#"{"type":"#)
        writer.string(record.type)
        if record.hasName {
            writer.raw(#","event":"#)
            writer.string(event.name)
        }
        writer.optionalString("original_id", record.originalID)
        writer.optionalString("item_type", record.item?.type)
        writer.optionalString("item_id", record.item?.id)
        writer.raw(#","time":"#)
        writer.integer(event.time.milliseconds)
        writer.raw(#","distinct_id":"#)
        writer.string(event.anyDistinctID)
        writer.optionalString("anonymous_id", event.anonymousID)
        writer.optionalString("login_id", event.loginID)
        if let identities = record.identities {
            writer.raw(#","identities":"#)
            writer.object(identities)
        }
        writer.raw(#","lib":{"$lib":"Sluice","$lib_method":"code"},"_track_id":"#)
        // The random bits of the id, as many as fit into the positive integers of any language.
        writer.integer(event.id.low & 0x7FFF_FFFF)
        writer.raw(#","_flush_time":"#)
        writer.integer(sendTime.milliseconds)
        writer.raw(#","properties":"#)
        writer.object(record.properties)
        writer.raw("}")
    }
}

extension WireFormat where Self == SensorsFormat {
    /// Events for Sensors Analytics, with the project's token if the URL does not hold it.
    public static func sensors(token: String? = nil) -> SensorsFormat { SensorsFormat(token: token) }
}
