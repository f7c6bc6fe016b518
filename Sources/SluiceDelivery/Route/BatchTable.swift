/// The batches that the store has handed out and that are not removed from it, and the worker that is taking one. This is a
/// value without I/O.
struct BatchTable: Sendable {
    private enum Phase: Sendable {
        /// A worker has it, and waits until it can send.
        case held
        /// A worker is sending a part of it.
        case sending
        /// A worker is telling the store the result.
        case settling
        /// All events that are left were deferred by the receiver. No worker has it.
        case deferred(BatchProgress, until: Duration, notBefore: Duration)
    }

    private struct Entry: Sendable {
        /// ``BatchTable/taken`` before this batch.
        let start: Int
        /// The size of its parts.
        let size: BatchSize
        /// Events without a final verdict.
        var waiting: Int
        /// Events with a verdict, which the store still has.
        var resolved = 0
        var phase = Phase.sending
        /// The last erasure that its events have passed.
        var erasure = 0
    }

    private var batches: [Batch.ID: Entry] = [:]
    /// Events of all batches that were taken so far.
    private(set) var taken = 0
    /// Whether a worker is taking a batch from the store. Only one does at a time. Therefore its answer tells whether
    /// the store has events for any worker.
    private(set) var isTaking = false
    /// Events without a verdict in all batches.
    private(set) var waiting = 0
    var flushes = Flushes()

    // MARK: Workers

    /// Call this when a worker begins to take a batch.
    mutating func beginTake() { isTaking = true }

    /// Call this when the worker got no batch.
    mutating func foundNothing() { isTaking = false }

    /// Adds the batch that a worker took, and is going to send.
    mutating func took(_ batch: BatchProgress, size: BatchSize) {
        isTaking = false
        batches[batch.id] = Entry(start: taken, size: size, waiting: batch.waiting)
        flushes.took(batch)
        taken += batch.waiting
        waiting += batch.waiting
    }

    /// The size of the parts of a batch.
    func size(of id: Batch.ID) -> BatchSize { batches[id]?.size ?? BatchSize(events: .max, bytes: .max) }

    mutating func send(_ id: Batch.ID) { batches[id]?.phase = .sending }

    mutating func hold(_ id: Batch.ID) { batches[id]?.phase = .held }

    mutating func settle(_ id: Batch.ID) { batches[id]?.phase = .settling }

    /// Counts events of a batch that have a final verdict. Its worker can send the next part.
    mutating func resolve(_ id: Batch.ID, _ result: SendResult) {
        count(result, of: id)
        if let erasure = result.erasure { batches[id]?.erasure = erasure }
        hold(id)
    }

    private mutating func count(_ result: SendResult, of id: Batch.ID) {
        batches[id]?.waiting -= result.resolved
        batches[id]?.resolved += result.resolved
        waiting -= result.resolved
        flushes.record(id, result)
    }

    /// Removes a batch that the store has removed.
    ///
    /// - Returns: the number of its events without a verdict.
    @discardableResult
    mutating func remove(_ id: Batch.ID) -> Int {
        guard let entry = batches.removeValue(forKey: id) else { return 0 }
        flushes.removed(id)
        waiting -= entry.waiting
        return entry.waiting
    }

    /// Begins a flush of all events that wait; `untaken` of them are in the store. See ``Flushes/begin(untaken:batches:)``.
    mutating func beginFlush(untaken: Int) -> Int {
        flushes.begin(untaken: untaken, batches: batches.mapValues(\.waiting))
    }

    // MARK: Deferred batches

    /// How many batches with delivered events may wait for their deferred ones. All events use memory and room in the store.
    private static let maximumDeferredBatches = 16
    /// How many events a receiver may defer in whole batches, until it counts as one that takes nothing at present.
    private static let maximumDeferredEvents = 1_000

    /// Whether a batch that has deferred events only must give them back.
    func mustGiveBack(_ batch: BatchProgress) -> Bool {
        batch.resolved > 0 && !batch.isSuspected && deferred.count >= BatchTable.maximumDeferredBatches
    }

    /// Whether the receiver defers everything. Otherwise it would get the whole backlog, and the store could evict none of it.
    var hasTooManyDeferred: Bool {
        deferred.reduce(0) { $0 + $1.batch.waiting } >= BatchTable.maximumDeferredEvents
    }

    /// Removes a batch whose last events were stored once more, behind the others.
    mutating func giveBack(_ id: Batch.ID) {
        flushes.gaveBack(id)
        remove(id)
    }

    /// Takes a batch away from its worker, because the batch only has deferred events left.
    mutating func deferBatch(_ batch: BatchProgress, _ deferral: (notBefore: Duration, until: Duration)) {
        batches[batch.id]?.phase = .deferred(batch, until: deferral.until, notBefore: deferral.notBefore)
    }

    /// Ends the deferrals for which the receiver named no time.
    mutating func flush() {
        for (id, entry) in batches {
            guard case .deferred(let batch, _, let notBefore) = entry.phase else { continue }
            batches[id]?.phase = .deferred(batch, until: notBefore, notBefore: notBefore)
        }
    }

    /// Makes the suspects ready, because the receiver has accepted another event.
    ///
    /// - Returns: whether a probe was accepted, and the suspects must be sent before the rest of its batch.
    mutating func release(_ stage: Refusals.Stage, at now: Duration) -> Bool {
        guard stage.mode != .normal else { return false }
        for (id, entry) in batches {
            guard case .deferred(var batch, _, let notBefore) = entry.phase, batch.isSuspected else { continue }
            _ = batch.confirm(stage.row)
            batches[id]?.phase = .deferred(batch, until: max(now, notBefore), notBefore: notBefore)
        }
        return stage.mode == .probing && deferred.contains(where: \.batch.isSuspected)
    }

    /// Whether the route has suspects after an attempt of this batch, and whether it has no other events.
    func suspects(with batch: BatchProgress, takeable: Int) -> (exist: Bool, areAll: Bool) {
        let others = deferred.map(\.batch)
        return (
            batch.isSuspected && !batch.isResolved || others.contains(where: \.isSuspected),
            !batch.hasUntried && takeable <= 0 && others.allSatisfy(\.isSuspected)
        )
    }

    /// Takes a batch whose deferral has ended, with its events sendable. Suspects that wait for an acceptance are the last ones,
    /// and are not taken while the store has other events.
    mutating func takeReady(
        at now: Duration, _ stage: Refusals.Stage = Refusals.Stage(), _ takeable: Int = 0
    ) -> BatchProgress? {
        var ready = deferred.filter { $0.until <= now }
        let others = ready.filter { !$0.batch.awaitsAcceptance(in: stage) }
        if takeable > 0 || !others.isEmpty { ready = others }
        guard var batch = ready.min(by: { ($0.until, $0.batch.id) < ($1.until, $1.batch.id) })?.batch else {
            return nil
        }
        batch.resume()
        batches[batch.id]?.phase = .sending
        return batch
    }

    /// Whether the deferral of a batch has ended.
    func hasReady(at now: Duration) -> Bool { deferred.contains { $0.until <= now } }

    /// The next end of a deferral after `now`.
    func nextReady(after now: Duration) -> Duration? { deferred.map(\.until).filter { $0 > now }.min() }

    /// All deferred batches.
    var deferred: [(until: Duration, batch: BatchProgress)] {
        batches.values.compactMap { entry in
            if case .deferred(let batch, let until, _) = entry.phase { (until, batch) } else { nil }
        }
    }

    // MARK: Erasures

    /// Whether the batch of a worker has passed an erasure.
    func hasPassed(_ erasure: Int, _ id: Batch.ID) -> Bool { batches[id]?.erasure == erasure }

    /// Whether nothing is on its way, and the batches of all workers have passed an erasure.
    func isQuiet(for erasure: Int) -> Bool {
        !isTaking
            && batches.values.allSatisfy { entry in
                switch entry.phase {
                case .held: entry.erasure == erasure
                case .sending, .settling: false
                case .deferred: true
                }
            }
    }

    /// Takes the events of an erasure out of a deferred batch.
    mutating func erased(_ result: SendResult, from batch: BatchProgress) {
        guard case .deferred(_, let until, let notBefore) = batches[batch.id]?.phase else { return }
        count(result, of: batch.id)
        batches[batch.id]?.phase = .deferred(batch, until: until, notBefore: notBefore)
    }

    // MARK: Counts

    private var taking: Int { isTaking ? 1 : 0 }

    /// All batches, and the one that a worker is taking.
    var count: Int { batches.count + taking }

    /// ``count`` without batches that wait for the receiver to accept another event, or until `end` or later.
    func expected(before end: Duration?) -> Int {
        let late = deferred.count { deferral in
            if deferral.batch.isSuspected { return true }
            guard let end else { return false }
            return deferral.until >= end
        }
        return count - late
    }

    /// Attempts that are going on, including the use of the store before and after them.
    var inFlight: Int {
        taking
            + batches.values.count { entry in
                switch entry.phase {
                case .sending, .settling: true
                case .held, .deferred: false
                }
            }
    }

    /// Workers that have a batch or are taking one.
    var workers: Int { taking + batches.count - deferred.count }

    /// Whether a worker is telling the store a result. The store may have removed its batch already.
    var isSettling: Bool { batches.values.contains { if case .settling = $0.phase { true } else { false } } }

    /// Events with a verdict, which the store still has.
    var resolved: Int { batches.values.reduce(0) { $0 + $1.resolved } }

    /// The events of all batches before this number are resolved.
    var settled: Int { batches.values.map(\.start).min() ?? taken }
}
