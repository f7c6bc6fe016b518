import Sluice

/// A JSON array of the stored lines.
struct JSONArrayFormat: WireFormat {
    let acceptsGzip: Bool

    func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.setHeader("Content-Type", "application/json")
        request.body = batch.lines(after: "[", eachWith: ",")
        request.body[request.body.count - 1] = UInt8(ascii: "]")
    }
}

/// The stored lines, each with a newline.
struct NDJSONFormat: WireFormat {
    let acceptsGzip: Bool

    func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.setHeader("Content-Type", "application/x-ndjson")
        request.body = batch.lines()
    }
}

extension Batch {
    /// Returns `prefix`, then the stored lines with plain dates, each followed by `end`, which is no character of the store's
    /// mark for dates.
    func lines(after prefix: String = "", eachWith end: Unicode.Scalar = "\n") -> [UInt8] {
        var body = Array(prefix.utf8)
        body.reserveCapacity(byteCount + events.count + body.count)
        for line in events {
            body += line.bytes
            body.append(UInt8(ascii: end))
        }
        return Array(body[...].withPlainDates)
    }
}
