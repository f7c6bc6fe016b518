public import Sluice
private import SluiceMemory

/// A store that keeps every event for your assertions, even after its delivery, and fails where your test says so.
///
/// ```swift
/// let store = RecordingStore()
/// let pipeline = try Pipeline {
///     store
///     NullTransport()
/// }
/// pipeline.track("Purchase", ["amount": 12.5])
/// precondition(store.events.last?.properties["amount"] == 12.5)
/// ```
///
/// An event is recorded when `track` returns, so your test doesn't have to wait. You can use the store from any thread.
///
/// Pass a closure to let operations fail:
///
/// ```swift
/// let store = RecordingStore { operation, number in
///     operation == .append && number == 1 ? SluiceError(.storageFull, "the disk is full") : nil
/// }
/// let pipeline = try Pipeline {
///     store
///     ScriptedTransport()
/// }
/// for name in ["First", "Second", "Third"] { pipeline.track(name) }
/// precondition(pipeline.ledger.routes[0].dropped == [.storeFull: 1])
/// precondition(store.events.map(\.name) == ["First", "Third"])
/// ```
public final class RecordingStore: Store {
    /// An operation that can fail.
    public enum Operation: Sendable, Hashable, CaseIterable {
        case open, append, nextBatch, settle, synchronize
    }

    private struct State {
        var events: [Event] = []
        var rejected: [[DeadLetter]] = []
        var counts: [Operation: Int] = [:]
    }

    private let base: any Store
    private let fault: @Sendable (_ operation: Operation, _ number: Int) -> SluiceError?
    private let state = Locked(State())

    /// Creates a store, or wraps another one.
    ///
    /// - Parameters:
    ///   - base: The store that does the work. Nil for a store in memory without a limit.
    ///   - fault: Returns the error that an operation throws, or nil for success. `number` counts the earlier calls of
    ///     the operation, so it starts at zero.
    public init(
        _ base: (any Store)? = nil,
        fault: @escaping @Sendable (_ operation: Operation, _ number: Int) -> SluiceError? = { _, _ in nil }
    ) {
        self.base = base ?? MemoryStore(capacity: .max)
        self.fault = fault
    }

    // MARK: Assertions

    /// All events that were ever stored, in the order of `track`.
    public var events: [Event] { state.withLock(\.events) }

    /// Returns the events of a name, in the order of `track`.
    ///
    /// ```swift
    /// precondition(store.events(named: "Purchase").count == 1)
    /// ```
    public func events(named name: String) -> [Event] { events.filter { $0.name == name } }

    /// Returns the number of calls of an operation.
    ///
    /// ```swift
    /// precondition(store.count(of: .append) == 3)
    /// ```
    public func count(of operation: Operation) -> Int { state.withLock { $0.counts[operation] ?? 0 } }

    /// The arguments of each call of `reject`, in order.
    public var rejected: [[DeadLetter]] { state.withLock(\.rejected) }

    // MARK: Operations that can fail

    private func note(_ operation: Operation) throws(SluiceError) {
        let number = state.withLock { state in
            defer { state.counts[operation, default: 0] += 1 }
            return state.counts[operation] ?? 0
        }
        if let error = fault(operation, number) { throw error }
    }

    /// Opens the base store, or throws the fault.
    public func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try note(.open)
        try base.open(observer, in: environment)
    }

    /// Stores and records an event, or throws the fault.
    public func append(_ line: EventLine) throws(SluiceError) {
        try note(.append)
        let event = try line.event()
        try base.append(line)
        // Without the lock around both: the base store can call a closure of the test, which may read the events.
        state.withLock { $0.events.append(event) }
    }

    /// Returns the next batch, or throws the fault.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try note(.nextBatch)
        return try base.nextBatch(size)
    }

    /// Removes a batch, or throws the fault. Its events stay in ``events``.
    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        try note(.settle)
        try base.settle(batch)
    }

    /// Synchronizes the base store, or throws the fault.
    public func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {
        try note(.synchronize)
        try base.synchronize(while: mayContinue)
    }

    // MARK: Other operations

    /// Keeps rejected events.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        state.withLock { $0.rejected.append(letters) }
        base.reject(letters, in: batch)
    }

    /// Returns the dead letters.
    public func deadLetters() throws(SluiceError) -> [DeadLetter] { try base.deadLetters() }

    /// Turns dead letters back into waiting events. They aren't recorded a second time.
    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try base.replayDeadLetters(ids)
    }

    /// Deletes dead letters. Their events stay in ``events``.
    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try base.discardDeadLetters(ids)
    }

    /// Settles events of a batch.
    public func settle(_ places: [Int], of batch: Batch.ID) { base.settle(places, of: batch) }

    /// The number and size of the events that aren't settled.
    public var backlog: Backlog { base.backlog }

    /// The capacity of the base store.
    public var capacity: Int { base.capacity }

    /// Erases events that aren't settled. They stay in ``events``.
    public func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try base.erase(where: isMatch)
    }

    /// Closes the base store. You can still read the events.
    public func close() { base.close() }
}
