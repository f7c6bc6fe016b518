/// Sends batches to a receiver and returns a verdict for each event.
///
/// ```swift
/// /// Appends each event to a file, one line for each.
/// struct LineFile: Transport {
///     let url: URL
///
///     func send(_ batch: Batch) async throws -> Verdicts {
///         let file = try FileHandle(forWritingTo: url)
///         try file.seekToEnd()
///         for line in batch.events { try file.write(contentsOf: Data(line.bytes) + [0x0A]) }
///         try file.close()
///         return .all(.accepted)
///     }
/// }
/// ```
///
/// ## Conforming
/// - Implement ``send(_:)``. It's called for one batch after another, or for up to three at a time if the route's policy
///   allows that.
/// - Return soon after the task is cancelled, and always return: a transport over a network needs timeouts of its own.
/// - Don't await a flush, a deletion or the shutdown of the pipeline in ``send(_:)``: they wait for the batches in flight. A
///   flush and a deletion return without waiting, and a diagnostic reports that. This also applies to tasks that you start
///   there, unless they are detached.
/// - Don't keep events back. The store forgets an event as soon as its verdict is ``Verdict/accepted``.
/// - Expect the same events once more, in the same or another batch, after every verdict except an acceptance.
/// - Throw a ``SluiceError`` to have its text shown in the diagnostics. Of any other error only the type is shown.
/// - Check your transport with `TransportContract` of SluiceTesting.
public protocol Transport: Sendable {
    /// Prepares the transport. Called once for each pipeline, before any batch. The default does nothing.
    ///
    /// - Parameters:
    ///   - observer: receives messages for the host's diagnostics, also later.
    ///   - environment: the clocks and random numbers of the pipeline.
    /// - Throws: an error if the transport can't be used, for example because its URL is invalid. The pipeline is then
    ///   not built.
    func open(_ observer: TransportObserver, in environment: PipelineEnvironment) throws(SluiceError)

    /// Sends the events of `batch`, in order.
    ///
    /// - Returns: one verdict for all events, or one for each event in the order of the batch.
    /// - Throws: any error. It counts as ``Verdict/retry(after:reason:)`` for the whole batch.
    func send(_ batch: Batch) async throws -> Verdicts

    /// The largest batch that the receiver takes. The default is no limit.
    ///
    /// ```swift
    /// struct Datagrams: Transport {
    ///     var maximumBatchSize: BatchSize { BatchSize(events: 10, bytes: 8_192) }
    ///
    ///     func send(_ batch: Batch) async throws -> Verdicts { .all(.accepted) }
    /// }
    /// ```
    var maximumBatchSize: BatchSize { get }
}

extension Transport {
    /// Does nothing.
    public func open(_ observer: TransportObserver, in environment: PipelineEnvironment) throws(SluiceError) {}
    /// Returns no limit.
    public var maximumBatchSize: BatchSize { .unlimited }
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
