/// Where a store reports what happens to events after they were accepted, or before this life began.
///
/// Every method may be called from any thread and with the store's own lock held: it takes only the ledger's. An
/// event is reported once, in one of the ways.
public struct StoreObserver: Sendable {
    private let onRecovered: @Sendable (_ count: Int) -> Void
    private let onDropped: @Sendable (_ count: Int, _ reason: DropReason) -> Void
    private let onDeadLettersDropped: @Sendable (_ count: Int, _ reason: DropReason) -> Void
    private let onNote: @Sendable (_ message: String) -> Void

    public init(
        onRecovered: @escaping @Sendable (_ count: Int) -> Void,
        onDropped: @escaping @Sendable (_ count: Int, _ reason: DropReason) -> Void,
        onDeadLettersDropped: @escaping @Sendable (_ count: Int, _ reason: DropReason) -> Void = { _, _ in },
        onNote: @escaping @Sendable (_ message: String) -> Void
    ) {
        self.onRecovered = onRecovered
        self.onDropped = onDropped
        self.onDeadLettersDropped = onDeadLettersDropped
        self.onNote = onNote
    }

    /// Events of an earlier life were found; from now on they are in ``Store/backlog``.
    public func recovered(_ count: Int) {
        if count > 0 { onRecovered(count) }
    }

    /// Events that had been accepted or recovered are gone.
    public func dropped(_ count: Int, _ reason: DropReason) {
        if count > 0 { onDropped(count, reason) }
    }

    /// Reports that dead letters were lost: evicted to make room, or deleted by someone else.
    public func deadLettersDropped(_ count: Int, _ reason: DropReason) {
        if count > 0 { onDeadLettersDropped(count, reason) }
    }

    /// Something that a host may want to know, without consequence for the counts; handed to its diagnostics.
    public func note(_ message: String) {
        onNote(message)
    }
}
