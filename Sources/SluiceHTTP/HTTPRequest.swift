public import Sluice

/// An HTTP request, which a ``WireFormat`` fills in and an ``HTTPClient`` sends.
///
/// ```swift
/// var request = HTTPRequest(url: "https://shop.example")
/// request.appendPath("v1", "events")
/// request.appendQuery("source", "web")
/// request.setHeader("Content-Type", "application/json")
/// ```
public struct HTTPRequest: Sendable {
    /// The URL, with its query.
    public var url: String
    /// The method, such as `POST`.
    public var method: String
    /// The header fields in the order in which they are sent, without the headers that the client adds, such as `Host`.
    public var headers: [(name: String, value: String)]
    /// The body, compressed if a header says so.
    public var body: [UInt8]
    /// The time of sending, for envelopes that contain it. With a ``HTTPTransport/Configuration/clockCorrection``, this
    /// is the server's time.
    ///
    /// A retry differs from the first attempt in this time. Its event times differ only if the skew has changed in
    /// between.
    public var sendTime: Timestamp
    /// The number of failed attempts to send events of the batch, since a request of it was last accepted without a failure.
    public var retryCount: Int
    /// A UUID of the batch. Every attempt to send it has the same one, and so has each of its parts, such as the events
    /// that remain after a partial answer. After a restart of the process, a batch has a new one.
    ///
    /// Don't use it as an idempotency key, because parts with other events share it. Use
    /// `Batch.deduplicationToken`.
    public var id: String
    /// The endpoint of the events. ``WireFormat/endpoints(for:)`` returns it for each of them.
    public var endpoint: String
    /// Whether the receiver has answered 401 to this request. ``HTTPTransport/Configuration/sign`` is then called once
    /// more, and can get a new token.
    public var wasUnauthorized = false
    /// Whether the transport may compress the body, for a format with one endpoint that doesn't accept gzip.
    package var isCompressible = true
    /// The part of the backend that each event belongs to, by a number, if an answer can be about one of them only. Events of
    /// a ``Sluice/Verdict/split(reason:)`` beside other verdicts are then sent once more, each part in a request of its own.
    var parts: [Int64] = []
    /// Why the request can't be sent: an argument of its signature is invalid.
    var signatureError: SluiceError?

    /// Creates a request. Every parameter sets the property of the same name.
    public init(
        url: String, method: String = "POST", headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        sendTime: Timestamp = PipelineEnvironment.systemTime.wallTime(), retryCount: Int = 0, id: String = "",
        endpoint: String = ""
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.sendTime = sendTime
        self.retryCount = retryCount
        self.id = id
        self.endpoint = endpoint
    }

    /// Returns the first value of a header, regardless of the case of its name, or nil if the request doesn't have it.
    public func header(_ name: String) -> String? { headers.first { $0.name.isSameHeaderName(as: name) }?.value }

    /// Replaces all values of a header by one, or adds the header at the end.
    ///
    /// ```swift
    /// request.setHeader("Authorization", "Bearer \(token())")
    /// ```
    public mutating func setHeader(_ name: String, _ value: String) {
        let first = headers.firstIndex { $0.name.isSameHeaderName(as: name) }
        headers.removeAll { $0.name.isSameHeaderName(as: name) }
        headers.insert((name, value), at: first ?? headers.endIndex)
    }

    /// Appends segments, percent-encoded, to the URL's path. Segments at which the path already ends are left out, so
    /// you can configure the URL of a backend, with or without its version, or the URL of the endpoint.
    ///
    /// ```swift
    /// for url in ["https://host", "https://host/v1/", "https://host/v1/batch"] {
    ///     var request = HTTPRequest(url: url)
    ///     request.appendPath("v1", "batch")
    ///     assert(request.url == "https://host/v1/batch")
    /// }
    /// ```
    public mutating func appendPath(_ segments: String...) { appendPath(segments) }

    mutating func appendPath(_ segments: [String]) {
        let segments = segments.map { "/" + $0.percentEncoded }
        let path = self.path
        // The longest beginning of the segments at which the path ends.
        let present = (0...segments.count).last { path.hasSuffix(segments.prefix($0).joined()) } ?? 0
        guard present < segments.count else { return }
        self.path = path + segments.dropFirst(present).joined()
    }

    /// Appends `name=value` to the URL's query, percent-encoded. If the URL already has a parameter of that name,
    /// nothing changes.
    public mutating func appendQuery(_ name: String, _ value: String) {
        let query = url.firstIndex(of: "?").map { url[$0...].dropFirst() } ?? ""
        let name = name.percentEncoded
        if query.split(separator: "&").contains(where: { $0 == name || $0.hasPrefix(name + "=") }) { return }
        url += url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        url += name + "=" + value.percentEncoded
    }

    /// Sets the header `Authorization` for Basic authentication (RFC 7617). A server reads the user up to the first colon.
    ///
    /// ```swift
    /// request.setBasicAuthorization(user: "shop", password: secret)
    /// ```
    public mutating func setBasicAuthorization(user: String, password: String) {
        setHeader("Authorization", "Basic " + HTTPEncoding.base64("\(user):\(password)".utf8))
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the sizes.
    public var description: String { "\(method) with \(headers.count) headers and \(body.count) bytes" }
    /// Empty, since URLs, headers and bodies may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPRequest {
    /// The URL's path without slashes at its end. Setting it keeps the query.
    private var path: String {
        get {
            var path = url[pathRange]
            while path.hasSuffix("/") { path.removeLast() }
            return String(path)
        }
        set { url.replaceSubrange(pathRange, with: newValue) }
    }

    private var pathRange: Range<String.Index> {
        let scheme = url.indices.first { url[$0...].hasPrefix("://") }
        let host = scheme.map { url.index($0, offsetBy: 3) } ?? url.startIndex
        let end = url.firstIndex(of: "?") ?? url.endIndex
        return (url[host..<max(host, end)].firstIndex(of: "/") ?? end)..<end
    }

    /// Appends a slash to the path if it doesn't end with one, for a backend that redirects otherwise.
    package mutating func closePath() { path += "/" }

    /// Whether the path ends with these segments.
    package func hasPath(endingWith segments: String) -> Bool { path.hasSuffix("/" + segments) }

    /// Appends segments, instead of the end of the path if it is one of `others`: the paths of the backend's other
    /// endpoints, the longest first.
    package mutating func appendPath(_ segments: String..., replacing others: [String]) {
        // Read once: finding it in the URL takes thousands of instructions.
        let path = self.path
        if path.hasSuffix("/" + segments.map(\.percentEncoded).joined(separator: "/")) { return }
        if let other = others.first(where: { path.hasSuffix("/" + $0) }) {
            self.path = String(path.dropLast(other.count + 1))
        }
        appendPath(segments)
    }

    /// Rejects requests that a client would send differently, and values of headers that no server can expect.
    func check() throws(SluiceError) {
        if let signatureError { throw signatureError }
        try HTTPURL.check(url)
        try SluiceError.require(method.isHTTPToken, "the HTTP method is invalid; use letters only")
        try SluiceError.require(method != "HEAD" || body.isEmpty, "a HEAD request has no body; use another method")
        for (name, value) in headers {
            try SluiceError.require(name.isHTTPToken, "a header's name is invalid; use letters, digits and -")
            // A tab is a blank in a value (RFC 9110, 5.5).
            let text = String(decoding: value.utf8.map { $0 == 0x09 ? 0x20 : $0 }, as: UTF8.self)
            if !value.isEmpty, let flaw = text.flaw {
                throw SluiceError(.invalidArgument, "the value of the header \(name) \(flaw)")
            }
            try SluiceError.require(
                !HTTPRequest.clientHeaders.contains { $0.isSameHeaderName(as: name) }
                    || name.isSameHeaderName(as: "host")
                        && HTTPURL.hosts(in: url).contains { $0.isSameHeaderName(as: value) },
                "the HTTP client sets the header \(name) itself; leave it out")
        }
    }

    private static let clientHeaders = [
        "content-length", "transfer-encoding", "connection", "expect", "te", "trailer", "upgrade", "host",
    ]
}

extension String {
    func isSameHeaderName(as other: String) -> Bool {
        utf8.count == other.utf8.count && startsRegardlessOfCase(with: other)
    }

    /// Compares letters of ASCII regardless of their case.
    func startsRegardlessOfCase(with other: String) -> Bool {
        utf8.count >= other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
    }

    fileprivate var isHTTPToken: Bool {
        !isEmpty && utf8.allSatisfy { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }
}
