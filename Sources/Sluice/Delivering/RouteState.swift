/// The state of a route that is shared between threads: schedule, ledger, waiters and gate, under one lock.
///
/// This is a value without I/O. ``RouteRuntime`` calls the store, the transport and the host's closures without the lock.
struct RouteState: Sendable {
    /// A caller that waits for the route.
    struct Waiter: Sendable {
        enum Event: Sendable, Equatable {
            /// This many events are delivered or rejected, or a wait is useless.
            case flushed(resolved: Int)
            case deleted
            /// Delivery has ended, and the store is closed.
            case closed
            /// A worker must look again.
            case changed
        }

        let event: Event
        /// The value says whether the event happened as it should.
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// A batch whose remaining events the receiver has all deferred.
    private struct Deferred {
        let batch: BatchProgress
        var until: Duration
        /// The time that the receiver asked for. Not even a flush sends before it.
        let notBefore: Duration
    }

    /// The next step of a worker.
    enum Step: Sendable {
        /// Send a part with at most this size. Call ``record(_:_:epoch:at:random:)`` afterwards.
        case send(BatchSize, epoch: Int)
        /// Take a batch and send its first part. The worker is at the gate.
        case take(BatchSize, epoch: Int)
        /// Continue with a batch whose deferral has ended.
        case resume(BatchProgress, BatchSize, epoch: Int)
        /// Delete the worker's own batch.
        case deleteBatch
        /// Delete everything in the store and these batches. The worker is at the gate.
        case deleteAll([BatchProgress])
        case wait(until: Duration?, inputs: Int)
        /// Look at the store again.
        case again
        case stop
    }

    /// Actions to run without the lock.
    struct Actions: Sendable {
        var waiters: [(Waiter, Bool)] = []
        var diagnostics: [Diagnostic] = []
        var mustClose = false

        var isEmpty: Bool { waiters.isEmpty && diagnostics.isEmpty && !mustClose }
    }

    /// Counts the acquisitions of the lock, for tests.
    var accesses = 0
    var schedule: DeliverySchedule
    var ledger: RouteLedger
    private(set) var gate = StoreGate()
    private(set) var isStopped = false
    /// Delivered and rejected events of all batches.
    private(set) var resolved = 0
    /// Delivered and rejected events that the store still counts.
    private(set) var unsettled = 0
    private let batchSize: BatchSize
    private let maximumInFlight: Int
    private var inFlight = 0
    /// Batches that workers hold.
    private var held = 0
    /// Events of all batches that were taken and not settled.
    private var handedOut = 0
    private var deferred: [Deferred] = []
    /// Those whose deletion is going on. Callers that come later wait for a deletion of their own.
    private var deleting: [Waiter]?
    private var isDeletionComplete = true
    private var waiters: [Waiter] = []
    /// Counts the inputs, so that no worker begins to wait after it has missed one.
    private var inputs = 0
    /// Whether an event was stored since a worker last looked at the store.
    private var hasAppended = false
    /// Whether the store had nothing to hand out beside the batches that are out.
    private var isDry = false
    private var isSplitting = false
    private var actions = Actions()

    init(name: String, policy: DeliveryPolicy, maximumBatchSize maximum: BatchSize) {
        schedule = DeliverySchedule(policy: policy)
        ledger = RouteLedger(name: name)
        maximumInFlight = policy.maximumBatchesInFlight
        batchSize = BatchSize(
            events: min(policy.batch.events, maximum.events), bytes: min(policy.batch.bytes, maximum.bytes))
    }

    var hasActions: Bool { !actions.isEmpty }

    mutating func takeActions() -> Actions {
        defer { actions = Actions() }
        return actions
    }

    // MARK: Inputs

    mutating func appended(_ priority: Event.Priority, at now: () -> Duration) {
        (hasAppended, isDry) = (true, false)
        if schedule.appended(priority, at: now) { changed() }  // mutant: sleep-through-appends
    }

    /// Changes the schedule. A flush also ends deferrals for which the receiver named no time.
    mutating func change(_ body: (inout DeliverySchedule) -> Void) {
        let flushes = schedule.flushes
        body(&schedule)
        if schedule.flushes > flushes {
            for index in deferred.indices { deferred[index].until = deferred[index].notBefore }
        }
        changed()
    }

    /// Wakes the workers.
    mutating func changed() {
        inputs += 1
        end { $0 == .changed }
    }

    mutating func report(_ kind: Diagnostic.Kind, _ message: String) {
        actions.diagnostics.append(Diagnostic(kind: kind, route: ledger.name, message: message))
    }

    /// Counts an event that the store did not take, and reports the first one for each reason. Otherwise a full disk would
    /// also fill the host's log.
    mutating func refused(_ error: SluiceError) {
        let reason: DropReason =
            switch error.code {
            case .eventTooLarge: .tooLarge
            case .storageFull: .storeFull
            case .shutDown: .shutDown
            default: .storeFailed
            }
        if ledger.dropped[reason] == nil {
            report(.dropped, "events are not stored (reported once for each reason): \(error)")
        }
        ledger.dropped.add(1, reason)
    }

    /// Counts events that the store lost, and reports the first loss for each reason.
    mutating func dropped(_ count: Int, _ reason: DropReason) {
        if ledger.dropped[reason] == nil {
            report(.dropped, "the store has lost events: \(reason.rawValue) (reported once)")
        }
        ledger.dropped.add(count, reason)
    }

    mutating func droppedDeadLetters(_ count: Int, _ reason: DropReason) {
        if ledger.droppedDeadLetters[reason] == nil {
            report(.dropped, "the store has lost dead letters: \(reason.rawValue) (reported once)")
        }
        ledger.droppedDeadLetters.add(count, reason)
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
            actions.waiters.append((waiter, waiter.event != .deleted))
        } else {
            waiters.append(waiter)
        }
    }

    /// The number of resolved events at which all events that wait now are resolved.
    func flushTarget(_ backlog: Backlog) -> Int {
        // The number of events in an unread segment is unknown, so the flush must wait until the store is empty.
        backlog.unreadBytes > 0 ? .max : resolved - unsettled + backlog.events
    }

    mutating func requestDeletion(_ waiter: Waiter) {
        wait(for: waiter)
        changed()
    }

    private mutating func end(_ isOver: (Waiter.Event) -> Bool, success: Bool = true) {
        guard waiters.contains(where: { isOver($0.event) }) else { return }
        actions.waiters += waiters.filter { isOver($0.event) }.map { ($0, success) }
        waiters.removeAll { isOver($0.event) }
    }

    private mutating func endFlushes(upTo resolved: Int) {
        end {
            if case .flushed(let target) = $0 { target <= resolved } else { false }
        }
    }

    private var mustDelete: Bool { waiters.contains { $0.event == .deleted } }

    // MARK: Stopping

    /// Ends delivery, and closes the store as soon as nobody uses it. Events without a verdict stay in the store.
    mutating func close() {
        guard !isStopped else { return }
        isStopped = true
        inputs += 1
        if gate.close() { actions.mustClose = true }
        end { if case .flushed = $0 { true } else { $0 == .changed } }
        end({ $0 == .deleted }, success: false)
        if gate.isClosed { end { $0 == .closed } }
    }

    mutating func opened() { gate.open() }

    mutating func didClose() {
        gate.didClose()
        end { $0 == .closed }
    }

    /// Ends the wait of a shutdown for a store that is still in use.
    mutating func abandon() {
        close()
        guard gate.abandon() else { return }
        report(.store, "the store is still in use after the deadline of the shutdown, and is closed when that use ends")
        end { $0 == .closed }
    }

    mutating func enterGate() -> Bool { gate.enter() }

    mutating func leaveGate() {
        if gate.leave() { actions.mustClose = true }
    }

    // MARK: Workers

    /// Decides the next step of a worker.
    ///
    /// - Parameters:
    ///   - isHolding: whether the worker holds a batch.
    ///   - backlog: the store's backlog, read just before without the lock.
    ///   - now: the time.
    /// - Returns: the next step.
    mutating func nextStep(isHolding: Bool, _ backlog: Backlog, at now: Duration) -> Step {
        if isStopped { return .stop }
        if mustDelete || deleting != nil { return deletionStep(isHolding: isHolding) }
        let ready = deferred.firstIndex { $0.until <= now }
        let inStore = isDry ? 0 : waiting(backlog)
        if inStore == 0, ready == nil, !isHolding, hasAppended {
            hasAppended = false
            return .again
        }
        let work = DeliverySchedule.Work(
            waiting: inStore, isHolding: isHolding || ready != nil,
            hasOther: held > (isHolding ? 1 : 0) || !deferred.isEmpty)
        switch schedule.decision(at: now, work) {
        case .stop:
            close()
            return .stop
        case .send where inFlight >= (schedule.isProbing ? 1 : maximumInFlight):
            return .wait(until: nil, inputs: inputs)
        case .send:
            return send(isHolding: isHolding, ready)
        case .wait(let until):
            if inFlight == 0 { endFlushes(upTo: .max) }
            let deferrals = isHolding ? [] : deferred.map(\.until).filter { $0 > now }
            return .wait(until: (deferrals + [until].compactMap(\.self)).min(), inputs: inputs)
        }
    }

    /// Events that the store can hand out.
    private func waiting(_ backlog: Backlog) -> Int {
        backlog.unreadBytes > 0 ? .max : max(0, backlog.events - handedOut)
    }

    private mutating func send(isHolding: Bool, _ ready: Int?) -> Step {
        let (size, epoch) = (schedule.limit(batchSize), schedule.epoch)
        inFlight += 1
        if isHolding { return .send(size, epoch: epoch) }
        held += 1
        if let ready {
            var batch = deferred.remove(at: ready).batch
            batch.resume()
            return .resume(batch, size, epoch: epoch)
        }
        guard gate.enter() else {
            close()
            return .stop
        }
        return .take(schedule.take(batchSize), epoch: epoch)
    }

    /// Notes the batch that a worker took at the gate.
    ///
    /// - Returns: whether to send it; false if delivery was stopped meanwhile.
    mutating func took(_ batch: Batch) -> Bool {
        leaveGate()
        handedOut += batch.events.count
        schedule.took(batch.events.count)
        // There may be room and work for another worker.
        if maximumInFlight > 1 { changed() }
        return !isStopped
    }

    /// Notes that a worker at the gate got no batch. `backlog` is the store's backlog after that.
    mutating func tookNothing(_ backlog: Backlog, at now: Duration, random: () -> UInt64) {
        leaveGate()
        inFlight -= 1
        held -= 1
        defer { changed() }
        guard waiting(backlog) > 0 else { return }
        if held > 0 {
            isDry = true
        } else {
            // The store has events that it can't return now. Ask again later, not in a loop.
            schedule.storeFailed(at: now, random: random)
            endFlushes(upTo: .max)
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
        count(result)
        describe(result, recorded.rejected)
        var work = StoreWork(
            resolved: result.resolved, rejected: recorded.rejected, mustReplay: recorded.mustReplay)
        if batch.isResolved {
            work.mustSettle = true
        } else if batch.isDeferred {
            work.isDeferred = true
            held -= 1
            let (notBefore, until) = schedule.deferral(batch, at: now, random: random())
            // mutant: forget-deferred-batch
            deferred.append(Deferred(batch: batch, until: until, notBefore: notBefore))
        }
        switch result.effect {
        case .progress, .deferred: break
        case .retry, .hold: work.mustEndFlushes = true
        }
        work.isNeeded = !work.rejected.isEmpty || work.mustReplay || work.mustSettle
        if work.isNeeded {
            _ = gate.enter()
        } else {
            finish(batch, work)
        }
        return work
    }

    /// Ends an attempt whose result the store has. A flush that waited for its events returns now.
    private mutating func finish(_ batch: BatchProgress, _ work: StoreWork) {
        inFlight -= 1
        resolved += work.resolved
        unsettled += work.resolved
        if work.mustSettle {
            unsettled -= batch.resolved
            (held, handedOut, isDry) = (held - 1, handedOut - batch.count, false)
        }
        endFlushes(upTo: work.mustEndFlushes ? .max : resolved)
        if maximumInFlight > 1 || mustDelete { changed() }
    }

    /// The worker's use of the store after an attempt.
    struct StoreWork: Sendable {
        /// Events that the attempt has delivered or rejected.
        var resolved = 0
        var rejected: [RejectedEvent] = []
        var mustReplay = false
        var mustSettle = false
        var isDeferred = false
        var isNeeded = false
        /// Whether all flushes end, because the attempt failed.
        var mustEndFlushes = false
    }

    /// Ends the worker's use of the store after an attempt.
    mutating func settled(_ batch: BatchProgress, _ work: StoreWork) {
        finish(batch, work)
        leaveGate()
    }

    /// Counts dead letters that are about to be put back. Another worker can deliver one before the store returns.
    mutating func replaying(_ count: Int) { ledger.replayed += count }

    /// Corrects the count of ``replaying(_:)``, and sends the events.
    mutating func replayed(_ count: Int, of expected: Int) {
        ledger.replayed += count - expected
        guard count > 0 else { return }
        (hasAppended, isDry) = (true, false)
        schedule.flushRequested()
        changed()
    }

    private mutating func count(_ result: SendResult) {
        ledger.delivered += result.accepted
        ledger.duplicates += result.duplicates
        ledger.rejected += result.rejected.count
        ledger.sendAttempts += 1
        if result.effect != .progress { ledger.failedAttempts += 1 }
        if result.effect == .hold { ledger.heldAttempts += 1 }
        if result.splitReason != nil { ledger.splitAttempts += 1 }
        ledger.lastFailure = result.reason
    }

    private mutating func describe(_ result: SendResult, _ rejected: [RejectedEvent]) {
        if let first = rejected.first {
            report(.rejected, "\(rejected.count) event(s) became dead letters, the first because: \(first.reason)")
        }
        if let reason = result.splitReason {
            // The many parts that follow are not worth a message each.
            if !isSplitting { report(.splitting, "\(reason): smaller parts follow") }
            isSplitting = true
        }
        if result.accepted > 0 { isSplitting = false }
        if let reason = result.reason { report(result.effect == .hold ? .held : .retrying, reason) }
    }

    // MARK: Deletion

    private mutating func deletionStep(isHolding: Bool) -> Step {
        if isHolding { return .deleteBatch }
        // mutant: delete-in-flight
        guard held == 0, inFlight == 0, deleting == nil, gate.enter() else { return .wait(until: nil, inputs: inputs) }
        deleting = waiters.filter { $0.event == .deleted }
        waiters.removeAll { $0.event == .deleted }
        defer { deferred = [] }
        return .deleteAll(deferred.map(\.batch))
    }

    /// Notes that a batch was deleted. A worker held it if `isHeld`; the store could remove it if `isComplete`.
    mutating func deleted(_ batch: BatchProgress, isHeld: Bool, isComplete: Bool) {
        ledger.dropped.add(batch.waiting, .deleted)
        isDeletionComplete = isDeletionComplete && isComplete
        handedOut -= batch.count
        unsettled -= batch.resolved
        if isHeld { held -= 1 }
        changed()
    }

    /// - Returns: whether the deletion goes on; false after the deadline of a shutdown.
    mutating func took(toDelete batch: Batch) -> Bool {
        handedOut += batch.events.count
        return gate.isOpen
    }

    /// Ends the deletion that ``Step/deleteAll(_:)`` began.
    mutating func deletedAll(isComplete: Bool) {
        let success = isComplete && isDeletionComplete
        actions.waiters += (deleting ?? []).map { ($0, success) }
        (deleting, isDeletionComplete, isDry) = (nil, true, false)
        endFlushes(upTo: .max)
        leaveGate()
        changed()
    }
}
