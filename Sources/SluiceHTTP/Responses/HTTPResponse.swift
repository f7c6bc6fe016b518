/// The response to an ``HTTPRequest``.
///
/// ```swift
/// let response = HTTPResponse(status: 429, headers: [("Retry-After", "30")])
/// ```
public struct HTTPResponse: Sendable {
    /// The longest body that a client keeps: 64 KiB.
    public static let bodyLimit = 65_536

    /// The status code, such as 200.
    public var status: Int
    /// The header fields in the order in which they arrived, without trailers.
    public var headers: [(name: String, value: String)]
    /// The body, or its beginning if ``isComplete`` is false.
    public var body: [UInt8]
    /// Whether ``body`` is the complete body. False if the body is longer than ``bodyLimit``, or if it broke off and
    /// the status isn't 2xx.
    public var isComplete: Bool
    /// The ``HTTPRequest/endpoint`` of the request. The transport sets it.
    public var endpoint = ""
    /// The URL of the request. The transport sets it.
    package var url = ""

    /// Creates a response, for a client of your own or a test. Every parameter sets the property of the same name.
    public init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], isComplete: Bool = true
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isComplete = isComplete
    }

    /// Returns the first value of a header, regardless of the case of its name, or nil if the response doesn't have it.
    public func header(_ name: String) -> String? { headers.first { $0.name.isSameHeaderName(as: name) }?.value }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the sizes.
    public var description: String { "HTTP \(status) with \(headers.count) headers and \(body.count) bytes" }
    /// Empty, since headers and bodies may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPResponse {
    /// Parses the header field in a line of a head. Nil for an invalid line.
    static func header(in line: some BidirectionalCollection<UInt8>) -> (name: String, value: String)? {
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
        let value = line[line.index(after: colon)...].drop(while: isSpace)
        let end = value.lastIndex { !isSpace($0) }.map { value.index(after: $0) } ?? value.startIndex
        return (String(decoding: line[..<colon], as: UTF8.self), String(decoding: value[..<end], as: UTF8.self))
    }
}
