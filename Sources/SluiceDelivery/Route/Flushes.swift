/// The flushes that the host waits for, with the events that each one covers: exactly the events that waited when it began.
/// This is a value without I/O.
///
/// A store returns critical events first, and the events of one priority in their order. So the first events that are taken
/// after a flush has begun are its own, except for critical events that were tracked later.
struct Flushes: Sendable {
    /// The flushes to end.
    enum End: Sendable {
        case all
        /// The deadline has passed.
        case due(Duration)
        /// All events have left.
        case complete
    }

    private struct Flush: Sendable {
        let deadline: Duration?
        let resume: @Sendable (FlushReport) -> Void
        /// The flush's events in the store.
        var untaken: Int
        /// The critical ones among them that this process has tracked.
        var critical: Int
        /// Critical events in the store that were tracked after the flush began.
        var laterCritical = 0
        /// The places of the flush's events without a verdict in each open batch, in order.
        var batches: [Batch.ID: [Int]]
        var report = FlushReport()

        var waiting: Int { max(0, untaken) + batches.values.reduce(0) { $0 + $1.count } }

        mutating func took(_ batch: Batch, isCritical: Bool) {
            let count = batch.events.count
            let oldest = isCritical ? max(min(critical, count), count - laterCritical) : count
            let own = min(untaken, oldest)
            untaken -= own
            if isCritical {
                critical = max(0, critical - own)
                laterCritical = max(0, laterCritical - (count - own))
            }
            if own > 0 { batches[batch.id] = Array(0..<own) }
        }

        /// Counts events that have left a batch.
        ///
        /// - Returns: the flush's own ones.
        mutating func left(_ places: [Int], _ id: Batch.ID) -> Int {
            guard var own = batches.removeValue(forKey: id) else { return 0 }
            let before = own.count
            own.remove(places)
            if !own.isEmpty { batches[id] = own }
            return before - own.count
        }
    }

    private var flushes: [Flush] = []
    /// Critical events in the store that this process has tracked.
    private var critical = 0
    /// Let callers of ended flushes continue. Call these without the lock.
    var ended: [@Sendable () -> Void] = []

    /// Whether no flush waits.
    var isEmpty: Bool { flushes.isEmpty }

    /// Begins a flush of `untaken` events in the store and the rests of the open batches.
    mutating func begin(
        untaken: Int, _ open: [OpenBatch], until deadline: Duration?,
        _ resume: @escaping @Sendable (FlushReport) -> Void
    ) {
        let untaken = max(0, untaken)
        flushes.append(
            Flush(
                deadline: deadline, resume: resume, untaken: untaken, critical: min(critical, untaken),
                batches: Dictionary(open.map { ($0.id, $0.rest) }, uniquingKeysWith: { first, _ in first })))
    }

    mutating func end(_ which: End, _ ledger: RouteLedger) {
        guard !flushes.isEmpty else { return }
        flushes.removeAll { flush in
            switch which {
            case .all: break
            case .due(let time): if flush.deadline.map({ $0 > time }) ?? true { return false }
            case .complete: if flush.waiting > 0 || ledger.unreadBytes > 0 { return false }
            }
            var report = flush.report
            report.unreadBytes = ledger.unreadBytes
            // Erased events can be older or newer than the flush.
            report.waiting = max(0, min(flush.waiting, ledger.waiting))
            ended.append { [report] in flush.resume(report) }
            return true
        }
    }

    mutating func appendedCritical(_ count: Int) {
        critical += count
        for index in flushes.indices { flushes[index].laterCritical += count }
    }

    mutating func took(_ batch: Batch) {
        let isCritical = batch.events.first?.priority == .critical
        // A store returns normal events only when it has no critical ones.
        critical = isCritical ? max(0, critical - batch.events.count) : 0
        for index in flushes.indices { flushes[index].took(batch, isCritical: isCritical) }
    }

    mutating func record(_ settlement: Settlement) {
        let accepted = settlement.answer.accepted.map { settlement.part.places[$0] }
        for index in flushes.indices {
            flushes[index].report.delivered += flushes[index].left(accepted, settlement.part.batch.id)
            for case .reject(let events, let id) in settlement.actions {
                flushes[index].report.rejected += flushes[index].left(events.map(\.key.place), id)
            }
        }
    }

    /// The host has erased events of an open batch.
    mutating func erased(_ places: [Int], of id: Batch.ID) {
        for index in flushes.indices { _ = flushes[index].left(places, id) }
    }

    /// Counts events that the store has found or, below zero, lost: normal ones first, and the oldest ones.
    mutating func changed(by events: Int) {
        for index in flushes.indices {
            let untaken = flushes[index].untaken
            flushes[index].untaken = max(min(flushes[index].critical, untaken), untaken + events)
        }
    }
}
