/// The state of a route that is shared between threads: schedule, ledger, batches, waiters and gate, under one lock.
///
/// This is a value without I/O. ``RouteRuntime`` calls the store, the transport and the host's closures without the lock.
///
/// The route counts its waiting events itself, because everything that enters or leaves its store passes it. The store has
/// an event a moment before the route counts it. Therefore the number can be too low for that moment, and never too high.
struct RouteState: Sendable {
    var schedule: DeliverySchedule
    var journal: RouteJournal
    var gate = StoreGate()
    var batches = BatchTable()
    private var sizes: BatchSizes
    private let maximumInFlight: Int
    /// Whether the deletion that goes on has removed everything so far.
    var isDeletionComplete = true
    var erasures = Erasures()
    var waiters = Waiters()

    init(name: String, policy: DeliveryPolicy, maximumBatchSize maximum: BatchSize) {
        schedule = DeliverySchedule(policy: policy)
        journal = RouteJournal(name: name)
        maximumInFlight = policy.maximumBatchesInFlight
        sizes = BatchSizes(policy, maximum: maximum)
    }

    var hasActions: Bool { gate.mustClose || !waiters.ended.isEmpty || !journal.diagnostics.isEmpty }

    mutating func takeActions() -> Actions {
        Actions(
            waiters: waiters.takeEnded(), diagnostics: journal.takeDiagnostics(), mustClose: gate.takeClosing())
    }

    // MARK: Inputs

    /// Counts an event that the store has accepted. `isLast` is false if events that were stored with it follow.
    mutating func appended(_ priority: Event.Priority, isLast: Bool = true, at now: () -> Duration) {
        journal.ledger.waiting += 1
        waiters.noted()
        if priority == .critical { batches.flushes.appendedCritical() }
        // Events in unread files are older and are taken first. They would use up a pass for the counted events alone.
        let mayBegin = isLast && journal.ledger.unreadBytes == 0
        // mutant: sleep-through-appends
        switch schedule.appended(priority, waiting: takeable, mayBegin: mayBegin, at: now) {
        case .never: break
        case .now: waiters.changed()
        case .by(let time): if waiters.alarm.map({ time < $0 }) ?? true { waiters.changed() }
        }
    }

    /// Counts a change that the store reports.
    mutating func reported(_ change: (inout RouteJournal) -> Void) {
        waiters.noted()
        let before = journal.ledger.waiting
        change(&journal)
        batches.flushes.changed(by: journal.ledger.waiting - before)
    }

    /// Changes the schedule, and wakes the workers. A flush also ends the deferrals for which the receiver named no time.
    mutating func change(_ body: (inout DeliverySchedule) -> Void) {
        body(&schedule)
        if schedule.takeFlush() { batches.flush() }
        waiters.changed()
    }

    /// The ledger; see ``RouteJournal/ledger(with:resolved:)``.
    func ledger(with backlog: Backlog?) -> RouteLedger { journal.ledger(with: backlog, resolved: batches.resolved) }

    // MARK: Waiters

    /// Begins a flush of all events that wait now; see ``Flushes/begin(untaken:batches:)``.
    mutating func beginFlush() -> Int { batches.beginFlush(untaken: journal.ledger.waiting - batches.waiting) }

    /// Ends a flush, and returns its result.
    mutating func endFlush(_ number: Int) -> FlushReport {
        var report = batches.flushes.end(number, unreadBytes: journal.ledger.unreadBytes)
        // Erased events can be older or newer than the flush.
        report.waiting = min(report.waiting, journal.ledger.waiting)
        return report
    }

    /// Begins a wait; see ``Waiters/wait(_:inputs:_:)``.
    mutating func wait(for waiter: Waiters.Waiter, inputs seen: Int? = nil) { waiters.wait(waiter, inputs: seen, gate) }

    /// The number of taken events that contains all events which wait now: a batch more than are counted, for events that
    /// are stored and not counted yet.
    var flushTarget: Int { batches.taken + max(0, takeable) + sizes.next(takeable: takeable).events }

    // MARK: Stopping

    var isStopped: Bool { gate.isEnding }

    /// Opens the gate of a store that has this backlog.
    mutating func opened(_ backlog: Backlog) {
        gate.open()
        journal.opened(backlog)
    }

    /// Ends delivery, and closes the store when its last use has ended. Events without a verdict stay in the store.
    mutating func close() {
        guard !isStopped else { return }
        gate.close()
        waiters.stop()
        if gate.isClosed { waiters.end(.closed) }
    }

    mutating func didClose() {
        gate.didClose()
        waiters.end(.closed)
    }

    /// Ends the wait of a shutdown for a store that is still in use. On a busy machine, the thread that closes the store may
    /// not have started yet. This call then closes the store, and the next call ends the wait.
    mutating func abandon() {
        guard isStopped else { return close() }
        guard gate.abandon() else { return }
        journal.report(
            .store, "the store is still in use after the deadline of the shutdown, and is closed when that use ends")
        waiters.end(.closed)
    }

    // MARK: Deciding

    /// Events that can be taken from the store.
    private var takeable: Int {
        journal.ledger.unreadBytes > 0 ? Passes.unknown : journal.ledger.waiting - batches.waiting
    }

    /// Decides the next step of a worker without a batch.
    mutating func nextBatch(at now: Duration) -> BatchStep {
        if mustDelete {
            // mutant: delete-in-flight
            guard batches.workers == 0, !waiters.isDeleting, gate.enter() else { return .wait(inputs: waiters.inputs) }
            waiters.beginDeletion()
            return .deleteAll(batches.deferred.map(\.batch))
        }
        if mustErase { return .wait(inputs: waiters.inputs) }
        if batches.isTaking, !isStopped { return .wait(inputs: waiters.inputs) }
        switch decision(isHolding: false, hasReady: batches.hasReady(at: now), at: now) {
        case .wait: return .wait(inputs: waiters.inputs)
        case .stop: return .stop
        case .send: break
        }
        if let batch = batches.takeReady(at: now, schedule.stage, takeable) {
            return .resume(batch, permit(for: batch.id))
        }
        guard gate.enter() else {
            close()
            return .stop
        }
        batches.beginTake()
        return .take(permit(sizes.next(takeable: takeable)))
    }

    /// Decides the next step of a worker with a batch.
    mutating func nextPart(of batch: BatchProgress, at now: Duration) -> PartStep {
        if mustDelete { return .delete }
        if mustErase, let erasure = erasures.current {
            if batches.hasPassed(erasure.number, batch.id) { return .wait(inputs: waiters.inputs) }
            var permit = self.permit(for: batch.id)
            permit.erasure = erasure
            return .send(permit)
        }
        switch decision(isHolding: true, hasReady: false, at: now) {
        case .wait: return .wait(inputs: waiters.inputs)
        case .stop: return .stop
        case .send:
            if batch.isSuspected, takeable > 0, schedule.takeDetour() {
                // Suspects are taken as soon as the store has no other events.
                batches.deferBatch(batch, (now, now))
                return .leave
            }
            batches.send(batch.id)
            return .send(permit(for: batch.id))
        }
    }

    /// The permit for the next part of a batch.
    private func permit(for batch: Batch.ID) -> Permit { permit(sizes.part(of: batches.size(of: batch))) }

    private func permit(_ size: BatchSize) -> Permit {
        Permit(
            size: schedule.limit(size), batchSize: size, epoch: schedule.epoch, stage: schedule.stage,
            inputs: waiters.inputs)
    }

    private mutating func decision(
        isHolding: Bool, hasReady: Bool, at now: Duration
    ) -> DeliverySchedule.Decision {
        if isStopped { return .stop }
        let inFlight = batches.inFlight
        let work = DeliverySchedule.Work(
            waiting: takeable, isHolding: isHolding || hasReady,
            hasOther: batches.expected(before: schedule.stopDeadline) > (isHolding ? 1 : 0),
            othersAreInFlight: inFlight > 0)
        let decision = schedule.decision(at: now, work)
        if takeable > 0, schedule.takeNetworkNotice(isAwaited: decision == .stop || waiters.areFlushing, at: now) {
            journal.reportUnknownNetwork()
        }
        switch decision {
        case .stop: close()
        case .send: return inFlight < (schedule.isProbing ? 1 : maximumInFlight) ? .send : .wait(until: nil)
        case .wait(let until):
            // A worker that holds a batch decides this itself: every input wakes all workers.
            if inFlight == 0, batches.workers == (isHolding ? 1 : 0) || isHolding { waiters.endFlushes() }
            let time = [until, batches.nextReady(after: now)].compactMap(\.self).min()
            waiters.setAlarm(time, isIdle: batches.count == 0, at: now)
        }
        return decision
    }

    // MARK: Taking

    /// Counts the batch that a worker took at the gate.
    ///
    /// - Returns: whether to send it; false if delivery was stopped.
    mutating func took(_ batch: Batch, _ permit: Permit) -> Bool {
        gate.leave()
        let progress = BatchProgress(batch)
        batches.took(progress, size: permit.batchSize)
        waiters.delayFlushes(by: progress.critical)
        schedule.took(progress.count, critical: progress.critical)
        waiters.noted()
        // There may be room and work for another worker.
        if maximumInFlight > 1 { waiters.changed() }
        return !isStopped
    }

    /// Takes back a permit whose part the worker doesn't send. The worker still holds the batch.
    mutating func returnPermit(_ batch: Batch.ID) {
        batches.hold(batch)
        waiters.changed()
    }

    /// Call this when the store gave a worker no batch.
    ///
    /// - Returns: the value of ``inputs`` if the worker must call ``compare(_:inputs:at:random:)``: something waits, and no
    ///   other thread can be the reason that the store has returned nothing. Until then, no other worker takes a batch.
    mutating func foundNothing(
        _ permit: Permit, hasFailed: Bool, at now: Duration, random: () -> UInt64
    ) -> Int? {
        gate.leave()
        if !hasFailed {
            schedule.foundNothing()
            if takeable > 0, permit.inputs == waiters.inputs { return waiters.inputs }
        }
        batches.foundNothing()
        if hasFailed { storeFailed(at: now, random: random) }
        waiters.changed()
        return nil
    }

    /// Compares the count with the store's backlog, which was read without the lock after
    /// ``foundNothing(_:hasFailed:at:random:)``.
    mutating func compare(_ backlog: Backlog, inputs seen: Int, at now: Duration, random: () -> UInt64) {
        batches.foundNothing()
        defer { waiters.changed() }
        // The store can have removed a batch that the route still counts.
        guard waiters.inputs == seen, !batches.isSettling else { return }
        let missing = journal.ledger.waiting + batches.resolved - backlog.events
        if missing > 0 {
            reported { $0.lost(missing, .vanished) }
        } else if missing == 0 {
            // The store has events that it can't return now. Ask later, not in a loop.
            storeFailed(at: now, random: random)
        }
    }

    private mutating func storeFailed(at now: Duration, random: () -> UInt64) {
        schedule.storeFailed(at: now, random: random)
        if batches.workers == 0 { waiters.endFlushes() }
    }

    // MARK: Results

    /// Records the result of a send attempt.
    ///
    /// - Returns: the rejected events for the store, and whether the dead letters of a hold must be put back. The worker is
    ///   at the gate if there is anything to do with the store; nil if delivery was stopped.
    mutating func record(
        _ result: SendResult, _ batch: BatchProgress, epoch: Int, at now: Duration, random: () -> UInt64
    ) -> StoreWork? {
        // The receiver's word comes too late: the store is closed, and the batch stays in it.
        guard !isStopped else { return nil }
        var result = result
        let (stage, suspects) = (schedule.stage, batches.suspects(with: batch, takeable: takeable))
        sizes.record(result)
        if result.effect == .deferred, result.resolved == 0, batches.hasTooManyDeferred {
            result.effect = .retry(after: nil)
        }
        let isAlone = batch.count == 1 && result.effect == .hold
        let recorded = schedule.record(
            &result, suspects, isAlone: isAlone, epoch: epoch, at: now, random: random)
        var work = StoreWork(result, recorded, mustSettle: batch.isResolved)
        work.deferral = schedule.deferral(batch, at: now, random: random)
        if result.accepted > 0, batches.release(stage, at: now), !batch.isResolved { work.deferral = (now, now) }
        work.mustGiveBack = work.isDeferred && batches.mustGiveBack(batch)
        if work.isNeeded {
            _ = gate.enter()
            batches.settle(batch.id)  // mutant: remove-before-settling
        } else {
            finish(batch, work)
        }
        return work
    }

    /// Ends an attempt whose result the store has, and counts it. A flush that waited for its events returns now.
    mutating func finish(_ batch: BatchProgress, _ work: StoreWork) {
        if work.isNeeded { gate.leave() }
        journal.record(work.result, work.rejected)
        erasures.count(work.result)
        batches.resolve(batch.id, work.result)
        if work.mustSettle {
            batches.remove(batch.id)
        } else if work.hasGivenBack {
            batches.giveBack(batch.id)
        } else if let deferral = work.deferral {
            // Now, because another worker can resume the batch, and the store must have its rejected events before.
            batches.deferBatch(batch, deferral)  // mutant: forget-deferred-batch
        }
        waiters.noted()
        waiters.endFlushes(upTo: work.result.endsFlushes ? .max : batches.settled)
        if maximumInFlight > 1 || mustDelete || mustErase { waiters.changed() }
    }
}
