public import Sluice

/// One JSON array with an object for each event; `Content-Type: application/json`.
///
/// The objects are the store's lines as they are. The status alone decides, for all events alike: see
/// ``HTTPAnswer/verdict``.
public struct JSONArrayFormat: WireFormat {
    public var acceptsGzip: Bool

    /// - Parameter acceptsGzip: whether the receiver reads compressed bodies, which not every collector does.
    public init(acceptsGzip: Bool = false) {
        self.acceptsGzip = acceptsGzip
    }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.setHeader("Content-Type", "application/json")
        var body: [UInt8] = []
        body.reserveCapacity(batch.byteCount + batch.events.count + 2)
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

    /// A JSON array for Fluent Bit's `http` input, since version 2.2.1 compressed. The URL's path is the tag.
    public static var fluentBit: JSONArrayFormat { JSONArrayFormat(acceptsGzip: true) }
}
