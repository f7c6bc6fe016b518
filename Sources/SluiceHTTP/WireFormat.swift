public import Sluice

/// Turns a batch into an HTTP request, and the response into a verdict for each event.
///
/// Conform to this protocol to send events to a backend that ``HTTPFormat`` doesn't have, and pass your format as
/// `HTTPFormat(CSVFormat())`:
///
/// ```swift
/// struct CSVFormat: WireFormat {
///     func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
///         request.setHeader("Content-Type", "text/csv")
///         for line in batch.events {
///             let event = try line.event()
///             request.body += Array("\(event.id),\(event.time),\(event.name)\n".utf8)
///         }
///     }
///
///     func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
///         response.status == 400 ? .all(.split(reason: "the server refused the events")) : .all(response.verdict)
///     }
/// }
/// ```
///
/// ## Conforming
/// - Write the same bytes for the same batch, because the backend recognizes a retry by them. Only an envelope may
///   contain ``HTTPRequest/sendTime`` and ``HTTPRequest/retryCount``.
/// - Return an acceptance only if the response confirms it, because the store then deletes the event. If the body
///   decides, check ``HTTPResponse/isComplete`` first.
/// - Return `.rejected` for an event only if the backend names that event. If it refuses the request without naming an
///   event, return `.split`.
/// - Keep events, response bodies and credentials out of the reasons of your verdicts. The transport gives the beginning of the
///   body to dead letters. Set ``Sluice/Verdict/response`` if the backend has words for a single event.
public protocol WireFormat: Sendable {
    /// Sets the body and its content type, and the method, path and query if your backend needs them.
    ///
    /// - Parameters:
    ///   - batch: At least one event.
    ///   - request: A POST to the transport's URL. The transport's headers replace headers that you set here.
    /// - Throws: Any error if an event can't be encoded, such as the error of ``Sluice/EventLine/event()``. The
    ///   transport then encodes each event alone. Events that throw become dead letters, and the others are sent
    ///   without them. For tokens that may be missing temporarily, use ``HTTPTransport/Configuration/sign``.
    func encode(_ batch: Batch, into request: inout HTTPRequest) throws

    /// Reads the response. By default, every event gets ``HTTPResponse/verdict``, or a hold if the status is 2xx and the
    /// body is a page in HTML.
    ///
    /// - Parameters:
    ///   - batch: The events that were sent.
    ///   - response: The response to that request, with any status.
    /// - Returns: One verdict for all events, or one for each event in the order of the batch.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts

    /// Returns the names of the requests that an event belongs to, for a backend with several endpoints.
    ///
    /// ```swift
    /// struct TwoEndpoints: WireFormat {
    ///     func endpoints(for line: EventLine) throws -> [String] {
    ///         try line.event().name == "$SignUp" ? ["users", "events"] : ["events"]
    ///     }
    ///
    ///     func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
    ///         request.appendPath(request.endpoint)
    ///         var body = JSONWriter()
    ///         body.array(batch.events) { $0.raw($1.json) }
    ///         request.body = body.bytes
    ///     }
    /// }
    /// ```
    ///
    /// Events with the same name are sent together in one request, in their order. The batches that ``encode(_:into:)``
    /// and ``verdicts(for:from:)`` receive belong to one name, which is in ``HTTPRequest/endpoint`` and
    /// ``HTTPResponse/endpoint``. The requests of a batch are sent one after another, in the order of their first events,
    /// after any response, also a refusal. If a request gets no response, the remaining ones aren't sent. An event can
    /// therefore arrive before an earlier one with another name. An event with several names is accepted if each of its
    /// requests is. By default, all events have the same name, which is empty.
    ///
    /// The text behind a zero byte in a name only divides the requests to one endpoint: `"\0" + userID` makes a request for each
    /// user. If a response asks for a time, such as by Retry-After, the events for its endpoint wait for it, and the remaining
    /// requests to it aren't sent. The whole route waits if all events of the batch are for the endpoint without a name.
    ///
    /// - Parameter line: An event. The names must depend on nothing else.
    /// - Returns: At least one name of an endpoint, such as the last segment of its path.
    /// - Throws: Any error if the line can't be read. The event becomes a dead letter if ``encode(_:into:)`` throws
    ///   too.
    func endpoints(for line: EventLine) throws -> [String]

    /// Checks the arguments of the format, such as its keys, when the pipeline is built. Does nothing by default.
    ///
    /// ```swift
    /// struct KeyFormat: WireFormat {
    ///     let key: String
    ///
    ///     func validate() throws(SluiceError) {
    ///         if key.isEmpty { throw SluiceError(.invalidArgument, "the key is empty: pass the key of your project") }
    ///     }
    ///
    ///     func encode(_ batch: Batch, into request: inout HTTPRequest) { request.setHeader("X-Key", key) }
    /// }
    /// ```
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` with a text that names the argument but doesn't contain
    ///   its value.
    func validate() throws(SluiceError)

    /// The largest batch that the backend accepts. By default 1,000,000 bytes of events, because many servers accept
    /// bodies of up to 1 MiB.
    var maximumBatchSize: BatchSize { get }

    /// The longest body that the backend accepts, before compression. A longer batch is divided, and a single event
    /// that makes a longer body becomes a dead letter. No limit by default.
    var maximumBodyBytes: Int { get }

    /// The longest body with a single event, for backends that limit events as well. A larger event becomes a dead
    /// letter. No limit by default.
    var maximumEventBytes: Int { get }

    /// Whether the backend accepts bodies with `Content-Encoding: gzip`. False by default.
    var acceptsGzip: Bool { get }
}

/// Made once, since each event is asked for its endpoints.
private let onlyEndpoint = [""]

extension WireFormat {
    /// ``HTTPResponse/verdict`` for every event. A 2xx with a page in HTML is no success: gateways and captive portals write
    /// such pages.
    public func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let isPage = (200...299).contains(response.status) && response.isPage
        return .all(isPage ? .unrecognized("a collector") : response.verdict)
    }
    /// The same name for all events.
    public func endpoints(for line: EventLine) -> [String] { onlyEndpoint }
    /// Does nothing.
    public func validate() throws(SluiceError) {}
    /// 1,000,000 bytes of events.
    public var maximumBatchSize: BatchSize { BatchSize(events: .max, bytes: 1_000_000) }
    /// No limit.
    public var maximumBodyBytes: Int { .max }
    /// No limit.
    public var maximumEventBytes: Int { .max }
    /// False.
    public var acceptsGzip: Bool { false }
}

/// A format that changes another one, such as a shipped one.
///
/// Implement only the requirements that you change. All others use ``base``:
///
/// ```swift
/// /// The format for OpenTelemetry, without the property `email`, and with a header for a gateway.
/// struct GatewayFormat: FormatWrapper {
///     let base: HTTPFormat
///
///     func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
///         let events = try batch.events.map { line in
///             var event = try line.event()
///             event.properties["email"] = nil
///             return try EventLine(event)
///         }
///         try base.encode(Batch(id: batch.id, events: events, retryCount: batch.retryCount), into: &request)
///         request.setHeader("X-Team", "checkout")
///     }
/// }
///
/// let format = HTTPFormat(GatewayFormat(base: .otlp(service: "shop")))
/// ```
///
/// Keep the number and the order of the events, because the verdicts are in that order.
public protocol FormatWrapper: WireFormat {
    /// The format that is changed.
    var base: HTTPFormat { get }
}

extension FormatWrapper {
    /// The base's request.
    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        try base.wire.encode(batch, into: &request)
    }
    /// The base's verdicts.
    public func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        base.wire.verdicts(for: batch, from: response)
    }
    /// The base's endpoints.
    public func endpoints(for line: EventLine) throws -> [String] { try base.wire.endpoints(for: line) }
    /// Checks the base's arguments.
    public func validate() throws(SluiceError) { try base.wire.validate() }
    /// The base's largest batch.
    public var maximumBatchSize: BatchSize { base.wire.maximumBatchSize }
    /// The base's limit.
    public var maximumBodyBytes: Int { base.wire.maximumBodyBytes }
    /// The base's limit.
    public var maximumEventBytes: Int { base.wire.maximumEventBytes }
    /// Whether the base's backend accepts gzip.
    public var acceptsGzip: Bool { base.wire.acceptsGzip }
}
