/// Sends batches to a receiver and returns a verdict for each event.
///
/// ## Conforming
/// - Implement ``send(_:)``. It's called for one batch after another, or for up to three at a time if the route's policy
///   allows that.
/// - Return soon after the task is cancelled, and always return: a transport over a network needs timeouts of its own.
/// - Don't keep events back. The store forgets an event as soon as its verdict is ``Verdict/accepted``.
/// - Expect the same events again, in the same or smaller batches, after every verdict except an acceptance.
/// - Throw a ``SluiceError`` to have its text shown in the diagnostics. Of any other error only the type is shown.
/// - Check your transport with `TransportContract` of SluiceTesting.
public protocol Transport: Sendable {
    /// Prepares the transport. Called once for each pipeline, before any batch. The default does nothing.
    ///
    /// - Parameter observer: receives messages for the host's diagnostics, also later.
    /// - Throws: an error if the transport can't be used, for example because its URL is invalid. The pipeline is then
    ///   not built.
    func open(_ observer: TransportObserver) throws(SluiceError)

    /// Sends the events of `batch`, in order.
    ///
    /// - Returns: one verdict for all events, or one for each event in the order of the batch.
    /// - Throws: any error. It counts as ``Verdict/retry(after:reason:)`` for the whole batch.
    func send(_ batch: Batch) async throws -> Verdicts

    /// The largest batch that the receiver takes. The default is no limit.
    var maximumBatchSize: BatchSize { get }

    /// The status of the receiver's last response, such as 503 of HTTP, for ``RouteLedger/lastStatus``. The default is nil.
    var lastStatus: Int? { get }
}

extension Transport {
    /// Does nothing.
    public func open(_ observer: TransportObserver) throws(SluiceError) {}
    /// Returns no limit.
    public var maximumBatchSize: BatchSize { BatchSize(events: .max, bytes: .max) }
    /// Returns nil.
    public var lastStatus: Int? { nil }
}

/// Accepts every event and sends it nowhere: for previews, and for builds without analytics.
///
/// ```swift
/// let pipeline = try Pipeline {
///     MemoryStore()
///     NullTransport()
/// }
/// ```
///
/// The ledger counts the events as delivered.
public struct NullTransport: Transport {
    /// Creates a transport.
    public init() {}

    /// Accepts all events.
    public func send(_ batch: Batch) async throws -> Verdicts { .all(.accepted) }
}

/// The result of sending one event.
public enum Verdict: Sendable, Hashable {
    /// The receiver took the event.
    case accepted
    /// The receiver already had the event.
    case duplicate
    /// Send the event again, not before `after` if you pass it, and otherwise after the route's back-off. The reason is
    /// shown in the diagnostics and the ledger.
    case retry(after: Duration?, reason: String = "")
    /// The receiver refused this event for good. It becomes a dead letter immediately.
    case rejected(String)
    /// The transport can't send this event: it is too large for the wire format, or unreadable. It becomes a dead letter
    /// without counting as a refusal by the receiver.
    case unsendable(String)
    /// The request has too many bytes or events. The batch is sent in smaller parts. An event that is too large on its own
    /// becomes a dead letter.
    case tooLarge
    /// The receiver refused the request because of at least one of its events. The batch is sent in smaller parts to find
    /// it. An event that is refused on its own becomes a dead letter.
    case split(String)
    /// The receiver takes nothing at present, for a reason that isn't in the events, such as a wrong key. All events are
    /// kept, and the route probes now and then.
    case hold(String)
}

/// The verdicts for the events of a batch.
public enum Verdicts: Sendable, Hashable {
    /// One verdict for the request as a whole.
    case all(Verdict)
    /// One verdict for each event, in the order of the batch. Use this only if the receiver named the events: a
    /// ``Verdict/retry(after:reason:)`` in the list defers that event, and the other events go on. With `after: .zero` it is
    /// sent again without a pause, for a receiver that takes a request as a whole after the named events are gone. A list
    /// of the wrong length counts as a retry of the whole batch.
    case each([Verdict])
}
