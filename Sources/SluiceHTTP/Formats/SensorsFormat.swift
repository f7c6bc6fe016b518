import Sluice

/// `data_list` of Sensors Analytics: a form with a checksum, and the events as Base64 of gzip of a JSON array.
struct SensorsFormat: WireFormat {
    let token: String?
    var deflater = Deflater.system ?? .storing

    var maximumBatchSize: BatchSize { BatchSize(events: 50, bytes: 1_000_000) }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if let token { request.appendQuery("token", token) }
        request.setHeader("Content-Type", "application/x-www-form-urlencoded")
        var writer = batch.makeWriter()
        let sendTime = request.sendTime
        writer.raw("[")
        try writer.events(of: batch) { writer, event in
            SensorsFormat.write(event, sendTime, to: &writer)
        }
        writer.raw("]")
        let array = writer.bytes
        guard let file = Gzip.file(of: array, by: deflater) ?? Gzip.file(of: array, by: .storing) else {
            throw SluiceError(.inputOutput, "the events can't be compressed")
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
        // As many random bits of the id as fit into a positive integer in any language.
        writer.integer(event.id.low & 0x7FFF_FFFF)
        writer.raw(#","_flush_time":"#)
        writer.integer(sendTime.milliseconds)
        writer.raw(#","properties":"#)
        writer.object(record.properties)
        writer.raw("}")
    }
}
