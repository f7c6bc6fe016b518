public import Sluice

/// One JSON array with an object for each event; `Content-Type: application/json`.
///
/// The status alone decides, for all events alike: see ``HTTPAnswer/verdict``.
public struct JSONArrayFormat: WireFormat {
    public init() {}

    public func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.setHeader("Content-Type", "application/json")
        var body: [UInt8] = []
        body.reserveCapacity(batch.events.reduce(2) { $0 + $1.bytes.count + 1 })
        body.append(UInt8(ascii: "["))
        for (index, line) in batch.events.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += line.bytes
        }
        body.append(UInt8(ascii: "]"))
        request.body = body
    }
}

extension WireFormat where Self == JSONArrayFormat {
    /// One JSON array with an object for each event: what most collectors read.
    public static var jsonArray: JSONArrayFormat { JSONArrayFormat() }
}
