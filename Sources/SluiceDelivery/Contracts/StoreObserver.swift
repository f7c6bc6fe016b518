/// Receives a store's reports about events that it recovered or lost.
///
/// You can call its methods from any thread, even with your store's own lock held. Report each event once.
public struct StoreObserver: Sendable {
    /// The name of the route that opens the store. Nil in a test, or in a tool without a pipeline.
    ///
    /// Waiting events belong to one receiver. If your store outlives its process, keep the name with the events, and hand them
    /// out to a route of the same name only.
    public let route: String?
    private let onRecovered: @Sendable (_ count: Int) -> Void
    private let onUnread: @Sendable (_ bytes: Int) -> Void
    private let onDropped: @Sendable (_ count: Int, _ reason: DropReason) -> Void
    private let onDeadLettersDropped: @Sendable (_ count: Int, _ reason: DropReason) -> Void
    private let onNote: @Sendable (_ message: String) -> Void

    /// Creates an observer. A test of your store passes closures that record the reports.
    ///
    /// ```swift
    /// let observer = StoreObserver(onDropped: { count, reason in print("\(count) lost: \(reason)") })
    /// let store = MemoryStore()
    /// try store.open(observer, in: PipelineEnvironment())
    /// ```
    public init(
        route: String? = nil,
        onRecovered: @escaping @Sendable (_ count: Int) -> Void = { _ in },
        onUnread: @escaping @Sendable (_ bytes: Int) -> Void = { _ in },
        onDropped: @escaping @Sendable (_ count: Int, _ reason: DropReason) -> Void = { _, _ in },
        onDeadLettersDropped: @escaping @Sendable (_ count: Int, _ reason: DropReason) -> Void = { _, _ in },
        onNote: @escaping @Sendable (_ message: String) -> Void = { _ in }
    ) {
        self.route = route
        self.onRecovered = onRecovered
        self.onUnread = onUnread
        self.onDropped = onDropped
        self.onDeadLettersDropped = onDeadLettersDropped
        self.onNote = onNote
    }

    /// Reports that events of an earlier process were found. From now on they are part of ``Store/backlog``.
    ///
    /// ```swift
    /// observer.recovered(3)
    /// ```
    public func recovered(_ count: Int) {
        if count > 0 { onRecovered(count) }
    }

    /// Reports the size of the events of earlier processes that the store has not counted yet. Report it when it changes, and
    /// zero when all of them are counted. Until then, the pipeline asks for batches without knowing how many events wait.
    public func unread(_ bytes: Int) { onUnread(bytes) }

    /// Reports that accepted or recovered events are lost.
    ///
    /// ```swift
    /// observer.dropped(1, .storeFull)
    /// ```
    public func dropped(_ count: Int, _ reason: DropReason) {
        if count > 0 { onDropped(count, reason) }
    }

    /// Reports that dead letters were lost, for example because your store evicted them, they were too old or damaged, or
    /// another program deleted them.
    public func deadLettersDropped(_ count: Int, _ reason: DropReason) {
        if count > 0 { onDeadLettersDropped(count, reason) }
    }

    /// Passes a problem to the host's diagnostics, as ``Diagnostic/Kind/store``, whose severity is an error. It doesn't change the
    /// counts.
    ///
    /// ```swift
    /// observer.note("the database is slow: an append took 2 s")
    /// ```
    public func note(_ message: String) { onNote(message) }
}
