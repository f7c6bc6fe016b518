import Sluice

@testable import SluiceHTTP

extension Batch {
    /// A batch whose events have these bytes.
    static func of(_ lines: String..., id: UInt64 = 1) -> Batch {
        Batch(
            id: id,
            events: lines.map { EventLine(bytes: ArraySlice($0.utf8), priority: .normal) })
    }

    static var small: Batch { .of(#"{"n":1}"#) }

    /// A batch that doesn't fit into the buffers of a connection.
    static let large: Batch = {
        let line = EventLine(
            bytes: ArraySlice(("\"" + String(repeating: "x", count: 62_000) + "\"").utf8), priority: .normal)
        return Batch(id: 1, events: Array(repeating: line, count: 256))
    }()
}

extension HTTPResponse {
    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
}

extension HTTPTimeouts {
    /// For requests that end by themselves.
    static let long = HTTPTimeouts(connect: .seconds(600), total: .seconds(600))

    /// For servers that never respond.
    static let short = HTTPTimeouts(connect: .milliseconds(100), total: .milliseconds(100))
}

extension HTTPTransport.Configuration {
    init(_ timeouts: HTTPTimeouts) {
        self.init(connectTimeout: timeouts.connect, totalTimeout: timeouts.total)
    }
}

/// An open transport. Throws if there is no usable libcurl.
func openTransport(
    to url: String, format: HTTPFormat = .jsonArray, headers: [String: String] = [:],
    timeouts: HTTPTimeouts = HTTPTimeouts(), sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil
) throws -> HTTPTransport {
    var configuration = HTTPTransport.Configuration(timeouts)
    configuration.sign = sign
    let transport = HTTPTransport(to: url, format: format, headers: headers, configuration: configuration)
    try transport.open(in: PipelineEnvironment())
    try transport.check()
    return transport
}

/// The system's client, open.
func openClient() throws -> any HTTPClient {
    let client = SystemClient(HTTPTimeouts())
    try client.check()
    return client
}
