/// The flushes that the host waits for, with the events that each one covers: exactly the events that waited when it began.
/// This is a value without I/O.
///
/// A store returns critical events first, and the events of one priority in their order. So the first events that are taken
/// after a flush has begun are its own, except for critical events that were tracked later.
struct Flushes: Sendable {
    private struct Cover: Sendable {
        let number: Int
        /// The flush's events in the store.
        var untaken: Int
        /// The critical ones among them that this process has tracked.
        var critical: Int
        /// Critical events in the store that were tracked after the flush began.
        var laterCritical = 0
        /// The flush's events in each batch that is out: its first `count` ones. `waiting` of them have no verdict.
        var batches: [Batch.ID: (count: Int, waiting: Int)]
        var delivered = 0
        var rejected = 0

        mutating func took(_ batch: BatchProgress) {
            let isCritical = batch.critical > 0
            let oldest = isCritical ? max(min(critical, batch.count), batch.count - laterCritical) : batch.count
            let own = min(untaken, oldest)
            untaken -= own
            if isCritical {
                critical = max(0, critical - own)
                laterCritical = max(0, laterCritical - (batch.count - own))
            }
            if own > 0 { batches[batch.id] = (own, own) }
        }

        /// A store loses normal events first, and the oldest ones.
        mutating func changed(by events: Int) {
            untaken = max(critical, untaken + events)
        }

        mutating func record(_ id: Batch.ID, _ result: SendResult) {
            guard let own = batches[id] else { return }
            let accepted = result.acceptedPlaces.count { $0 < own.count }
            let refused = result.rejected.count { $0.place < own.count }
            delivered += accepted
            rejected += refused
            let erased = result.erasedPlaces.count { $0 < own.count }
            batches[id] = (own.count, own.waiting - accepted - refused - erased)
        }
    }

    private var covers: [Cover] = []
    private var begun = 0
    /// Critical events in the store that this process has tracked.
    private var critical = 0

    /// Begins a flush.
    ///
    /// - Parameters:
    ///   - untaken: the events in the store.
    ///   - batches: the events without a verdict in each batch that is out.
    /// - Returns: the number for ``end(_:unreadBytes:)``.
    mutating func begin(untaken: Int, batches: [Batch.ID: Int]) -> Int {
        begun += 1
        covers.append(
            Cover(
                number: begun, untaken: max(0, untaken), critical: min(critical, max(0, untaken)),
                batches: batches.mapValues { (.max, $0) }))
        return begun
    }

    /// Ends a flush.
    mutating func end(_ number: Int, unreadBytes: Int) -> FlushReport {
        var report = FlushReport()
        report.unreadBytes = unreadBytes
        guard let index = covers.firstIndex(where: { $0.number == number }) else { return report }
        let cover = covers.remove(at: index)
        report.delivered = cover.delivered
        report.rejected = cover.rejected
        report.waiting = cover.untaken + cover.batches.values.reduce(0) { $0 + $1.waiting }
        return report
    }

    mutating func appendedCritical() {
        critical += 1
        for index in covers.indices { covers[index].laterCritical += 1 }
    }

    mutating func took(_ batch: BatchProgress) {
        // A store returns normal events only when it has no critical ones.
        critical = batch.critical > 0 ? max(0, critical - batch.count) : 0
        for index in covers.indices { covers[index].took(batch) }
    }

    mutating func record(_ id: Batch.ID, _ result: SendResult) {
        for index in covers.indices { covers[index].record(id, result) }
    }

    /// Forgets a batch that the store has removed.
    mutating func removed(_ id: Batch.ID) {
        for index in covers.indices { covers[index].batches[id] = nil }
    }

    /// The store has the events of a batch that have no verdict a second time, as its newest ones.
    mutating func gaveBack(_ id: Batch.ID) {
        for index in covers.indices { covers[index].untaken += covers[index].batches[id]?.waiting ?? 0 }
    }

    /// Counts events that the store has found or, below zero, lost.
    mutating func changed(by events: Int) {
        for index in covers.indices { covers[index].changed(by: events) }
    }
}
