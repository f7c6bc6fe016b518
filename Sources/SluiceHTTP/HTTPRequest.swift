public import Sluice

/// An HTTP request, which a ``WireFormat`` fills in and an ``HTTPClient`` sends.
public struct HTTPRequest: Sendable {
    /// The URL, with its query.
    public var url: String
    /// The method, such as `POST`.
    public var method: String
    /// The header fields in the order in which they are sent, without those that the client adds, such as `Host`.
    public var headers: [(name: String, value: String)]
    /// The body, compressed if a header says so.
    public var body: [UInt8]
    /// When the request is sent, for envelopes that contain this time. With a
    /// ``HTTPTransport/Configuration/clockCorrection`` it is the server's time.
    /// A retry differs from the first attempt in this time, and in event times only if the skew has changed in between.
    public var sendTime: Timestamp

    /// Creates a request. Every parameter sets the property of the same name.
    public init(
        url: String, method: String = "POST", headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        sendTime: Timestamp = PipelineEnvironment.systemTime.wallTime()
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.sendTime = sendTime
    }

    /// Returns the first value of a header, in upper or lower case, or nil if the request doesn't have it.
    public func header(_ name: String) -> String? { headers.first { $0.name.isSameHeaderName(as: name) }?.value }

    /// Replaces all values of a header by one, or adds the header at the end.
    public mutating func setHeader(_ name: String, _ value: String) {
        if let first = headers.firstIndex(where: { $0.name.isSameHeaderName(as: name) }) {
            headers[first].value = value
            let rest = headers[(first + 1)...].filter { !$0.name.isSameHeaderName(as: name) }
            headers.replaceSubrange((first + 1)..., with: rest)
        } else {
            headers.append((name, value))
        }
    }

    /// Appends segments to the URL's path, percent-encoded, unless it already ends with them: you can configure the URL of
    /// a backend or of its endpoint.
    public mutating func appendPath(_ segments: String...) {
        let suffix = segments.map { "/" + $0.percentEncoded }.joined()
        let end = url.firstIndex(of: "?") ?? url.endIndex
        var path = url[..<end]
        while path.hasSuffix("/") { path.removeLast() }
        if !path.hasSuffix(suffix) { path += suffix }
        url = String(path) + url[end...]
    }

    /// Appends `name=value` to the URL's query, percent-encoded.
    public mutating func appendQuery(_ name: String, _ value: String) {
        url += url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        url += name.percentEncoded + "=" + value.percentEncoded
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the sizes.
    public var description: String { "\(method) with \(headers.count) headers and \(body.count) bytes" }
    /// Empty, since URLs, headers and bodies may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPRequest {
    mutating func setBasicAuthorization(user: String, password: String) {
        setHeader("Authorization", "Basic " + "\(user):\(password)".base64)
    }

    /// Rejects requests that a client would send differently.
    func check() throws(SluiceError) {
        try HTTPURL.check(url)
        guard method.isHTTPToken else {
            throw SluiceError(.invalidArgument, "the HTTP method is invalid; use letters only")
        }
        for (name, value) in headers {
            try HTTPRequest.checkHeader(name, value)
        }
    }

    static func checkHeader(_ name: String, _ value: String) throws(SluiceError) {
        guard name.isHTTPToken else {
            throw SluiceError(.invalidArgument, "a header's name is invalid; use letters, digits and -")
        }
        guard value.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else {
            throw SluiceError(.invalidArgument, "the value of the header \(name) contains control characters")
        }
        let framing = ["content-length", "transfer-encoding", "connection", "expect", "te", "trailer", "upgrade"]
        guard !framing.contains(name.lowercased()) else {
            throw SluiceError(.invalidArgument, "the HTTP client sets the header \(name) itself; leave it out")
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
