public import Sluice

/// One JSON object a line, each line ended by a newline; `Content-Type: application/x-ndjson`.
///
/// The status alone decides, for all events alike: see ``HTTPAnswer/verdict``.
public struct NDJSONFormat: WireFormat {
    public init() {}

    public func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.setHeader("Content-Type", "application/x-ndjson")
        request.body = NDJSONFormat.lines(of: batch)
    }

    static func lines(of batch: Batch) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(batch.events.reduce(0) { $0 + $1.bytes.count + 1 })
        for line in batch.events {
            body += line.bytes
            body.append(UInt8(ascii: "\n"))
        }
        return body
    }
}

extension WireFormat where Self == NDJSONFormat {
    /// One JSON object a line: what log collectors read.
    public static var ndjson: NDJSONFormat { NDJSONFormat() }
}
