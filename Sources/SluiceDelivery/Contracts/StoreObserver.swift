/// Receives a store's reports about events that it recovered or lost.
///
/// You can call its methods from any thread, also with your store's own lock held. Report each event once.
public struct StoreObserver: Sendable {
    private let onRecovered: @Sendable (_ count: Int) -> Void
    private let onUnread: @Sendable (_ bytes: Int) -> Void
    private let onDropped: @Sendable (_ count: Int, _ reason: DropReason) -> Void
    private let onDeadLettersDropped: @Sendable (_ count: Int, _ reason: DropReason) -> Void
    private let onNote: @Sendable (_ message: String) -> Void

    /// Creates an observer. A test of your store passes closures that record the reports.
    public init(
        onRecovered: @escaping @Sendable (_ count: Int) -> Void = { _ in },
        onUnread: @escaping @Sendable (_ bytes: Int) -> Void = { _ in },
        onDropped: @escaping @Sendable (_ count: Int, _ reason: DropReason) -> Void = { _, _ in },
        onDeadLettersDropped: @escaping @Sendable (_ count: Int, _ reason: DropReason) -> Void = { _, _ in },
        onNote: @escaping @Sendable (_ message: String) -> Void = { _ in }
    ) {
        self.onRecovered = onRecovered
        self.onUnread = onUnread
        self.onDropped = onDropped
        self.onDeadLettersDropped = onDeadLettersDropped
        self.onNote = onNote
    }

    /// Reports that events of an earlier process were found. From now on they are part of ``Store/backlog``.
    public func recovered(_ count: Int) {
        if count > 0 { onRecovered(count) }
    }

    /// Reports the size of the events of earlier processes that the store has not counted yet. Report it when it changes, and
    /// zero when all of them are counted. Until then, the pipeline asks for batches without knowing how many events wait.
    public func unread(_ bytes: Int) { onUnread(bytes) }

    /// Reports that accepted or recovered events are lost.
    public func dropped(_ count: Int, _ reason: DropReason) {
        if count > 0 { onDropped(count, reason) }
    }

    /// Reports that dead letters were lost: evicted to make room, or deleted by someone else.
    public func deadLettersDropped(_ count: Int, _ reason: DropReason) {
        if count > 0 { onDeadLettersDropped(count, reason) }
    }

    /// Passes a message to the host's diagnostics. It doesn't change the counts.
    public func note(_ message: String) {
        onNote(message)
    }
}
