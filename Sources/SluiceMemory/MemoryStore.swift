public import Sluice

/// A store in memory, bounded in bytes: for tests, for development, and where losing events with the process is fine.
///
/// It promises nothing beyond the life of the process. When it is full, it evicts the oldest events of the lowest
/// priority, one by one; never those that are being delivered, and never any above the priority of the event that
/// comes in, which is refused instead. Rejected events are not kept.
public final class MemoryStore: Store {
    private struct State {
        var observer: StoreObserver?
        var isClosed = false
        /// By priority: the events that wait, the oldest first.
        var waiting = Event.Priority.allCases.map { _ in Queue() }
        var handedOut: [Batch.ID: Batch] = [:]
        var events = 0
        var bytes = 0
        var lastBatch: UInt64 = 0
    }

    private let capacity: Int
    private let state = Locked(State())

    /// - Parameter capacity: the most bytes of events to hold: 10 MiB by default.
    public init(capacity: Int = 10_485_760) {
        self.capacity = capacity
    }

    /// - Throws: ``SluiceError/Code/invalidPipeline`` if this store was opened before, and
    ///   ``SluiceError/Code/invalidArgument`` if its capacity is not positive.
    public func open(_ observer: StoreObserver) throws(SluiceError) {
        guard capacity > 0 else {
            throw SluiceError(.invalidArgument, "a capacity of \(capacity) bytes holds no event: give a larger one")
        }
        try state.withLock { (state) throws(SluiceError) in
            guard !state.isClosed else {
                throw SluiceError(.invalidPipeline, "this MemoryStore was closed with its pipeline: make a new one")
            }
            guard state.observer == nil else {
                throw SluiceError(.invalidPipeline, "this MemoryStore is in use by another pipeline or route")
            }
            state.observer = observer
        }
    }

    public func append(_ line: EventLine) throws(SluiceError) {
        try state.withLock { (state) throws(SluiceError) in
            guard !state.isClosed else { throw SluiceError(.shutDown, "the store is closed") }
            try makeRoom(for: line, in: &state)
            state.waiting[Int(line.priority.rawValue)].append(line)
            state.events += 1
            state.bytes += line.bytes.count
        }
    }

    private func makeRoom(for line: EventLine, in state: inout State) throws(SluiceError) {
        let size = line.bytes.count
        guard size <= capacity else {
            throw SluiceError(.eventTooLarge, "an event of \(size) bytes in a store of \(capacity): raise its capacity")
        }
        guard state.bytes + size > capacity else { return }
        let evictable = state.waiting[...Int(line.priority.rawValue)].reduce(0) { $0 + $1.bytes }
        guard state.bytes - evictable + size <= capacity else {
            throw SluiceError(.storageFull, "all \(capacity) bytes hold events that may not make room for this one")
        }
        var evicted = 0
        for queue in state.waiting.indices {
            while state.bytes + size > capacity, let line = state.waiting[queue].popFirst() {
                state.bytes -= line.bytes.count
                evicted += 1
            }
        }
        state.events -= evicted
        state.observer?.dropped(evicted, .evicted)
    }

    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        state.withLock { state in
            guard let queue = state.waiting.indices.last(where: { !state.waiting[$0].isEmpty }) else { return nil }
            var events: [EventLine] = []
            var bytes = 0
            while events.count < size.events, let next = state.waiting[queue].first,
                events.isEmpty || bytes + next.bytes.count <= size.bytes
            {
                bytes += next.bytes.count
                events.append(next)
                state.waiting[queue].removeFirst()
            }
            state.lastBatch += 1
            let batch = Batch(id: Batch.ID(rawValue: state.lastBatch), events: events)
            state.handedOut[batch.id] = batch
            return batch
        }
    }

    public func settle(_ batch: Batch.ID, rejected: [RejectedEvent]) throws(SluiceError) {
        state.withLock { state in
            guard let batch = state.handedOut.removeValue(forKey: batch) else { return }
            state.events -= batch.events.count
            state.bytes -= batch.events.reduce(0) { $0 + $1.bytes.count }
        }
    }

    public func release(_ batch: Batch.ID) {
        state.withLock { state in
            guard let batch = state.handedOut.removeValue(forKey: batch), let first = batch.events.first else { return }
            state.waiting[Int(first.priority.rawValue)].prepend(batch.events)
        }
    }

    public var backlog: Backlog {
        state.withLock { Backlog(events: $0.events, bytes: $0.bytes) }
    }

    public func synchronize() throws(SluiceError) {}

    public func close() {
        state.withLock { $0.isClosed = true }
    }
}
