/// The answer to a request.
public struct HTTPAnswer: Sendable {
    /// Bytes of a body that are kept at most: 64 KiB.
    public static let bodyLimit = 65_536

    public var status: Int
    /// In the order in which they came, without the trailers.
    public var headers: [(name: String, value: String)]
    /// The body, or its beginning.
    public var body: [UInt8]
    /// False if the body is longer than ``bodyLimit``, or broke off behind a status that is no 2xx.
    public var isWhole: Bool

    public init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], isWhole: Bool = true
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isWhole = isWhole
    }

    /// The first value of a header, whatever the case of its name; nil if there is none.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.isSameHeaderName(as: name) }?.value
    }
}

/// Only what is no secret.
extension HTTPAnswer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "HTTP \(status) with \(headers.count) headers and \(body.count) bytes" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPAnswer {
    /// Reads the lines of an answer's head, the status line first; lines that are no header are left out.
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
