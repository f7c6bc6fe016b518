public import Sluice

/// A store around another one that fails where a test wants it to, and remembers what it was asked for.
///
/// Safe from any thread.
public final class FaultyStore: Store {
    /// What a store is asked for.
    public enum Operation: Sendable, Hashable, CaseIterable {
        case open, append, nextBatch, settle, synchronize
    }

    private let base: any Store
    private let fault: @Sendable (_ operation: Operation, _ number: Int) -> SluiceError?
    private let counts = Locked<[Operation: Int]>([:])
    private let rejections = Locked<[[RejectedEvent]]>([])
    private let kept = Locked<[EventLine]>([])

    /// - Parameters:
    ///   - base: does the work whenever there is no fault.
    ///   - fault: the error that an operation is to throw, or nil; `number` counts the calls of that operation from zero.
    public init(
        _ base: any Store,
        fault: @escaping @Sendable (_ operation: Operation, _ number: Int) -> SluiceError? = { _, _ in nil }
    ) {
        self.base = base
        self.fault = fault
    }

    /// How often it was asked for an operation.
    public func count(of operation: Operation) -> Int {
        counts.withLock { $0[operation] ?? 0 }
    }

    /// The arguments of each call of `reject`, in order.
    public var rejected: [[RejectedEvent]] { rejections.withLock { $0 } }

    /// The events that it has kept, in that order, whatever became of them since.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/malformedLine`` if a line is none.
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

    public func open(_ observer: StoreObserver) throws(SluiceError) {
        try note(.open)
        try base.open(observer)
    }

    public func append(_ line: EventLine) throws(SluiceError) {
        try note(.append)
        try base.append(line)
        kept.withLock { $0.append(line) }
    }

    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try note(.nextBatch)
        return try base.nextBatch(size)
    }

    public func reject(_ events: [RejectedEvent], in batch: Batch.ID) {
        rejections.withLock { $0.append(events) }
        base.reject(events, in: batch)
    }

    public func deadLetters() throws(SluiceError) -> [DeadLetter] { try base.deadLetters() }

    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try base.replayDeadLetters(ids)
    }

    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try base.discardDeadLetters(ids)
    }

    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        try note(.settle)
        try base.settle(batch)
    }

    public func release(_ batch: Batch.ID) { base.release(batch) }

    public var backlog: Backlog { base.backlog }

    public func synchronize() throws(SluiceError) {
        try note(.synchronize)
        try base.synchronize()
    }

    public func close() { base.close() }
}
