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
    /// The places that ``settle(_:of:)`` and ``reject(_:in:)`` have named.
    private var done: [Batch.ID: Set<Int>] = [:]
    private var lastBatch: Batch.ID = 0
    /// Events of an earlier process. ``read()`` makes them waiting events.
    private var unread: [EventLine] = []
    /// Whether the store returns nothing, although it has events.
    var isStuck = false
    var status = RouteStatus()

    init(unread: [EventLine] = []) {
        self.unread = unread
    }

    mutating func append(_ line: EventLine, segment: Int = 0) {
        waiting.append(Stored(line: line, segment: segment))
    }

    /// - Returns: the number of events that the store has found.
    mutating func read() -> Int {
        guard !isStuck else { return 0 }
        defer { unread = [] }
        waiting = unread.map { Stored(line: $0, segment: -1) } + waiting
        return unread.count
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

    mutating func reject(_ places: [Int], in batch: Batch.ID) { done[batch, default: []].formUnion(places) }

    mutating func settle(_ places: [Int], of batch: Batch.ID) { done[batch, default: []].formUnion(places) }

    /// - Returns: whether the batch was handed out.
    mutating func settle(_ batch: Batch.ID) -> Bool { handedOut.removeValue(forKey: batch) != nil }

    /// - Returns: the erased events that were not handed out.
    mutating func erase(where isMatch: (EventLine) -> Bool) -> [EventLine] {
        for (id, events) in handedOut { settle(events.indices.filter { isMatch(events[$0]) }, of: id) }
        defer { waiting.removeAll { isMatch($0.line) } }
        return waiting.map(\.line).filter(isMatch)
    }

    /// Loses the oldest event that is not handed out, without a report.
    mutating func loseOldest() -> EventLine? { waiting.isEmpty ? nil : waiting.removeFirst().line }

    func events(in batch: Batch.ID) -> [EventLine] { handedOut[batch] ?? [] }

    /// The events of a batch that a later process would send.
    func rest(of batch: Batch.ID) -> [EventLine] {
        events(in: batch).indices.filter { done[batch]?.contains($0) != true }.map { events(in: batch)[$0] }
    }

    /// The events that it can return.
    var events: [EventLine] { waiting.map(\.line) }

    var backlog: Backlog {
        let count = waiting.count + handedOut.values.reduce(0) { $0 + $1.count }
        return Backlog(events: count, bytes: count)
    }
}
