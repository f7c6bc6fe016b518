import Sluice

/// Keeps events in memory, without a limit and without dead letters.
final class ArrayStore: Store {
    private struct State {
        var isOpen = false
        var waiting: [EventLine] = []
        var taken: [Batch.ID: [EventLine]] = [:]
    }

    private let state = Locked(State())

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            guard !state.isOpen else { throw SluiceError(.invalidPipeline, "this ArrayStore is in use already") }
            state.isOpen = true
        }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            guard state.isOpen else { throw SluiceError(.shutDown, "the store is closed") }
            state.waiting.append(line)
        }
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        state.withLock { state in
            guard let highest = state.waiting.map(\.priority).max() else { return nil }
            // By place, because two events can be equal.
            let places = state.waiting.indices.filter { state.waiting[$0].priority == highest }.prefix(size.events)
            let batch = Batch(id: .random(in: 0 ... .max), events: places.map { state.waiting[$0] })
            for place in places.reversed() { state.waiting.remove(at: place) }
            state.taken[batch.id] = batch.events
            return batch
        }
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) { state.withLock { $0.taken[batch] = nil } }

    var backlog: Backlog {
        let all = state.withLock { $0.waiting + $0.taken.values.joined() }
        return Backlog(events: all.count, bytes: all.reduce(0) { $0 + $1.bytes.count })
    }

    func close() { state.withLock { $0.isOpen = false } }
}
