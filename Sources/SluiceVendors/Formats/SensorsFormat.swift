import SluiceGzip
import SluiceHTTP

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
        let events = try batch.events.flatMap { Self.events(for: try $0.vendorRecord(keepsEmptyChanges: true)) }
        writer.objects(events) { Self.write($1, sendTime, to: &$0) }
        let array = writer.bytes
        guard let file = Gzip.file(of: array, by: deflater ?? .system ?? .storing) ?? Gzip.file(of: array, by: .storing)
        else {
            throw SluiceError(.inputOutput, "the events can't be compressed")
        }
        let list = Base64.encode(file)
        request.body = Array("crc=\(list.javaHashCode)&gzip=1&data_list=".utf8) + list.percentEncoded
    }

    /// The event, and for a login with properties also the change of the profile: Sensors keeps them with the sign-up only.
    static func events(for event: Event) -> [Event] {
        guard event.name == "$SignUp", !event.traits.isEmpty, SensorsRecord(event).type == "track_signup" else {
            return [event]
        }
        // Another bit of the id, for a `_track_id` of its own.
        let id = EventID(high: event.id.high, low: event.id.low ^ 0x4000_0000)
        let change = Event(
            id: id, name: "$ProfileSet", time: event.time, distinctID: event.distinctID, anonymousID: event.anonymousID,
            loginID: event.loginID, properties: event.properties)
        return [event, change]
    }

    static func write(_ event: Event, _ sendTime: Timestamp, to json: inout JSONWriter) {
        let record = SensorsRecord(event)
        json["type"] = record.type
        // Records about profiles and items have no name.
        if record.type.hasPrefix("track") { json["event"] = record.name }
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

extension Deflater {
    /// Writes stored (uncompressed) blocks, for bodies that must be gzip on systems without zlib.
    static let storing = Deflater { bytes in
        var (result, start): ([UInt8], Int) = ([], 0)
        repeat {
            let block = bytes[start..<min(start + 0xFFFF, bytes.count)]
            start = block.endIndex
            let count = UInt16(block.count)
            result.append(start == bytes.count ? 1 : 0)
            for half in [count, ~count] { result += [UInt8(truncatingIfNeeded: half), UInt8(half >> 8)] }
            result += block
        } while start < bytes.count
        return result
    }
}

extension Collection where Element == UInt8 {
    /// Java's hash code of a string of these ASCII characters.
    var javaHashCode: Int32 {
        reduce(0) { hash, byte in hash &* 31 &+ Int32(byte) }
    }
}
