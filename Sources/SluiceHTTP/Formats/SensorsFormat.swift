import Sluice

/// `data_list` of Sensors Analytics: a form with a checksum, and the events as Base64 of gzip of a JSON array.
struct SensorsFormat: WireFormat {
    let token: String?
    var deflater: Deflater?

    var maximumBatchSize: BatchSize { BatchSize(events: 50, bytes: 1_000_000) }

    func validate() throws(SluiceError) { try ArgumentCheck.key("token", token) }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if let token { request.appendQuery("token", token) }
        request.setHeader("Content-Type", "application/x-www-form-urlencoded")
        var writer = batch.makeWriter()
        let sendTime = request.sendTime
        try writer.array(batch.events) { json, line in
            let event = try line.record()
            json.object { SensorsFormat.write(event, sendTime, to: &$0) }
        }
        let array = writer.bytes
        guard let file = Gzip.file(of: array, by: deflater ?? .system ?? .storing) ?? Gzip.file(of: array, by: .storing)
        else {
            throw SluiceError(.inputOutput, "the events can't be compressed")
        }
        let list = file.base64
        request.body = Array("crc=\(list.javaHashCode)&gzip=1&data_list=".utf8) + list.percentEncoded
    }

    static func write(_ event: Event, _ sendTime: Timestamp, to json: inout JSONWriter) {
        let record = SensorsRecord(event)
        json["type"] = record.type
        if record.hasName { json["event"] = record.name }
        json["original_id"] = record.originalID
        json["time"] = .int(event.time.milliseconds)
        if let item = record.item {
            // An item belongs to no person.
            json["item_type"] = item.type
            json["item_id"] = item.id
        } else {
            json["distinct_id"] = event.anyDistinctID
            json["anonymous_id"] = event.anonymousID
            json["login_id"] = event.loginID
            if let identities = record.identities { json.object("identities", identities) }
        }
        json.object("lib") {
            $0["$lib"] = event.properties["$lib"]?.string ?? LibraryVersion.name
            $0["$lib_version"] = event.properties["$lib_version"]?.string ?? LibraryVersion.current
            $0["$lib_method"] = "code"
            $0["$app_version"] = event.properties["$app_version"]
        }
        // As many random bits of the id as fit into a positive integer in any language.
        json["_track_id"] = .int(event.id.low & 0x7FFF_FFFF)
        json["_flush_time"] = .int(sendTime.milliseconds)
        json.object("properties", record.properties)
    }
}
