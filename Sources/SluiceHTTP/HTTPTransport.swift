public import Sluice

/// Posts batches to an HTTP backend.
///
/// ```swift
/// Route("backend") {
///     JSONLStore(at: directory)
///     HTTPTransport(to: "https://collector.example/events", format: .ndjson, headers: ["Authorization": "Bearer …"])
/// }
/// ```
///
/// On Linux it uses the system's libcurl, on Apple's platforms `URLSession`. Redirects are not followed, cookies are
/// not kept, certificates are verified, and proxies are those of the environment or the system. Bodies of more than 1 KiB
/// are compressed where the format's receivers are known to read gzip.
///
/// No URL, header, or body ever gets into an error's or a verdict's text, nor into what is printed of a transport. Safe
/// from any thread.
public final class HTTPTransport: Transport {
    private let url: String
    private let format: any WireFormat
    private let headers: [String: String]
    private let gzip: Bool
    private let deflater: Deflater?
    private let time: any TimeSource
    private let clock: ClockCorrection?
    private let client: any HTTPClient
    private let deadlines: HTTPDeadlines
    private let sign: (@Sendable (inout HTTPRequest) throws -> Void)?
    private let onDiagnostic: (@Sendable (Diagnostic) -> Void)?

    /// Nothing is checked or begun before ``open()``.
    ///
    /// - Parameters:
    ///   - url: where to, with http or https and without user name or fragment; ASCII only.
    ///   - format: how events become a request, and what answers mean.
    ///   - headers: sent with every request, over those of the format.
    ///   - gzip: whether bodies may be compressed at all.
    ///   - deadlines: how long one request may take. They bind the system's client; a `client` has its own.
    ///   - client: what sends the requests; nil for the system's.
    ///   - time: whose wall clock envelopes show as the time of sending.
    ///   - clock: learns the server's time from its answers; list it as a processor, too.
    ///   - sign: the last to change a request, such as to add a signature or a token that does not live long; it sees the
    ///     body as it is sent. What it throws is taken as a retry of the batch.
    ///   - onDiagnostic: called by ``open()``, once, if bodies would be compressed but the system has no zlib.
    public convenience init(
        to url: String,
        format: any WireFormat = .jsonArray,
        headers: [String: String] = [:],
        gzip: Bool = true,
        deadlines: HTTPDeadlines = HTTPDeadlines(),
        client: (any HTTPClient)? = nil,
        time: any TimeSource = SystemTime(),
        clock: ClockCorrection? = nil,
        sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil,
        onDiagnostic: (@Sendable (Diagnostic) -> Void)? = nil
    ) {
        self.init(
            to: url, format: format, headers: headers, gzip: gzip, deflater: .system, deadlines: deadlines,
            client: client, time: time, clock: clock, sign: sign, onDiagnostic: onDiagnostic)
    }

    init(
        to url: String, format: any WireFormat, headers: [String: String], gzip: Bool, deflater: Deflater?,
        deadlines: HTTPDeadlines, client: (any HTTPClient)?, time: any TimeSource,
        clock: ClockCorrection? = nil, sign: (@Sendable (inout HTTPRequest) throws -> Void)?,
        onDiagnostic: (@Sendable (Diagnostic) -> Void)?
    ) {
        self.url = url
        self.format = format
        self.headers = headers
        self.gzip = gzip && format.acceptsGzip
        self.deflater = deflater
        self.deadlines = deadlines
        self.client = client ?? SystemClient(deadlines)
        self.time = time
        self.clock = clock
        self.sign = sign
        self.onDiagnostic = onDiagnostic
    }

    public var maximumBatchSize: BatchSize { format.maximumBatchSize }

    public var clockSkew: Duration? { clock?.skew }

    /// - Throws: ``SluiceError/Code/invalidArgument`` for a URL, a header or a deadline that is none, and
    ///   ``SluiceError/Code/missingLibrary`` if there is no libcurl on this system.
    public func open() throws(SluiceError) {
        try HTTPURL.check(url)
        for (name, value) in headers {
            try HTTPRequest.checkHeader(name, value)
        }
        try deadlines.check()
        try client.open()
        if gzip, deflater == nil {
            onDiagnostic?(
                Diagnostic(
                    kind: .note, route: "",
                    message: "bodies are sent uncompressed: HTTPTransport found no zlib (libz.so.1) on this system"))
        }
    }

    public func send(_ batch: Batch) async throws -> Verdicts {
        let blank = HTTPRequest(url: url, sendTime: time.wallTime())
        do {
            let oversized = try format.oversizedEvents(in: batch, of: blank)
            guard !oversized.isEmpty else { return try await send(batch, as: blank) }
            let fitting = batch.events.enumerated().filter { !oversized.contains($0.offset) }.map(\.element)
            let verdicts: Verdicts =
                fitting.isEmpty ? .each([]) : try await send(Batch(id: batch.id, events: fitting), as: blank)
            return verdicts.inserting(tooLarge: oversized, of: batch.events.count)
        } catch let error as SluiceError where error.code == .malformedLine {
            // One line that cannot be read must not hold up the others: sent in parts, it ends up alone.
            return .all(.split(.refused("the stored line of an event cannot be read")))
        }
    }

    private func send(_ batch: Batch, as blank: HTTPRequest) async throws -> Verdicts {
        var request = blank
        try format.encode(batch, into: &request)
        guard request.body.count <= format.maximumBodyBytes else { return .all(.split(.tooLarge)) }
        // Sorted, since the same batch is to become the same request each time.
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            request.setHeader(name, value)
        }
        if request.header("User-Agent") == nil { request.setHeader("User-Agent", "Sluice") }
        if gzip, let deflater { request.gzip(by: deflater) }
        try sign?(&request)
        try request.check()
        let begin = clock?.now
        let answer = try await client.send(request)
        if let begin { clock?.note(answer, since: begin) }
        return format.classify(answer, batch).explained(by: answer)
    }
}

/// Only what is no secret.
extension HTTPTransport: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "HTTPTransport(\(type(of: format)))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
