public import Sluice

/// A request as it goes over the wire.
public struct HTTPRequest: Sendable {
    public var url: String
    public var method: String
    /// In the order in which they are sent. What the client itself adds, such as `Host`, is not among them.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// When the request is made, for envelopes that tell their receivers: all in a retry that differs from what was sent
    /// before. Nothing of it is sent unless a format or a signature does so.
    public var sendTime: Timestamp

    public init(
        url: String, method: String = "POST", headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        sendTime: Timestamp = SystemTime().wallTime()
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.sendTime = sendTime
    }

    /// The first value of a header, whatever the case of its name; nil if there is none.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.isSameHeaderName(as: name) }?.value
    }

    /// Puts one value in the place of all that a header has, or adds it at the end.
    public mutating func setHeader(_ name: String, _ value: String) {
        if let first = headers.firstIndex(where: { $0.name.isSameHeaderName(as: name) }) {
            headers[first].value = value
            let rest = headers[(first + 1)...].filter { !$0.name.isSameHeaderName(as: name) }
            headers.replaceSubrange((first + 1)..., with: rest)
        } else {
            headers.append((name, value))
        }
    }

    /// Adds a path to that of the URL, in front of its query, unless the URL's path ends so already: hosts may write the
    /// address of a backend, or that of the very endpoint.
    ///
    /// - Parameter segments: each percent-encoded here, with a slash in front.
    public mutating func appendPath(_ segments: String...) {
        let suffix = segments.map { "/" + $0.percentEncoded }.joined()
        let end = url.firstIndex(of: "?") ?? url.endIndex
        var path = url[..<end]
        while path.hasSuffix("/") { path.removeLast() }
        if !path.hasSuffix(suffix) { path += suffix }
        url = String(path) + url[end...]
    }

    /// Adds `name=value` to the URL's query, percent-encoded.
    public mutating func appendQuery(_ name: String, _ value: String) {
        url += url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        url += name.percentEncoded + "=" + value.percentEncoded
    }
}

/// Only what is no secret.
extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "\(method) with \(headers.count) headers and \(body.count) bytes" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPRequest {
    /// Refuses what would end up as another request than the one that is written here.
    ///
    /// - Throws: ``SluiceError/Code/invalidArgument``.
    func check() throws(SluiceError) {
        try HTTPURL.check(url)
        guard method.isHTTPToken else { throw SluiceError(.invalidArgument, "the HTTP method is none") }
        for (name, value) in headers {
            try HTTPRequest.checkHeader(name, value)
        }
    }

    static func checkHeader(_ name: String, _ value: String) throws(SluiceError) {
        guard name.isHTTPToken else {
            throw SluiceError(.invalidArgument, "a header's name is no HTTP token; letters, digits and - are")
        }
        guard value.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else {
            throw SluiceError(.invalidArgument, "the value of the header \(name) has control characters in it")
        }
        let framing = ["content-length", "transfer-encoding", "connection", "expect", "te", "trailer", "upgrade"]
        guard !framing.contains(name.lowercased()) else {
            throw SluiceError(.invalidArgument, "the header \(name) is the HTTP client's own; leave it out")
        }
    }
}

extension String {
    func isSameHeaderName(as other: String) -> Bool {
        utf8.count == other.utf8.count && lowercased() == other.lowercased()
    }

    fileprivate var isHTTPToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
