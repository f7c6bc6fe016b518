public import Sluice
private import SluiceMemory

/// A store in memory that keeps every event for your assertions, even after its delivery.
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
/// An event is recorded when `track` returns, so your test doesn't have to wait. The store has no limit. Delivery and
/// dead letters work as in a `MemoryStore`. You can use it from any thread.
public final class RecordingStore: Store {
    private let base = MemoryStore(capacity: .max)
    private let recorded = Locked<[Event]>([])

    /// Creates an empty store.
    public init() {}

    /// All events that were ever stored, in the order of `track`.
    public var events: [Event] { recorded.withLock(\.self) }

    /// Returns the events of a name, in the order of `track`.
    ///
    /// ```swift
    /// precondition(store.events(named: "Purchase").count == 1)
    /// ```
    public func events(named name: String) -> [Event] { events.filter { $0.name == name } }

    /// Records an event.
    public func append(_ line: EventLine) throws(SluiceError) {
        let event = try line.event()
        // Under the lock, because both lists must have the same order.
        try recorded.withLock { (events) throws(SluiceError) in
            try base.append(line)
            events.append(event)
        }
    }

    /// Opens the store for one pipeline or route.
    public func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try base.open(observer, in: environment)
    }
    /// Returns the next batch.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try base.nextBatch(size)
    }
    /// Forgets a batch. Its events stay in ``events``.
    public func settle(_ batch: Batch.ID) throws(SluiceError) { try base.settle(batch) }
    /// The number and size of the events that aren't settled.
    public var backlog: Backlog { base.backlog }
    /// Keeps rejected events.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) { base.reject(letters, in: batch) }
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
    /// Erases events that aren't settled. They stay in ``events``.
    public func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try base.erase(where: isMatch)
    }
    /// Closes the store. You can still read its events.
    public func close() { base.close() }
}
