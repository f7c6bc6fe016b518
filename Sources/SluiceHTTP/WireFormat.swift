public import Sluice

/// How a batch becomes a request, and what the answer to it means for each event: the part of ``HTTPTransport`` that
/// differs from backend to backend.
///
/// ```swift
/// struct CSVFormat: WireFormat {
///     func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
///         request.setHeader("Content-Type", "text/csv")
///         request.body = …
///     }
/// }
/// ```
///
/// ## Conforming
/// - ``encode(_:into:)`` writes the same bytes for the same batch, so that a retry can be known as one. Only an envelope
///   may tell ``HTTPRequest/sendTime``.
/// - ``classify(_:_:)`` calls events accepted only if the answer says so: its word is what the store forgets by. If the
///   answer's body decides, look at ``HTTPAnswer/isWhole`` first.
/// - An event is called rejected only beside others that are not: a receiver that refuses everything is at fault itself,
///   and ``Sluice/Verdict/split(_:)`` finds out.
/// - Texts in verdicts hold nothing of the events, of the answer's body, or of any credential. Nor does what is printed of
///   the format.
public protocol WireFormat: Sendable {
    /// Fills in the body and its content type, and whatever else of the request is the format's: method, path, query.
    ///
    /// - Parameters:
    ///   - batch: never empty.
    ///   - request: comes with the transport's URL and the method POST. Headers that were given to the
    ///     transport go over those that are set here.
    /// - Throws: ``Sluice/SluiceError/Code/malformedLine`` if an event's line cannot be read; the batch is then split until
    ///   that event stands alone. After any other error the batch is retried.
    func encode(_ batch: Batch, into request: inout HTTPRequest) throws

    /// What the answer means for the events of the batch. By default, ``HTTPAnswer/verdict`` for all of them.
    func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts

    /// The largest batch that its receivers are known to take. By default 1,000,000 bytes of events, since many servers
    /// take no body above 1 MiB unless told to.
    var maximumBatchSize: BatchSize { get }

    /// The longest body that is sent, before its compression: a batch that turns out longer is split. By default there is
    /// no such limit.
    var maximumBodyBytes: Int { get }

    /// The longest body of a single event that its receivers take, where they have such a limit beside that of a whole
    /// body. A larger event is not sent; it becomes a dead letter beside others that are accepted. By default there is no
    /// such limit.
    var maximumEventBytes: Int { get }

    /// Whether the receivers are known to read bodies with `Content-Encoding: gzip`. By default they are not.
    var acceptsGzip: Bool { get }
}

extension WireFormat {
    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        .all(answer.verdict)
    }

    public var maximumBatchSize: BatchSize {
        BatchSize(events: .max, bytes: 1_000_000)
    }

    public var maximumBodyBytes: Int { .max }

    public var maximumEventBytes: Int { .max }

    public var acceptsGzip: Bool { false }
}
