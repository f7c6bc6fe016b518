/// The state of a route that is shared between threads: schedule, ledger, waiters and gate, under one lock.
///
/// This is a value without I/O. ``RouteRuntime`` calls the store, the transport and the host's closures without the lock.
struct RouteState: Sendable {
    /// The next step of a worker.
    enum Step: Sendable {
        /// Send a part with at most this size. Call ``record(_:_:epoch:at:random:)`` afterwards.
        case send(BatchSize, epoch: Int)
        /// Take a batch and send its first part. The worker is at the gate.
        case take(Request)
        /// Continue with a batch whose deferral has ended.
        case resume(BatchProgress, BatchSize, epoch: Int)
        /// Delete the worker's own batch.
        case deleteBatch
        /// Delete everything in the store and these batches. The worker is at the gate.
        case deleteAll([BatchProgress])
        case wait(until: Duration?, inputs: Int)
        case stop
    }

    /// A worker's request to the store.
    struct Request: Sendable {
        let size: BatchSize
        /// The lowest priority.
        let priority: Event.Priority
        let epoch: Int
        /// The changes of the store when this was decided.
        let changes: Int
        /// See ``DeliverySchedule/alarm``.
        let alarm: Duration?
    }

    /// Actions to run without the lock.
    struct Actions: Sendable {
        let waiters: [(Waiter, Bool)]
        let diagnostics: [Diagnostic]
        let mustClose: Bool
    }

    typealias Waiter = Waiters.Waiter

    /// Counts the acquisitions of the lock, for tests.
    var accesses = 0
    var schedule: DeliverySchedule
    var journal: RouteJournal
    private(set) var gate = StoreGate()
    private(set) var isStopped = false
    /// Events of all batches that workers took.
    private var taken = 0
    /// The value of ``taken`` before each batch that isn't settled, by the batch's id.
    private var unsettledStarts: [UInt64: Int] = [:]
    /// Delivered and rejected events that the store still counts.
    private(set) var unsettled = 0
    /// Delivered and rejected events of the batches that workers are removing from the store. It may count them or not.
    private var settling = 0
    private let batchSize: BatchSize
    private let maximumInFlight: Int
    private var inFlight = 0
    /// Batches that workers hold.
    private var held = 0
    /// Events of all batches that were taken and not settled.
    private var handedOut = 0
    /// The critical ones among ``handedOut``.
    private var handedOutCritical = 0
    private var deferred = DeferredBatches()
    /// Those whose deletion is going on. Callers that come later wait for a deletion of their own.
    private var deleting: [Waiter]?
    private var isDeletionComplete = true
    private var waiters = Waiters()
    /// Counts the inputs, so that no worker begins to wait after it has missed one.
    private(set) var inputs = 0
    /// Counts the stored events, so that a worker can add those that its backlog may lack.
    private(set) var appends = 0
    /// Counts the stored events and the settled batches, so that a worker that finds nothing knows whether others are why.
    private var changes = 0
    /// The backlog that a worker has seen last.
    private(set) var lastBacklog = Backlog(events: 0, bytes: 0)
    /// Whether the store had nothing to hand out beside the batches that are out.
    private var isDry = false
    private var mustClose = false

    init(name: String, policy: DeliveryPolicy, maximumBatchSize maximum: BatchSize) {
        schedule = DeliverySchedule(policy: policy)
        journal = RouteJournal(name: name)
        maximumInFlight = policy.maximumBatchesInFlight
        batchSize = BatchSize(
            events: min(policy.batch.events, maximum.events), bytes: min(policy.batch.bytes, maximum.bytes))
    }

    var hasActions: Bool { mustClose || !waiters.ended.isEmpty || !journal.diagnostics.isEmpty }

    mutating func takeActions() -> Actions {
        defer { mustClose = false }
        return Actions(
            waiters: waiters.takeEnded(), diagnostics: journal.takeDiagnostics(), mustClose: mustClose)
    }

    // MARK: Inputs

    /// `isLast` is whether the events that were stored together with it are noted.
    mutating func appended(_ priority: Event.Priority, isLast: Bool = true, at now: () -> Duration) {
        appends += 1
        changes += 1
        isDry = false
        // Events in unread files are older and are taken first. They would use up a pass for the counted events alone.
        let canBeginPass = isLast && lastBacklog.unreadBytes == 0
        // mutant: sleep-through-appends
        if schedule.appended(priority, canBeginPass: canBeginPass, at: now) { changed() }
    }

    /// Changes the schedule. A flush also ends deferrals for which the receiver named no time.
    mutating func change(_ body: (inout DeliverySchedule) -> Void) {
        let flushes = schedule.flushes
        body(&schedule)
        if schedule.flushes > flushes { deferred.flush() }
        changed()
    }

    /// Wakes the workers.
    // Not inlined: otherwise every `track` would reserve stack space for waiters, although it rarely wakes one.
    @inline(never)
    mutating func changed() {
        inputs += 1
        waiters.end(.changed)
    }

    // MARK: Waiters

    mutating func wait(for waiter: Waiter, inputs seen: Int? = nil) {
        let isOver =
            switch waiter.event {
            case .changed: isStopped || inputs != seen
            case .flushed, .deleted: isStopped
            case .closed: gate.isClosed
            }
        if isOver {
            waiters.end(waiter, success: waiter.event != .deleted)
        } else {
            waiters.add(waiter)
        }
    }

    /// The number of taken events that contain all events which wait now. It can be higher, but not lower: critical events
    /// that are handed out may be newer than the backlog.
    func flushTarget(_ backlog: Backlog) -> Int {
        // The number of events in an unread segment is unknown, so the flush must wait until the store is empty.
        backlog.unreadBytes > 0 ? .max : taken + waiting(backlog) + handedOutCritical
    }

    mutating func requestDeletion(_ waiter: Waiter) {
        wait(for: waiter)
        changed()
    }

    private var mustDelete: Bool { waiters.contains(.deleted) }

    // MARK: Stopping

    /// Ends delivery, and closes the store as soon as nobody uses it. Events without a verdict stay in the store.
    mutating func close() {
        guard !isStopped else { return }
        isStopped = true
        inputs += 1
        if gate.close() { mustClose = true }
        waiters.endFlushes()
        waiters.end(.changed)
        waiters.end(.deleted, success: false)
        if gate.isClosed { waiters.end(.closed) }
    }

    mutating func opened() { gate.open() }

    mutating func didClose() {
        gate.didClose()
        waiters.end(.closed)
    }

    /// Ends the wait of a shutdown for a store that is still in use. On a busy machine, the thread that closes the store may
    /// not have started yet: this one closes it then, and the next call ends the wait.
    mutating func abandon() {
        guard isStopped else { return close() }
        guard gate.abandon() else { return }
        journal.report(
            .store, "the store is still in use after the deadline of the shutdown, and is closed when that use ends")
        waiters.end(.closed)
    }

    mutating func enterGate() -> Bool { gate.enter() }

    mutating func leaveGate() {
        if gate.leave() { mustClose = true }
    }

    // MARK: Workers

    /// Decides the next step of a worker.
    ///
    /// - Parameters:
    ///   - isHolding: whether the worker holds a batch.
    ///   - backlog: the store's backlog, read just before without the lock.
    ///   - seen: the value of ``appends`` before `backlog` was read.
    ///   - now: the time.
    /// - Returns: the next step.
    mutating func nextStep(isHolding: Bool, _ backlog: Backlog, appends seen: Int, at now: Duration) -> Step {
        lastBacklog = backlog
        if isStopped { return .stop }
        if mustDelete || deleting != nil { return deletionStep(isHolding: isHolding) }
        let hasReady = deferred.hasReady(at: now)
        var work = DeliverySchedule.Work(
            waiting: waiting(backlog), isHolding: isHolding || hasReady,
            hasOther: held > (isHolding ? 1 : 0) || !deferred.isEmpty, othersAreInFlight: inFlight > 0)
        if isDry, held > 0 {
            work.waiting = 0
        } else if work.waiting < .max {
            // The backlog may lack some or all of the events that were stored after `seen` was read.
            work.uncertain = appends - seen + settling
            work.waiting += appends - seen
        }
        switch schedule.decision(at: now, work) {
        case .stop:
            close()
            return .stop
        case .send where inFlight >= (schedule.isProbing ? 1 : maximumInFlight):
            return .wait(until: nil, inputs: inputs)
        case .send:
            return send(isHolding: isHolding, at: now)
        case .wait(let until):
            // A worker that holds a batch decides this itself: every input wakes all workers.
            if inFlight == 0, held == 0 || isHolding { waiters.endFlushes() }
            let deferral = isHolding ? nil : deferred.nextEnd(after: now)
            return .wait(until: [deferral, until].compactMap(\.self).min(), inputs: inputs)
        }
    }

    /// Events that the store can hand out, and perhaps those of batches that are being removed.
    private func waiting(_ backlog: Backlog) -> Int {
        backlog.unreadBytes > 0 ? .max : max(0, backlog.events - handedOut + settling)
    }

    private mutating func send(isHolding: Bool, at now: Duration) -> Step {
        let (size, epoch) = (schedule.limit(batchSize), schedule.epoch)
        inFlight += 1
        if isHolding { return .send(size, epoch: epoch) }
        held += 1
        if let batch = deferred.takeReady(at: now) { return .resume(batch, size, epoch: epoch) }
        guard gate.enter() else {
            close()
            return .stop
        }
        return .take(
            Request(
                size: size, priority: schedule.priority, epoch: epoch, changes: changes, alarm: schedule.alarm))
    }

    private mutating func handOut(_ batch: BatchProgress) {
        handedOut += batch.count
        handedOutCritical += batch.critical
    }

    private mutating func takeBack(_ batch: BatchProgress) {
        handedOut -= batch.count
        handedOutCritical -= batch.critical
    }

    /// Notes the batch that a worker took at the gate.
    ///
    /// - Returns: whether to send it; false if delivery was stopped meanwhile.
    mutating func took(_ batch: Batch) -> Bool {
        leaveGate()
        unsettledStarts[batch.id] = taken
        taken += batch.events.count
        let progress = BatchProgress(batch)
        handOut(progress)
        waiters.delayFlushes(by: progress.critical)
        schedule.took(batch.events.count, critical: progress.critical)
        // There may be room and work for another worker.
        if maximumInFlight > 1 { changed() }
        return !isStopped
    }

    /// Notes that a worker doesn't send the part for which it has a permit. It still holds the batch.
    mutating func returnPermit() {
        inFlight -= 1
        changed()
    }

    /// Notes that a worker at the gate got no batch.
    ///
    /// - Parameters:
    ///   - backlog: the store's backlog after that.
    ///   - request: its request. Since then, others can have taken the events, or stored new ones.
    ///   - hasFailed: whether the store threw.
    ///   - now: the time.
    ///   - random: returns random bits.
    mutating func tookNothing(
        _ backlog: Backlog, _ request: Request, hasFailed: Bool, at now: Duration, random: () -> UInt64
    ) {
        leaveGate()
        inFlight -= 1
        held -= 1
        defer { changed() }
        guard waiting(backlog) > 0, hasFailed || request.changes == changes else { return }
        if !hasFailed, request.priority > .normal {
            schedule.endCriticalPass()
        } else if held > 0 {
            isDry = true
        } else {
            // The store has events that it can't return now. Ask again later, not in a loop.
            schedule.storeFailed(at: now, random: random)
            waiters.endFlushes()
        }
    }

    /// Records the result of a send attempt.
    ///
    /// - Returns: the rejected events for the store, and whether the dead letters of a hold must be put back. The worker is
    ///   at the gate if there is anything to do with the store; nil if delivery was stopped meanwhile.
    mutating func record(
        _ result: SendResult, _ batch: BatchProgress, epoch: Int, at now: Duration, random: () -> UInt64
    ) -> StoreWork? {
        // The receiver's word comes too late: the store is closed, and the batch stays in it.
        guard !isStopped else { return nil }
        var result = result
        let recorded = schedule.record(&result, epoch: epoch, at: now, random: random)
        var work = StoreWork(result: result, rejected: recorded.rejected, mustReplay: recorded.mustReplay)
        if batch.isResolved {
            work.mustSettle = true
            settling += batch.resolved
        } else if batch.isDeferred {
            work.deferral = schedule.deferral(batch, at: now, random: random())
        }
        if work.isNeeded {
            _ = gate.enter()
        } else {
            finish(batch, work)
        }
        return work
    }

    /// Ends an attempt whose result the store has, and counts it. A flush that waited for its events returns now.
    private mutating func finish(_ batch: BatchProgress, _ work: StoreWork) {
        journal.record(work.result, work.rejected)
        inFlight -= 1
        unsettled += work.result.resolved
        if let deferral = work.deferral {
            // Now, because another worker can resume the batch, and the store must have its rejected events before.
            held -= 1
            deferred.add(batch, deferral)  // mutant: forget-deferred-batch
        }
        if work.mustSettle {
            unsettledStarts[batch.id] = nil
            unsettled -= batch.resolved
            settling -= batch.resolved
            takeBack(batch)
            (held, isDry) = (held - 1, false)
            changes += 1
        }
        waiters.endFlushes(upTo: work.result.endsFlushes ? .max : unsettledStarts.values.min() ?? taken)
        if maximumInFlight > 1 || mustDelete { changed() }
    }

    /// The worker's use of the store after an attempt.
    struct StoreWork: Sendable {
        let result: SendResult
        let rejected: [RejectedEvent]
        let mustReplay: Bool
        var mustSettle = false
        /// When the deferred rest of the batch is sent.
        var deferral: (notBefore: Duration, until: Duration)?

        var isDeferred: Bool { deferral != nil }
        var isNeeded: Bool { !rejected.isEmpty || mustReplay || mustSettle }
    }

    /// Ends the worker's use of the store after an attempt.
    mutating func settled(_ batch: BatchProgress, _ work: StoreWork) {
        finish(batch, work)
        leaveGate()
    }

    /// Counts dead letters that are about to be put back. Another worker can deliver one before the store returns.
    mutating func replaying(_ count: Int) { journal.ledger.replayed += count }

    /// Corrects the count of ``replaying(_:)``, and sends the events.
    mutating func replayed(_ count: Int, of expected: Int) {
        journal.ledger.replayed += count - expected
        guard count > 0 else { return }
        appends += count
        changes += 1
        isDry = false
        schedule.flushRequested()
        changed()
    }

    // MARK: Deletion

    private mutating func deletionStep(isHolding: Bool) -> Step {
        if isHolding { return .deleteBatch }
        // mutant: delete-in-flight
        guard held == 0, inFlight == 0, deleting == nil, gate.enter() else { return .wait(until: nil, inputs: inputs) }
        deleting = waiters.remove(.deleted)
        return .deleteAll(deferred.removeAll())
    }

    /// Notes that a batch was deleted. A worker held it if `isHeld`; the store could remove it if `isComplete`.
    mutating func deleted(_ batch: BatchProgress, isHeld: Bool, isComplete: Bool) {
        journal.ledger.dropped.add(batch.waiting, .deleted)
        isDeletionComplete = isDeletionComplete && isComplete
        unsettledStarts[batch.id] = nil
        takeBack(batch)
        unsettled -= batch.resolved
        if isHeld { held -= 1 }
        changed()
    }

    /// - Returns: whether the deletion goes on; false after the deadline of a shutdown.
    mutating func took(toDelete batch: Batch) -> Bool {
        handOut(BatchProgress(batch))
        return gate.isOpen
    }

    /// Ends the deletion that ``Step/deleteAll(_:)`` began.
    mutating func deletedAll(isComplete: Bool) {
        let success = isComplete && isDeletionComplete
        for waiter in deleting ?? [] { waiters.end(waiter, success: success) }
        (deleting, isDeletionComplete, isDry) = (nil, true, false)
        waiters.endFlushes()
        leaveGate()
        changed()
    }
}
