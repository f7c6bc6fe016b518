import Sluice

@testable import SluiceHTTP

extension Batch {
    /// One of events with these bytes.
    static func of(_ lines: String..., id: UInt64 = 1) -> Batch {
        Batch(
            id: ID(rawValue: id),
            events: lines.map { EventLine(bytes: ArraySlice($0.utf8), priority: .normal) })
    }

    static var small: Batch { .of(#"{"n":1}"#) }

    /// Larger than what the buffers of a connection hold.
    static var large: Batch {
        let line = "\"" + String(repeating: "x", count: 62_000) + "\""
        return Batch(
            id: ID(rawValue: 1),
            events: (0..<256).map { _ in EventLine(bytes: ArraySlice(line.utf8), priority: .normal) })
    }
}

extension HTTPAnswer {
    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
}

extension HTTPDeadlines {
    /// For servers that keep a client waiting for ever.
    static let short = HTTPDeadlines(connect: .milliseconds(100), total: .milliseconds(100))
}

/// A transport whose system is ready; throws where there is no usable libcurl.
func openTransport(
    to url: String, format: any WireFormat = .jsonArray, headers: [String: String] = [:],
    deadlines: HTTPDeadlines = HTTPDeadlines(), sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil
) throws -> HTTPTransport {
    let transport = HTTPTransport(to: url, format: format, headers: headers, deadlines: deadlines, sign: sign)
    try transport.open()
    return transport
}

/// The system's client, ready.
func openClient(_ deadlines: HTTPDeadlines = HTTPDeadlines()) throws -> any HTTPClient {
    let client = SystemClient(deadlines)
    try client.open()
    return client
}
