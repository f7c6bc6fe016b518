import Foundation
import Sluice

/// The simplest possible store: two arrays. (It is not bounded; a real one must be.)
final class ArrayStore: Store {
    private struct State {
        var isOpen = false
        var isClosed = false
        var waiting: [EventLine] = []
        var handedOut: [Batch.ID: [EventLine]] = [:]
        var batches: UInt64 = 0
    }

    private let lock = NSLock()
    nonisolated(unsafe) private var state = State()

    func open(_ observer: StoreObserver) throws(SluiceError) {
        let wasOpen = lock.withLock {
            defer { state.isOpen = true }
            return state.isOpen
        }
        if wasOpen { throw SluiceError(.invalidPipeline, "this ArrayStore is in use already") }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        let isClosed = lock.withLock {
            if !state.isClosed { state.waiting.append(line) }
            return state.isClosed
        }
        if isClosed { throw SluiceError(.shutDown, "the store is closed") }
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        lock.withLock {
            guard let priority = state.waiting.map(\.priority).max() else { return nil }
            var bytes = 0
            var events: [EventLine] = []
            for line in state.waiting where line.priority == priority {
                bytes += line.bytes.count
                guard events.isEmpty || (events.count < size.events && bytes <= size.bytes) else { break }
                events.append(line)
            }
            let taken = Set(events.map(\.bytes))
            state.waiting.removeAll { taken.contains($0.bytes) }
            state.batches += 1
            let id = Batch.ID(rawValue: state.batches)
            state.handedOut[id] = events
            return Batch(id: id, events: events)
        }
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        lock.withLock { state.handedOut[batch] = nil }
    }

    func release(_ batch: Batch.ID) {
        lock.withLock { state.waiting = (state.handedOut.removeValue(forKey: batch) ?? []) + state.waiting }
    }

    var backlog: Backlog {
        lock.withLock {
            let all = state.waiting + state.handedOut.values.joined()
            return Backlog(events: all.count, bytes: all.reduce(0) { $0 + $1.bytes.count })
        }
    }

    func synchronize() throws(SluiceError) {}

    func close() { lock.withLock { state.isClosed = true } }
}
