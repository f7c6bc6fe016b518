public import Sluice

/// Wraps another store and fails where your test says so. It also records its calls.
///
/// ```swift
/// let store = FaultyStore(MemoryStore()) { operation, number in
///     operation == .append && number == 1 ? SluiceError(.storageFull, "the disk is full") : nil
/// }
/// let pipeline = try Pipeline {
///     store
///     ScriptedTransport()
/// }
/// for name in ["First", "Second", "Third"] { pipeline.track(name) }
/// precondition(pipeline.ledger.routes[0].dropped == [.storeFull: 1])
/// ```
///
/// You can use it from any thread.
public final class FaultyStore: Store {
    /// An operation that can fail.
    public enum Operation: Sendable, Hashable, CaseIterable {
        case open, append, nextBatch, settle, synchronize
    }

    private let base: any Store
    private let fault: @Sendable (_ operation: Operation, _ number: Int) -> SluiceError?
    private let counts = Locked<[Operation: Int]>([:])
    private let rejections = Locked<[[DeadLetter]]>([])
    private let kept = Locked<[EventLine]>([])

    /// Wraps a store.
    ///
    /// - Parameters:
    ///   - base: The store that does the work.
    ///   - fault: Returns the error that an operation throws, or nil for success. `number` counts the earlier calls of
    ///     the operation, so it starts at zero.
    public init(
        _ base: any Store,
        fault: @escaping @Sendable (_ operation: Operation, _ number: Int) -> SluiceError? = { _, _ in nil }
    ) {
        self.base = base
        self.fault = fault
    }

    /// Returns the number of calls of an operation.
    ///
    /// ```swift
    /// precondition(store.count(of: .append) == 3)
    /// ```
    public func count(of operation: Operation) -> Int {
        counts.withLock { $0[operation] ?? 0 }
    }

    /// The arguments of each call of `reject`, in order.
    public var rejected: [[DeadLetter]] { rejections.withLock { $0 } }

    /// Returns all events that were ever stored, in order, whether or not they still wait.
    ///
    /// - Returns: The decoded events.
    /// - Throws: ``Sluice/SluiceError/Code/malformedLine`` if a line is not an event.
    public func stored() throws -> [Event] {
        try kept.withLock { $0 }.map { try $0.event() }
    }

    private func note(_ operation: Operation) throws(SluiceError) {
        let number = counts.withLock { counts in
            defer { counts[operation, default: 0] += 1 }
            return counts[operation] ?? 0
        }
        if let error = fault(operation, number) { throw error }
    }

    /// Opens the base store, or throws the fault.
    public func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try note(.open)
        try base.open(observer, in: environment)
    }

    /// Stores an event with the base store, or throws the fault.
    public func append(_ line: EventLine) throws(SluiceError) {
        try note(.append)
        try base.append(line)
        kept.withLock { $0.append(line) }
    }

    /// Returns the next batch of the base store, or throws the fault.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try note(.nextBatch)
        return try base.nextBatch(size)
    }

    /// Passes rejected events to the base store.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        rejections.withLock { $0.append(letters) }
        base.reject(letters, in: batch)
    }

    /// Returns the dead letters of the base store.
    public func deadLetters() throws(SluiceError) -> [DeadLetter] { try base.deadLetters() }

    /// Replays dead letters of the base store.
    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try base.replayDeadLetters(ids)
    }

    /// Discards dead letters of the base store.
    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try base.discardDeadLetters(ids)
    }

    /// Settles events of a batch in the base store.
    public func settle(_ places: [Int], of batch: Batch.ID) { base.settle(places, of: batch) }

    /// Removes a batch from the base store, or throws the fault.
    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        try note(.settle)
        try base.settle(batch)
    }

    /// The backlog of the base store.
    public var backlog: Backlog { base.backlog }

    /// The capacity of the base store.
    public var capacity: Int { base.capacity }

    /// Erases events of the base store.
    public func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try base.erase(where: isMatch)
    }

    /// Synchronizes the base store, or throws the fault.
    public func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {
        try note(.synchronize)
        try base.synchronize(while: mayContinue)
    }

    /// Closes the base store.
    public func close() { base.close() }
}
