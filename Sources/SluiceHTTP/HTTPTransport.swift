public import Sluice
import SluiceGzip

/// Posts batches of events to an HTTP backend.
///
/// ```swift
/// let pipeline = try Pipeline {
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector, format: .ndjson, headers: ["Authorization": "Bearer \(secret)"])
/// }
/// ```
///
/// It uses the system's libcurl on Linux and `URLSession` on Apple's platforms. It verifies certificates, and uses the
/// proxies of the environment or the system. It doesn't follow redirects, and it doesn't keep cookies. Bodies of 256
/// bytes or more are compressed if the format's backend accepts gzip.
///
/// Every request has the header `X-Sent-At`, the time of sending as ``Sluice/Timestamp/description``. A server can
/// subtract it from its own time to correct the times of events.
///
/// Events that the format can't send, because they are too large or unreadable, become dead letters. The other events
/// of the batch are sent without them.
///
/// Errors of connections name the host and the port. Errors and verdicts never contain the rest of a URL, a header or a
/// body. You can use a transport from any thread.
public final class HTTPTransport: Transport {
    private let url: String
    private let format: any WireFormat
    private let headers: [String: String]
    private let configuration: Configuration
    let client: any HTTPClient
    /// The clocks of the pipeline that has opened the transport.
    private let time = Locked<any TimeSource>(PipelineEnvironment.systemTime)
    /// Gets the note about a missing zlib. Nil when it was given.
    private let observer = Locked<TransportObserver?>(nil)
    private let requestIDs = Locked(RequestIDs(random: PipelineEnvironment.systemRandom))
    let clock: ClockCorrection?

    /// Creates a transport. The arguments are validated when you build the pipeline.
    ///
    /// - Parameters:
    ///   - url: An http or https URL in ASCII, without a user name or fragment.
    ///   - format: The backend's format.
    ///   - headers: Headers for every request. They replace the format's own.
    ///   - configuration: Compression, timeouts, signatures, the correction of clocks, and a client of your own.
    public init(
        to url: String, format: HTTPFormat = .jsonArray, headers: [String: String] = [:],
        configuration: Configuration = Configuration()
    ) {
        self.url = url
        self.format = format.wire
        self.headers = headers
        self.configuration = configuration
        client = configuration.client ?? SystemClient(configuration.timeouts, time)
        clock = ClockCorrection(configuration, time)
    }

    /// The largest batch that the format's backend accepts.
    public var maximumBatchSize: BatchSize { format.maximumBatchSize }

    /// How far the server's clock is ahead of this system's wall clock. Zero while both clocks can agree. Nil before
    /// the first response, or if ``Configuration/clockCorrection`` is off.
    public var clockSkew: Duration? { clock?.skew.map { .milliseconds($0) } }

    /// Loads the client now. Without this call, it is loaded before the first request, on a thread of the route: a program
    /// that sends nothing doesn't need it, and loading libcurl takes longer than building a pipeline.
    ///
    /// ```swift
    /// let transport = HTTPTransport(to: collector)
    /// try transport.check()
    /// ```
    ///
    /// You can call this from any thread, before or after you build the pipeline.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/missingLibrary`` if the system has no libcurl. Without this call, the route then
    ///   pauses, a `.paused` diagnostic says why, and the events wait.
    public func check() throws(SluiceError) { try client.check() }

    /// Validates the arguments, and reads the skew of the clocks that an earlier launch has learned.
    ///
    /// - Parameters:
    ///   - observer: Gets a message if bodies should be compressed but the system has no zlib, and if the skew is damaged or
    ///     can't be kept.
    ///   - environment: The clocks for ``HTTPRequest/sendTime`` and the clock correction. Timeouts are the client's.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the URL, a header, a timeout or an argument of the format
    ///   is invalid, and an error of the place where the skew is kept.
    public func open(
        _ observer: TransportObserver = TransportObserver(), in environment: PipelineEnvironment = PipelineEnvironment()
    ) throws(SluiceError) {
        time.withLock { $0 = environment.time }
        requestIDs.withLock { $0 = RequestIDs(random: environment.random) }
        try HTTPRequest(url: url, headers: headers.map { ($0, $1) }).check()
        try format.validate()
        try SluiceError.require(
            Set(headers.keys.map { $0.lowercased() }).count == headers.count,
            "two headers differ only in the case of their names; pass one of them")
        try configuration.timeouts.check()
        try client.open()
        self.observer.withLock { $0 = observer }
        try clock?.open(observer)
    }

    /// Sends a batch in one request, or in one request for each endpoint of the format. If InfluxDB's answer is about one
    /// hour only, requests for single hours follow, 16 at most: the other hours are sent later.
    ///
    /// A response counts only for the events of its request. If a request gets no response, the remaining requests are
    /// not sent, and their events are retried. If a response names a time, the remaining requests to this endpoint aren't sent
    /// either. The same holds for a request for an hour that gets an answer that isn't about its events, such as a 429.
    ///
    /// - Throws: An error if there was no complete response.
    public func send(_ batch: Batch) async throws -> Verdicts {
        let skew = clock?.skew ?? 0
        let batch = ClockCorrection.correct(batch, by: skew)
        let wall = time.withLock(\.self).wallTime()
        var blank = HTTPRequest(
            url: url, sendTime: Timestamp(milliseconds: wall.milliseconds &+ skew), retryCount: batch.retryCount)
        blank.id = requestIDs.withLock { $0.id(of: batch.id, at: blank.sendTime) }.description
        blank.setHeader("X-Sent-At", blank.sendTime.description)
        var requests = format.requests(of: batch)
        var results: [(events: [Int], verdicts: Verdicts)] = []
        while let (endpoint, events) = requests.first {
            blank.endpoint = endpoint
            do {
                let isWhole = events.count == batch.events.count
                let verdicts = try await send(isWhole ? batch : Batch(batch, events), blank)
                requests.removeFirst()
                // A time that an endpoint names is for all requests to it.
                let others = verdicts.hasTime ? requests.filter { $0.endpoint.isPlace(of: endpoint) } : []
                // The endpoint without a name is the receiver itself.
                if results.isEmpty, others.count == requests.count, endpoint.isPlace(of: "") { return verdicts }
                if !others.isEmpty { requests.removeAll { $0.endpoint.isPlace(of: endpoint) } }
                results.append((events + others.flatMap(\.events), verdicts))
            } catch {
                guard !results.isEmpty else { throw error }
                results.append((requests.flatMap(\.events), .all(.retry(error))))
                break
            }
        }
        return .merging(results, of: batch.events.count)
    }

    /// Sends parts of a batch, each in a request of its own. `first` is the answer to the batch, which leaves them open.
    ///
    /// All parts have one receiver. So an answer that isn't about events is the last one, and counts for the remaining parts.
    /// It counts for the whole batch if nothing is decided.
    private func send(_ parts: [[Int]], of batch: Batch, _ blank: HTTPRequest, _ first: Verdicts) async -> Verdicts {
        var (list, answer, answered) = (first.list(of: batch.events.count), first, 0)
        for part in parts.prefix(HTTPTransport.maximumParts) {
            do {
                answer = try await send(Batch(batch, part), blank)
            } catch {
                answer = .all(.retry(error))
            }
            if answer.isOfReceiver { break }
            for (index, verdict) in zip(part, answer.list(of: part.count)) { list[index] = verdict }
            answered += 1
        }
        let isTaken = list.contains { $0.isAccepted || $0.kind == .retry(after: .zero) }
        if answer.isOfReceiver, answered == 0 || !isTaken { return answer }
        // If nothing shows that the receiver takes other events, the route finds out.
        let rest = answer.isOfReceiver ? answer.list(of: 1)[0] : .retry(after: .zero)
        for index in parts.dropFirst(answered).joined() where isTaken { list[index] = rest }
        return .each(list, status: answer.status)
    }

    /// So a batch with many parts takes several attempts, which the route can end or delay.
    private static let maximumParts = 16

    /// Sends events of one endpoint.
    private func send(_ batch: Batch, _ blank: HTTPRequest) async throws -> Verdicts {
        var (unsendable, request): ([Int: String], HTTPRequest?) = ([:], nil)
        // Only large events can exceed the limit for one event. Other events are encoded once.
        for size in [format.maximumEventBytes / 2, -1] where request == nil {
            unsendable = format.unsendable(in: batch, of: blank) { $0.bytes.count > size }
            request = encode(batch.without(unsendable.keys), into: blank)
        }
        var verdicts = Verdicts.all(.tooLarge())
        if let request {
            let sent = batch.without(unsendable.keys)
            do {
                verdicts = try await send(request, with: sent)
                let parts = verdicts.open(in: request.parts)
                if parts.count > 1 { verdicts = await send(parts, of: sent, blank, verdicts) }
            } catch let error where !unsendable.isEmpty && !(error is CancellationError) {
                // The verdict on an unsendable event doesn't depend on the receiver.
                verdicts = .all(.retry(error))
            }
        }
        return verdicts.inserting(unsendable: unsendable, of: batch.events.count)
    }

    /// - Returns: Nil if there is nothing to send, an event can't be encoded, or the body is too long.
    private func encode(_ batch: Batch, into blank: HTTPRequest) -> HTTPRequest? {
        guard !batch.events.isEmpty else { return nil }
        var request = blank
        let isEncoded: Void? = attempt(try format.encode(batch, into: &request), or: nil)
        return isEncoded != nil && request.body.count <= format.maximumBodyBytes ? request : nil
    }

    private func send(_ encoded: HTTPRequest, with batch: Batch) async throws -> Verdicts {
        var request = encoded
        // Sorted, because a retry must be the same request.
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            request.setHeader(name, value)
        }
        if request.header("User-Agent") == nil { request.setHeader("User-Agent", "Sluice") }
        if configuration.gzip, format.acceptsGzip, request.body.count > HTTPRequest.gzipThreshold { compress(&request) }
        let unsigned = request
        try await configuration.sign?(&request)
        // No retry can mend a signed request that can't be sent.
        if let error = SluiceError.of(try request.check()) { return .all(.hold(reason: error.message)) }
        do {
            var response = try await respond(to: request)
            if response.status == 401, let other = try await otherSigned(unsigned, than: request) {
                if let error = SluiceError.of(try other.check()) { return .all(.hold(reason: error.message)) }
                response = try await respond(to: other)
            }
            return format.verdicts(for: batch, from: response).explained(by: response)
        } catch let error as SluiceError where error.code == .missingLibrary {
            return .all(.hold(reason: error.message))
        }
    }

    private func compress(_ request: inout HTTPRequest) {
        if let deflater = configuration.deflater() { return request.gzip(by: deflater) }
        let observer = observer.withLock { $0.take() }
        observer?.note("bodies are sent uncompressed, since HTTPTransport found no zlib (libz.so.1); install it")
    }

    private func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        let begin = clock?.now
        var response: HTTPResponse
        do {
            response = try await client.send(request)
        } catch var error as SluiceError where error.code != .missingLibrary {
            error.message += " (\(HTTPURL.place(in: request.url)))"
            throw error
        }
        if let begin { clock?.note(response, since: begin) }
        (response.endpoint, response.url) = (request.endpoint, request.url)
        return response
    }

    /// Signs the request once more, because the receiver has refused its signature.
    ///
    /// - Returns: Nil if the signature is the same.
    private func otherSigned(_ unsigned: HTTPRequest, than refused: HTTPRequest) async throws -> HTTPRequest? {
        guard let sign = configuration.sign else { return nil }
        var request = unsigned
        request.wasUnauthorized = true
        try await sign(&request)
        let isSame =
            request.url == refused.url && request.body == refused.body
            && request.headers.elementsEqual(refused.headers, by: ==)
        return isSame ? nil : request
    }
}

extension HTTPTransport: CustomStringConvertible, CustomReflectable {
    /// The name of the format's type.
    public var description: String { "HTTPTransport(\(type(of: format)))" }
    /// Empty, since the URL and headers may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
