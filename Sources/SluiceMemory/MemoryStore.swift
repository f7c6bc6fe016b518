public import Sluice

/// A store in memory, bounded in bytes. Use it in tests, during development, and where events may be lost with the
/// process.
///
/// ```swift
/// let pipeline = try Pipeline {
///     MemoryStore(capacity: 1_048_576)
///     StdoutTransport()
/// }
/// ```
///
/// When the store is full, it makes room for the incoming event. It evicts the oldest dead letters first, then the
/// oldest events of the lowest priority. It never evicts events of an open batch, which was handed out and isn't settled,
/// or events with a higher priority than the incoming one. If even that would not be enough, nothing is evicted, and the
/// incoming event is refused.
///
/// You can call all methods from any thread.
public final class MemoryStore: Store {
    private struct State {
        var observer: StoreObserver?
        var isClosed = false
        /// The waiting events by priority, oldest first.
        var waiting = Event.Priority.allCases.map { _ in Queue<EventLine>() }
        var handedOut: [Batch.ID: Batch] = [:]
        var deadLetters = Queue<DeadLetter>()
        var bytes = 0
        var lastBatch: UInt64 = 0
        var lastDeadLetter: UInt64 = 0
    }

    /// The most bytes of events and dead letters that it keeps.
    public let capacity: Int
    private let state = Locked(State())

    /// Creates a store.
    ///
    /// - Parameter capacity: The most bytes of events and dead letters to keep. 10 MiB by default.
    public init(capacity: Int = 10_485_760) {
        self.capacity = capacity
    }

    /// Opens the store for one pipeline.
    ///
    /// - Throws: ``SluiceError/Code/invalidPipeline`` if the store is or was in use, and
    ///   ``SluiceError/Code/invalidArgument`` if its capacity is not positive.
    public func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try SluiceError.require(
            capacity > 0, "a capacity of \(capacity) bytes holds no event: use a larger one")
        try state.withLock { (state) throws(SluiceError) in
            guard !state.isClosed else {
                throw SluiceError(.invalidPipeline, "this MemoryStore was closed with its pipeline: create a new one")
            }
            guard state.observer == nil else {
                throw SluiceError(.invalidPipeline, "this MemoryStore is in use by another pipeline or route")
            }
            state.observer = observer
        }
    }

    /// Stores an event.
    public func append(_ line: EventLine) throws(SluiceError) {
        try state.withLock { (state) throws(SluiceError) in
            guard !state.isClosed else { throw SluiceError(.shutDown, "the store is closed") }
            try makeRoom(for: line, in: &state)
            state.waiting[Int(line.priority.rawValue)].append(line)
            state.bytes += line.size
        }
    }

    private func makeRoom(for line: EventLine, in state: inout State) throws(SluiceError) {
        guard line.size <= capacity else {
            throw SluiceError(
                .eventTooLarge, "an event of \(line.size) bytes in a store of \(capacity): raise its capacity")
        }
        guard state.bytes + state.deadLetters.bytes + line.size > capacity else { return }
        let evictable = state.waiting[...Int(line.priority.rawValue)].reduce(0) { $0 + $1.bytes }
        guard state.bytes - evictable + line.size <= capacity else {
            throw SluiceError(.storageFull, "all \(capacity) bytes hold events that may not make room for this one")
        }
        evictDeadLetters(downTo: capacity - line.size, in: &state)
        var evicted = 0
        for queue in state.waiting.indices {
            while state.bytes + line.size > capacity, let line = state.waiting[queue].popFirst() {
                state.bytes -= line.size
                evicted += 1
            }
        }
        state.observer?.dropped(evicted, .evicted)
    }

    private func evictDeadLetters(downTo limit: Int, in state: inout State) {
        var evicted = 0
        while state.bytes + state.deadLetters.bytes > limit, state.deadLetters.popFirst() != nil { evicted += 1 }
        state.observer?.deadLettersDropped(evicted, .evicted)
    }

    /// Returns the next batch.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        state.withLock { state in
            guard let queue = state.waiting.indices.last(where: { !state.waiting[$0].isEmpty }) else { return nil }
            var events: [EventLine] = []
            var bytes = 0
            while events.count < size.events, let next = state.waiting[queue].first,
                events.isEmpty || bytes + next.size <= size.bytes
            {
                bytes += next.size
                events.append(next)
                _ = state.waiting[queue].popFirst()
            }
            state.lastBatch += 1
            let batch = Batch(id: state.lastBatch, events: events)
            state.handedOut[batch.id] = batch
            return batch
        }
    }

    /// Keeps rejected events as dead letters.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        state.withLock { state in
            guard state.handedOut[batch] != nil else { return }
            for letter in letters {
                state.lastDeadLetter += 1
                state.deadLetters.append(letter.with(id: state.lastDeadLetter))
            }
        }
    }

    /// Removes a batch.
    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        state.withLock { state in
            guard let batch = state.handedOut.removeValue(forKey: batch) else { return }
            state.bytes -= batch.events.reduce(0) { $0 + $1.size }
            // Until now, the events of the batch that are dead letters were counted twice.
            evictDeadLetters(downTo: capacity, in: &state)
        }
    }

    /// Erases waiting events and dead letters.
    public func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        // Without the lock, because `isMatch` is the host's.
        let (lines, letters) = state.withLock { ($0.waiting.map(\.all), $0.deadLetters.all) }
        let erased = lines.map { Set($0.filter(isMatch).map(\.bytes)) }
        let rejected = letters.filter { isMatch($0.line) }
        let (ids, replayed) = (Set(rejected.map(\.id)), Set(rejected.map(\.line.bytes)))
        return state.withLock { state in
            var report = ErasureReport(deadLetters: state.deadLetters.removeAll { ids.contains($0.id) }.count)
            for queue in state.waiting.indices where !erased[queue].isEmpty || !replayed.isEmpty {
                // A dead letter can wait again since.
                let removed = state.waiting[queue].removeAll {
                    erased[queue].contains($0.bytes) || replayed.contains($0.bytes)
                }
                state.bytes -= removed.reduce(0) { $0 + $1.size }
                report.events += removed.count
            }
            return report
        }
    }

    /// The number and size of the waiting events.
    public var backlog: Backlog {
        state.withLock { state in
            let open = state.handedOut.values.reduce(0) { $0 + $1.events.count }
            return Backlog(
                events: state.waiting.reduce(open) { $0 + $1.count }, bytes: state.bytes,
                deadLetters: state.deadLetters.count)
        }
    }

    /// Closes the store.
    public func close() {
        state.withLock { $0.isClosed = true }
    }

    // MARK: Dead letters

    /// Returns the dead letters, oldest first.
    public func deadLetters() throws(SluiceError) -> [DeadLetter] {
        state.withLock { $0.deadLetters.all }
    }

    /// Turns dead letters back into waiting events.
    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        state.withLock { state in
            let letters = state.deadLetters.removeAll { ids.contains($0.id) }
            for letter in letters {
                state.waiting[Int(letter.line.priority.rawValue)].append(letter.line)
                state.bytes += letter.line.size
            }
            return letters.count
        }
    }

    /// Deletes dead letters.
    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        state.withLock { $0.deadLetters.removeAll { ids.contains($0.id) }.count }
    }
}
