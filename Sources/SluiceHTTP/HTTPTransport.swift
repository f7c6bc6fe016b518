public import Sluice

/// Posts batches to an HTTP backend.
///
/// ```swift
/// Route("backend") {
///     JSONLStore(directory)
///     HTTPTransport(to: "https://collector.example/events", format: .ndjson, headers: ["Authorization": "Bearer …"])
/// }
/// ```
///
/// On Linux it uses the system's libcurl, on Apple's platforms `URLSession`. Redirects are not followed, cookies are
/// not kept, certificates are verified, and proxies are those of the environment or the system.
///
/// No URL, header, or body ever gets into an error's or a verdict's text. Safe from any thread.
public final class HTTPTransport: Transport {
    private let url: String
    private let format: any WireFormat
    private let headers: [String: String]
    private let client: any HTTPClient
    private let deadlines: HTTPDeadlines
    private let sign: (@Sendable (inout HTTPRequest) throws -> Void)?

    /// Nothing is checked or begun before ``open()``.
    ///
    /// - Parameters:
    ///   - url: where to, with http or https and without user name or fragment; ASCII only.
    ///   - format: how events become a request, and what answers mean.
    ///   - headers: sent with every request, over those of the format.
    ///   - deadlines: how long one request may take. They bind the system's client; a `client` has its own.
    ///   - client: what sends the requests; nil for the system's.
    ///   - sign: the last to change a request, such as to add a signature or a token that does not live long. What it
    ///     throws is taken as a retry of the batch.
    public init(
        to url: String,
        format: any WireFormat = .jsonArray,
        headers: [String: String] = [:],
        deadlines: HTTPDeadlines = HTTPDeadlines(),
        client: (any HTTPClient)? = nil,
        sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil
    ) {
        self.url = url
        self.format = format
        self.headers = headers
        self.deadlines = deadlines
        self.client = client ?? SystemClient(deadlines)
        self.sign = sign
    }

    public var maximumBatchSize: BatchSize { format.maximumBatchSize }

    /// - Throws: ``SluiceError/Code/invalidArgument`` for a URL, a header or a deadline that is none, and
    ///   ``SluiceError/Code/missingLibrary`` if there is no libcurl on this system.
    public func open() throws(SluiceError) {
        try HTTPURL.check(url)
        for (name, value) in headers {
            try HTTPRequest.checkHeader(name, value)
        }
        try deadlines.check()
        try client.open()
    }

    public func send(_ batch: Batch) async throws -> Verdicts {
        var request = HTTPRequest(url: url)
        try format.encode(batch, into: &request)
        // Sorted, since the same batch is to become the same request each time.
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            request.setHeader(name, value)
        }
        if request.header("User-Agent") == nil { request.setHeader("User-Agent", "Sluice") }
        try sign?(&request)
        try request.check()
        return format.classify(try await client.send(request), batch)
    }
}
