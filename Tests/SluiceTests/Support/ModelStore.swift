import Sluice

/// The events of a store, in memory and without a lock.
struct ModelStore: Sendable {
    private struct Stored: Sendable {
        let line: EventLine
        /// A batch has events of one segment only.
        let segment: Int
    }

    private var waiting: [Stored] = []
    private var handedOut: [Batch.ID: [EventLine]] = [:]
    private var lastBatch: Batch.ID = 0
    /// Whether the store returns nothing, although it has events.
    var isStuck = false

    mutating func append(_ line: EventLine, segment: Int = 0) {
        waiting.append(Stored(line: line, segment: segment))
    }

    mutating func nextBatch(_ size: BatchSize) -> Batch? {
        guard !isStuck, let priority = waiting.map(\.line.priority).max(),
            let segment = waiting.first(where: { $0.line.priority == priority })?.segment
        else { return nil }
        var events: [EventLine] = []
        waiting.removeAll { stored in
            guard stored.line.priority == priority, stored.segment == segment, events.count < size.events else {
                return false
            }
            events.append(stored.line)
            return true
        }
        lastBatch += 1
        handedOut[lastBatch] = events
        return Batch(id: lastBatch, events: events)
    }

    /// - Returns: whether the batch was handed out.
    mutating func settle(_ batch: Batch.ID) -> Bool { handedOut.removeValue(forKey: batch) != nil }

    /// Loses the oldest event that is not handed out, and tells nobody.
    mutating func loseOldest() -> EventLine? { waiting.isEmpty ? nil : waiting.removeFirst().line }

    func events(in batch: Batch.ID) -> [EventLine] { handedOut[batch] ?? [] }

    /// The events that it can return.
    var events: [EventLine] { waiting.map(\.line) }

    var backlog: Backlog {
        let count = waiting.count + handedOut.values.reduce(0) { $0 + $1.count }
        return Backlog(events: count, bytes: count)
    }
}
