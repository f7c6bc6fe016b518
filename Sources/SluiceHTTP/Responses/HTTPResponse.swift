/// The response to an ``HTTPRequest``.
public struct HTTPResponse: Sendable {
    /// The longest body that a client keeps: 64 KiB.
    public static let bodyLimit = 65_536

    /// The status code, such as 200.
    public var status: Int
    /// The header fields in the order in which they arrived, without trailers.
    public var headers: [(name: String, value: String)]
    /// The body, or its beginning if ``isComplete`` is false.
    public var body: [UInt8]
    /// Whether ``body`` is the complete body. False if it is longer than ``bodyLimit``, or if it broke off and the status
    /// isn't 2xx.
    public var isComplete: Bool

    /// Creates a response, for a client of your own or a test.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields, in order.
    ///   - body: The body, or its beginning.
    ///   - isComplete: Whether `body` is the complete body.
    public init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], isComplete: Bool = true
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isComplete = isComplete
    }

    /// Returns the first value of a header, or nil if the response doesn't have it.
    ///
    /// - Parameter name: The header's name, in upper or lower case.
    public func header(_ name: String) -> String? { headers.first { $0.name.isSameHeaderName(as: name) }?.value }
}

/// Prints sizes only, since headers and bodies may contain secrets.
extension HTTPResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status and the sizes.
    public var description: String { "HTTP \(status) with \(headers.count) headers and \(body.count) bytes" }
    /// The same text as ``description``.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPResponse {
    /// Parses the header fields of a head whose first line is the status line. Invalid lines are skipped.
    static func headers(ofHead head: some Collection<UInt8>) -> [(name: String, value: String)] {
        head.split(separator: UInt8(ascii: "\n")).dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { return nil }
            let value = line[line.index(after: colon)...]
            return (String(decoding: line[..<colon], as: UTF8.self), String(decoding: value.trimmed, as: UTF8.self))
        }
    }
}

extension Collection where Element == UInt8 {
    fileprivate var trimmed: SubSequence {
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0D].contains($0) }
        let rest = drop(while: isSpace)
        var length = 0
        for (offset, byte) in rest.enumerated() where !isSpace(byte) {
            length = offset + 1
        }
        return rest.prefix(length)
    }
}
