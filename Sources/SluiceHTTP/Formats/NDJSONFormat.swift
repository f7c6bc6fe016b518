public import Sluice

/// One JSON object a line, each line ended by a newline; `Content-Type: application/x-ndjson`.
///
/// The lines are the store's as they are. The status alone decides, for all events alike: see ``HTTPAnswer/verdict``.
public struct NDJSONFormat: WireFormat {
    public var acceptsGzip: Bool

    /// - Parameter acceptsGzip: whether the receiver reads compressed bodies, which not every collector does.
    public init(acceptsGzip: Bool = false) {
        self.acceptsGzip = acceptsGzip
    }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.setHeader("Content-Type", "application/x-ndjson")
        request.body = NDJSONFormat.lines(of: batch)
    }

    static func lines(of batch: Batch) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(batch.byteCount + batch.events.count)
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

    /// One JSON object a line for Vector's `http_server` source, compressed. The source must have
    /// `decoding.codec = "json"`.
    public static var vector: NDJSONFormat { NDJSONFormat(acceptsGzip: true) }
}
