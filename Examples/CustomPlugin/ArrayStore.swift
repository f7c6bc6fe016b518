import Foundation
import Sluice

/// Keeps events in memory, without a limit and without dead letters.
final class ArrayStore: Store {
    private let lock = NSLock()
    nonisolated(unsafe) private var isOpen = false
    nonisolated(unsafe) private var waiting: [EventLine] = []
    nonisolated(unsafe) private var taken: [Batch.ID: [EventLine]] = [:]

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        lock.lock()
        defer { lock.unlock() }
        guard !isOpen else { throw SluiceError(.invalidPipeline, "this ArrayStore is in use already") }
        isOpen = true
    }

    func append(_ line: EventLine) throws(SluiceError) {
        lock.lock()
        defer { lock.unlock() }
        guard isOpen else { throw SluiceError(.shutDown, "the store is closed") }
        waiting.append(line)
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        lock.withLock {
            guard let highest = waiting.map(\.priority).max() else { return nil }
            // By place, because two events can be equal.
            let places = waiting.indices.filter { waiting[$0].priority == highest }.prefix(size.events)
            let events = places.map { waiting[$0] }
            for place in places.reversed() { waiting.remove(at: place) }
            let batch = Batch(id: .random(in: 0 ... .max), events: events)
            taken[batch.id] = events
            return batch
        }
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) { lock.withLock { taken[batch] = nil } }

    var backlog: Backlog {
        let all = lock.withLock { waiting + taken.values.joined() }
        return Backlog(events: all.count, bytes: all.reduce(0) { $0 + $1.bytes.count })
    }

    func close() { lock.withLock { isOpen = false } }
}
