/// Keeps encoded events until a transport has delivered them.
///
/// ```swift
/// /// Keeps events in memory, without a limit and without dead letters.
/// final class ArrayStore: Store {
///     private struct State {
///         var waiting: [EventLine] = []
///         var taken: [Batch.ID: [EventLine]] = [:]
///     }
///
///     private let state = Locked(State())
///
///     func append(_ line: EventLine) throws(SluiceError) { state.withLock { $0.waiting.append(line) } }
///
///     func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
///         state.withLock { state in
///             guard let highest = state.waiting.map(\.priority).max() else { return nil }
///             // By place, because two events can be equal.
///             let places = state.waiting.indices.filter { state.waiting[$0].priority == highest }.prefix(size.events)
///             let batch = Batch(id: .random(in: 0 ... .max), events: places.map { state.waiting[$0] })
///             for place in places.reversed() { state.waiting.remove(at: place) }
///             state.taken[batch.id] = batch.events
///             return batch
///         }
///     }
///
///     func settle(_ batch: Batch.ID) throws(SluiceError) { state.withLock { $0.taken[batch] = nil } }
///
///     var backlog: Backlog {
///         let all = state.withLock { $0.waiting + $0.taken.values.joined() }
///         return Backlog(events: all.count, bytes: all.reduce(0) { $0 + $1.bytes.count })
///     }
/// }
/// ```
///
/// ## Conforming
/// - Write ``append(_:)``, ``nextBatch(_:)``, ``settle(_:)`` and ``backlog`` first. Every other requirement has a default
///   for a store in memory without dead letters. Implement ``open(_:in:)`` and ``close()`` too if two pipelines must not share
///   the store.
/// - ``open(_:in:)`` is called once before anything else except ``capacity``, which is read once before, and ``close()``
///   last. In between, ``append(_:)`` is called from any number of threads. The other methods can be called from any
///   thread, too: by up to three workers of a route, and by the host for dead letters.
/// - Return from ``nextBatch(_:)`` exactly the bytes that ``append(_:)`` accepted, in the order of acceptance within a
///   priority. If an accepted event is lost, report it to the ``StoreObserver`` before
///   another call can see that it is gone.
/// - Keep a batch with its taker until ``settle(_:)``: don't return it a second time and don't evict it. If the store is
///   closed before, the events of the batch still wait, except the ones that were settled with ``settle(_:of:)``.
/// - If your store outlives its process, implement ``settle(_:of:)``. A receiver then gets no delivered event from a later
///   process.
/// - Document which failures an accepted event survives.
/// - Check your store with `StoreContract` of SluiceTesting.
public protocol Store: Sendable {
    /// Opens the store for one pipeline.
    ///
    /// - Parameters:
    ///   - observer: the receiver of all later reports about recovered and lost events. It can be called from any thread and
    ///     with the store's own lock held.
    ///   - environment: the clocks and random numbers of the pipeline.
    /// - Throws: ``SluiceError/Code/storageUnavailable`` if the events can't be kept, and
    ///   ``SluiceError/Code/invalidPipeline`` if the store is already in use. The pipeline is then not built.
    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError)

    /// Stores one event. When this method returns, the event is as safe as the store's durability promises.
    ///
    /// - Throws: ``SluiceError/Code/storageFull``, ``SluiceError/Code/eventTooLarge`` or another error. The event is then
    ///   not stored, and the pipeline counts it.
    func append(_ line: EventLine) throws(SluiceError)

    /// Stores several events, in their order. When this method returns, each of them is as safe as after ``append(_:)``,
    /// unless its error is returned. The default calls ``append(_:)`` for each.
    ///
    /// - Returns: the errors of the events that are not stored, by their index in `lines`.
    func append(contentsOf lines: [EventLine]) -> [Int: SluiceError]

    /// Returns the next events to send: the highest priority first, and the oldest first within a priority.
    ///
    /// ```swift
    /// let store = ArrayStore()
    /// while let batch = try store.nextBatch(BatchSize(events: 100, bytes: 65_536)) {
    ///     print(batch.events.count)
    ///     try store.settle(batch.id)
    /// }
    /// ```
    ///
    /// - Parameter size: the requested size. A store that deletes in larger units may exceed it. The pipeline then sends the
    ///   batch in parts, settles accepted events with ``settle(_:of:)``, and removes the batch when no event is left.
    /// - Returns: a batch with at least one event, all of one priority. Nil if every event is already handed out.
    /// - Throws: an error if the events can't be read now. The pipeline tries later.
    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch?

    /// Keeps dead letters of a batch that is handed out, each with an id of the store. From now on ``nextBatch(_:)``
    /// must not return them, even after a restart. They count in ``backlog`` until the batch is settled.
    ///
    /// Dead letters share the store's capacity and are evicted before any waiting event. If the store can't write them,
    /// it keeps the batch's events on its medium, and nothing is lost. The default keeps no dead letters.
    func reject(_ letters: [DeadLetter], in batch: Batch.ID)

    /// Keeps delivered events of a batch from being sent again. The batch stays handed out, and its other events keep their
    /// place, order and age.
    ///
    /// A route calls this method once per answer that accepts events of the batch and leaves others. Implement it
    /// if your store outlives its process: a later process must not return these events, even if this one is killed
    /// now. They count in ``backlog`` until the batch is settled. A failure has no effect on this
    /// process: the later process can return the events then. The default does nothing.
    ///
    /// - Parameters:
    ///   - places: the indices of the events in ``Batch/events``. An index can be passed a second time.
    ///   - batch: a batch that is handed out. Ignore any other one.
    func settle(_ places: [Int], of batch: Batch.ID)

    /// Removes a batch. Each of its events was delivered, rejected or deleted.
    ///
    /// - Throws: an error if the batch could not be removed. Even then, the store must not return it in this process.
    func settle(_ batch: Batch.ID) throws(SluiceError)

    /// The number and size of the waiting events, including batches that are handed out. Also valid after ``close()``.
    var backlog: Backlog { get }

    /// The most bytes that the store keeps; no limit by default. While the receiver accepts nothing, a route reads ahead at
    /// most half of it besides batches whose events are blamed, because the store can't evict batches that are handed out. When
    /// each of these events has failed alone, it takes one more batch after each failure.
    var capacity: Int { get }

    /// Returns all dead letters, oldest first.
    ///
    /// - Throws: an error if they can't be read.
    func deadLetters() throws(SluiceError) -> [DeadLetter]

    /// Turns dead letters back into waiting events, behind the events that already wait.
    ///
    /// - Returns: the number of dead letters that were turned back. Unknown ids are ignored. If the store fails after
    ///   the first ones, the remaining ones stay dead letters.
    /// - Throws: an error if the store fails before it has turned the first one back.
    func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int

    /// Deletes dead letters.
    ///
    /// - Returns: the number of deleted dead letters. Unknown ids are ignored.
    /// - Throws: an error if one of them can't be deleted.
    func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int

    /// Erases waiting events and dead letters for good. When this method returns, your medium has no copy of them, except
    /// in the places that ``ErasureReport/left`` names. The default throws ``SluiceError/Code/unsupported``.
    ///
    /// ```swift
    /// let report = try store.erase { $0.distinctID == "42" }
    /// ```
    ///
    /// A route calls this method while it takes, sends and settles nothing. Events of batches that are handed out count as
    /// settled later: remove them from your medium, so that no later process delivers them, and leave them out of the
    /// report. The route takes them out of the batch in memory. Report ``StoreObserver/recovered(_:)`` before you erase an
    /// event that wasn't counted yet.
    ///
    /// - Parameter isMatch: returns whether to erase an event. It is the host's code, so call it without a lock.
    /// - Returns: the number of erased events and dead letters, and the places with events left.
    /// - Throws: an error if nothing could be erased.
    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport

    /// Makes all accepted events as safe as the medium allows, whatever the store's usual durability is.
    ///
    /// - Parameter mayContinue: returns whether there is time for more. Call it between two files or requests, because
    ///   a shutdown has a deadline, and return if it is false. The next call continues with the rest.
    /// - Throws: an error if accepted events may still be lost. Running out of time is not an error.
    func synchronize(while mayContinue: () -> Bool) throws(SluiceError)

    /// Closes the store. Waiting events stay if the store outlives its process. Later appends throw
    /// ``SluiceError/Code/shutDown``. A second call does nothing.
    func close()
}

extension Store {
    /// Does nothing.
    public func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {}
    /// Calls ``append(_:)`` for each event.
    public func append(contentsOf lines: [EventLine]) -> [Int: SluiceError] {
        var errors: [Int: SluiceError] = [:]
        for (index, line) in lines.enumerated() {
            if let error = SluiceError.of(try append(line)) { errors[index] = error }
        }
        return errors
    }
    /// Keeps no dead letters.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) {}
    /// Does nothing.
    public func settle(_ places: [Int], of batch: Batch.ID) {}
    /// No limit.
    public var capacity: Int { .max }
    /// Returns an empty list.
    public func deadLetters() throws(SluiceError) -> [DeadLetter] { [] }
    /// Returns 0.
    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { 0 }
    /// Returns 0.
    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { 0 }
    /// Throws ``SluiceError/Code/unsupported``.
    public func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        throw SluiceError(
            .unsupported, "\(type(of: self)) can't erase single events: implement erase(where:), or delete all of them")
    }
    /// Does nothing.
    public func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {}
    /// Does nothing.
    public func close() {}

    /// Calls ``synchronize(while:)`` without a limit in time.
    ///
    /// ```swift
    /// try store.synchronize()
    /// ```
    ///
    /// - Throws: an error if accepted events may still be lost.
    public func synchronize() throws(SluiceError) { try synchronize { true } }
}

/// A store that can delete events that it can't read, for example because it has no key.
package protocol UnreadDeleting: Store {
    /// Deletes all waiting events without reading them, and everything that could not be read or removed before. Dead letters
    /// stay. A route calls this at the end of a deletion, while it takes, sends and settles nothing.
    ///
    /// The store reports ``StoreObserver/recovered(_:)`` before it deletes events that it hasn't counted or has given up.
    ///
    /// - Returns: the number of deleted events, and the places with events left.
    /// - Throws: an error if nothing could be deleted.
    func deleteUnread() throws(SluiceError) -> ErasureReport
}

/// The number and size of the events in a store.
public struct Backlog: Sendable, Hashable {
    /// Waiting events that this process has counted.
    public var events: Int
    /// Bytes of the waiting events, including events that have not been counted yet: see ``StoreObserver/unread(_:)``.
    public var bytes: Int
    /// Dead letters of this process and of earlier ones. They are not part of ``events`` and ``bytes``.
    public var deadLetters: Int

    /// Creates a backlog.
    public init(events: Int, bytes: Int, deadLetters: Int = 0) {
        self.events = events
        self.bytes = bytes
        self.deadLetters = deadLetters
    }

    /// Whether no event waits. Dead letters don't wait.
    ///
    /// ```swift
    /// if !store.backlog.isEmpty { print("\(store.backlog.events) events wait") }
    /// ```
    public var isEmpty: Bool { events == 0 && bytes == 0 }
}

/// The requested size of a batch.
///
/// ```swift
/// let size = BatchSize(events: 500, bytes: 1_000_000)
/// ```
public struct BatchSize: Sendable, Hashable {
    /// The largest number of events.
    public var events: Int
    /// The largest number of bytes of the events' lines, without the overhead of a wire format.
    public var bytes: Int

    /// Creates a size. Values below one are raised to one.
    public init(events: Int, bytes: Int) {
        self.events = max(1, events)
        self.bytes = max(1, bytes)
    }

    static let unlimited = BatchSize(events: .max, bytes: .max)
}

/// Events that are sent together.
public struct Batch: Sendable, Identifiable {
    /// The store's number for a batch.
    public typealias ID = UInt64

    /// The id, unique among the batches of the store. All parts of a batch share it.
    public let id: ID
    /// At least one event, in the order in which they were tracked.
    public let events: [EventLine]
    /// Failed attempts to send events of the batch, since a request of it was last accepted without a failure. The route
    /// counts; a store leaves it at 0.
    public let retryCount: Int

    /// Creates a batch, in a store of your own or in a test.
    ///
    /// ```swift
    /// let line = EventLine(bytes: [], priority: .normal)
    /// let verdicts = try await StdoutTransport().send(Batch(id: 1, events: [line]))
    /// ```
    public init(id: ID, events: [EventLine], retryCount: Int = 0) {
        self.id = id
        self.events = events
        self.retryCount = retryCount
    }
}
