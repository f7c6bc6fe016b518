/// The state of a route that is shared between threads: the rule with the open batches, passes, conditions, ledger, flushes,
/// waiters and gate, under one lock.
///
/// This is a value without I/O. ``RouteRuntime`` calls the store, the transport and the host's closures without the lock.
///
/// The route counts its waiting events, because everything that enters or leaves its store passes it. It counts an event a
/// moment after the store has it. So a worker can find `untaken` too low, and too high only if the store hides a loss.
struct RouteState: Sendable {
    var rule: DeliveryRule
    private var passes: Passes
    private(set) var conditions: Conditions
    /// The end that the host has asked for, and the attempts before it. After so many failures in a row, the last one without a
    /// response, it doesn't wait for the next attempt: there is no network or no receiver.
    private(set) var stop: (deadline: Duration, isShort: Bool, attempts: Int)?
    var journal: RouteJournal
    var gate = StoreGate()
    var waiters = Waiters()
    var flushes = Flushes()
    /// Let shutdowns continue when the store is closed or abandoned.
    var shutdowns: [@Sendable () -> Void] = []
    /// The erasures that the host has begun, and the ended ones: one is made after the other.
    var erasures = (begun: 0, ended: 0)
    /// The value of ``Waiters/inputs`` when a worker began to take a batch; nil after it. Only one worker takes at a time.
    /// Therefore the store's answer tells whether it has events for any worker.
    private var taking: Int?
    /// Events with a final verdict that the store is about to learn.
    private(set) var unsettled = 0
    /// How often the host has cancelled the requests in flight.
    var cancellations = 0
    /// After a failure, the time of the next attempt that a worker has waited for last.
    private(set) var nextAttempt: Duration?

    init(name: String, policy: DeliveryPolicy, maximumBatchSize maximum: BatchSize, capacity: Int = .max) {
        rule = DeliveryRule(policy, maximum: maximum, capacity: capacity)
        passes = Passes(policy)
        conditions = Conditions(policy)
        journal = RouteJournal(name: name)
    }

    /// Whether something can follow from changes. At the end, any change can let the store be closed.
    var hasActions: Bool {
        gate.isEnding || !waiters.ended.isEmpty || !flushes.ended.isEmpty || !journal.diagnostics.isEmpty
    }

    /// Takes the consequences of changes, to be handled without the lock.
    mutating func takeActions() -> (resumptions: [@Sendable () -> Void], diagnostics: [Diagnostic], mustClose: Bool) {
        let resumptions = waiters.ended.takeAll() + flushes.ended.takeAll() + (gate.isClosed ? shutdowns.takeAll() : [])
        return (resumptions, journal.diagnostics.takeAll(), gate.takeClosing())
    }

    // MARK: Events

    /// Counts an event that the store has accepted. `isLast` is false if events that were stored with it follow.
    mutating func appended(_ priority: Event.Priority, isLast: Bool = true, at now: () -> Duration) {
        journal.ledger.waiting += 1
        waiters.noted()
        if priority == .critical { flushes.appendedCritical(1) }
        // Events in unread files are older and are taken first. They would use up a pass for the counted events alone.
        let mayBegin = isLast && journal.ledger.unreadBytes == 0
        let isReady = !rule.isInDoubt && conditions.obstacle == nil
        if let time = passes.appended(priority, waiting: takeable, mayBegin: mayBegin, isReady: isReady, at: now),
            waiters.alarm.map({ time < $0 }) ?? true
        {
            waiters.changed()
        }
    }

    /// Counts a change that the store reports.
    mutating func reported(_ change: (inout RouteJournal) -> Void) {
        waiters.noted()
        let before = journal.ledger.waiting
        change(&journal)
        flushes.changed(by: journal.ledger.waiting - before)
    }

    /// Counts dead letters that wait again, and sends them now.
    mutating func replayed(_ count: Int, critical: Int) {
        journal.ledger.waiting += count
        journal.ledger.replayed += count
        flushes.appendedCritical(critical)
        requestFlush()
    }

    /// The ledger with the counts of the store. Without a backlog, because the store may hang, it has the route's own counts.
    func ledger(with backlog: Backlog?) -> RouteLedger {
        var ledger = journal.ledger
        ledger.setAside = rule.setAside
        ledger.stored = backlog.map { $0.events - rule.resolved } ?? ledger.waiting
        ledger.deadLetters = backlog?.deadLetters ?? ledger.deadLetters
        return ledger
    }

    // MARK: Host

    /// Sends all waiting events now.
    mutating func requestFlush() {
        passes.flushRequested()
        rule.endWaits()
        waiters.changed()
    }

    /// Begins a flush of all events that wait now. `resume` gets its report when none of them waits any more, or when more
    /// sending must wait.
    mutating func flush(until deadline: Duration? = nil, _ resume: @escaping @Sendable (FlushReport) -> Void) {
        flushes.begin(untaken: untaken, rule.open, until: deadline, resume)
        if isStopped { return endFlushes() }
        requestFlush()
    }

    /// Ends flushes: all of them, those whose deadline has passed, or those whose events have all left.
    mutating func endFlushes(_ which: Flushes.End = .all) { flushes.end(which, journal.ledger) }

    mutating func connectivityChanged(_ connectivity: Signal.Connectivity) {
        let (isOther, isRegained) = conditions.connectivityChanged(connectivity)
        if isRegained { passes.flushRequested() }
        if isOther { rule.endWaits(byNetwork: true) }
        waiters.changed()
    }

    /// Changes the triggers, and sends all waiting events now. Nil leaves one as it is.
    mutating func setFlush(count: Int?, interval: Duration?) {
        passes.set(count: count, interval: interval)
        requestFlush()
    }

    mutating func setConditions(_ change: (inout Conditions) -> Void) {
        change(&conditions)
        waiters.changed()
    }

    // MARK: Stopping

    var isStopped: Bool { gate.isEnding }

    /// Opens the gate of a store that has this backlog.
    mutating func opened(_ backlog: Backlog) {
        gate.open()
        journal.ledger.deadLetters = backlog.deadLetters
        // The events that the store hasn't reported.
        journal.recovered(max(0, backlog.events - journal.ledger.waiting))
        // The events of an earlier process have waited long enough.
        if journal.ledger.waiting > 0 || journal.ledger.unreadBytes > 0 { requestFlush() }
    }

    /// Drains until more sending can't help or the earliest deadline is reached. A short one also ends when the receiver can't be
    /// reached.
    mutating func stop(deadline: Duration, isShort: Bool = false) {
        stop = (min(deadline, stop?.deadline ?? deadline), isShort, stop?.attempts ?? journal.ledger.attempts.total)
        requestFlush()
    }

    /// Ends delivery, and closes the store when its last use has ended. Events without a verdict stay in the store.
    mutating func close() {
        guard !isStopped else { return }
        gate.close()
        endFlushes()
        waiters.alarm = nil
        waiters.changed()
    }

    /// Ends the wait of a shutdown for a store that is still in use. On a busy machine, the thread that closes the store may
    /// not have started yet. This call then closes the store, and the next call ends the wait.
    mutating func abandon() {
        guard isStopped else { return close() }
        if gate.isClosed { return }
        gate.abandon()
        journal.report(
            .store, "the store is still in use after the deadline of the shutdown, and is closed when that use ends")
    }

    // MARK: Deciding

    /// The counted events that can be taken from the store.
    private var untaken: Int { journal.ledger.waiting - rule.waiting - unsettled }

    /// Events that can be taken from the store.
    private var takeable: Int { journal.ledger.unreadBytes > 0 ? Passes.unknown : untaken }

    /// Whether no worker sends or uses the store.
    var isQuiet: Bool { taking == nil && !rule.open.contains(where: \.isInFlight) }

    /// Decides the next step of a worker.
    mutating func next(at now: Duration, random: () -> UInt64) -> Step {
        if isStopped { return .stop }
        if erasures.ended < erasures.begun || taking != nil { return .wait(inputs: waiters.inputs) }
        if let stop, now >= stop.deadline { return end() }
        if let obstacle = obstacle(at: now) { return obstacle }
        switch offer(at: now, random) {
        case .send(let part):
            endFlushes(.complete)
            return .send(part)
        case .take(let size):
            // The store can have nothing but the events that it is about to learn of. The worker would ask in a loop.
            if unsettled > 0 { return .wait(inputs: waiters.inputs) }
            _ = gate.enter()
            taking = waiters.inputs
            return .take(size)
        case .wait(let until):
            if let failure = rule.row.last, isQuiet {
                let pause = rule.pauseEnd(at: now).map { $0 - now } ?? .zero
                journal.reportDoubt(
                    failure, row: rule.row.count, isSearching: rule.blame.isSearching, pause: pause)
            }
            nextAttempt = rule.isInDoubt ? until ?? nextAttempt : nil
            // An interval that has ended, or that ends during a pause, can't be the reason to send.
            let isPausing = rule.pauseEnd(at: now) != nil
            let due = takeable > 0 && !isPausing ? passes.due.flatMap { $0 > now ? $0 : nil } : nil
            let time = [until, due].compactMap(\.self).min()
            guard let stop, isQuiet else { return wait(until: stop == nil ? time : nil, at: now) }
            let isHopeless = stop.isShort && rule.isUnreachable
            guard takeable > 0 || rule.hasHope, !isHopeless, let time, time < stop.deadline else { return end() }
            return wait(until: time, at: now)
        }
    }

    /// The step while the host's conditions forbid to send; nil if they don't.
    private mutating func obstacle(at now: Duration) -> Step? {
        let isAwaited = !flushes.isEmpty || stop != nil
        if takeable > 0, conditions.takeNetworkNotice(isAwaited: isAwaited, at: now) {
            journal.report(
                .paused,
                "sendsOverMeteredNetworks is false, and no report about the network has come: nothing is sent until "
                    + "AppSignals or pipeline.signal(.connectivity(…)) reports it")
        }
        if conditions.obstacle != nil {
            if stop != nil, isQuiet { return end() }
            return wait(until: takeable > 0 ? conditions.networkNoticeTime(at: now) : nil, at: now)
        }
        guard stop == nil, let end = conditions.suspensionEnd(at: now) else { return nil }
        return wait(until: end, at: now)
    }

    private mutating func offer(at now: Duration, _ random: () -> UInt64) -> DeliveryRule.Offer {
        var takeable = takeable
        let isPausing = rule.pauseEnd(at: now) != nil
        if !isPausing, takeable > 0 || passes.isEmptying {
            let canTake = passes.maySend(takeable, mustSend: rule.mustRetry || stop != nil, at: now)
            takeable = canTake ? max(1, takeable) : 0
        } else if !isPausing {
            passes.nothingWaits(besideOthers: rule.waiting > 0)
        }
        return rule.offer(takeable: takeable, at: now, random: random)
    }

    private mutating func end() -> Step {
        close()
        return .stop
    }

    private mutating func wait(until time: Duration?, at now: Duration) -> Step {
        let isQuiet = isQuiet
        endFlushes(isQuiet ? .all : .complete)
        waiters.setAlarm(time, isIdle: isQuiet, at: now)
        return .wait(inputs: waiters.inputs)
    }

    // MARK: Taking

    /// Counts the batch that a worker took at the gate.
    mutating func took(_ batch: Batch, _ size: BatchSize) {
        gate.leave()
        taking = nil
        rule.took(batch, size: size)
        let critical = batch.events.first?.priority == .critical ? batch.events.count : 0
        flushes.took(batch)
        // Ends complete flushes only now. Otherwise a host could pause after its flush, and this take would still follow.
        endFlushes(.complete)
        passes.took(batch.events.count, critical: critical)
        // There may be room and work for another worker, or an erasure.
        waiters.changed()
    }

    /// Call this when the store gave a worker no batch, with the backlog that the worker has read afterwards; nil if the store
    /// has failed.
    mutating func foundNothing(_ backlog: Backlog?, at now: Duration, random: () -> UInt64) {
        gate.leave()
        let isUnchanged = taking == waiters.inputs
        taking = nil
        defer { waiters.changed() }
        guard let backlog else { return rule.storeFailed(at: now, random: random) }
        passes.foundNothing()
        // Otherwise another thread can be the reason: it has counted or removed events since.
        guard takeable > 0, isUnchanged, unsettled == 0 else { return }
        let missing = journal.ledger.waiting + rule.resolved - backlog.events
        if missing > 0 { return reported { $0.lost(missing, .vanished) } }
        // The store has events that it can't return now. Ask later, not in a loop.
        rule.storeFailed(at: now, random: random)
    }

    /// Takes back a part that was not sent.
    mutating func takeBack(_ part: Part) {
        rule.settled(part)
        waiters.changed()
    }

    // MARK: Answers

    /// Applies the answer to a part.
    ///
    /// - Returns: the actions for the store, with the worker at the gate if there are any; nil if delivery was stopped.
    mutating func answered(_ part: Part, _ verdicts: Verdicts, at now: Duration, random: () -> UInt64) -> Settlement? {
        // The receiver's word comes too late: the store is closed, and the batch stays in it.
        guard !isStopped else { return nil }
        let answer = Answer(verdicts, count: part.places.count)
        let actions = rule.apply(answer, to: part, at: now, random: random)
        let settlement = Settlement(part: part, answer: answer, actions: actions)
        unsettled += settlement.resolved
        if !actions.isEmpty { _ = gate.enter() }
        return settlement
    }

    /// Ends an attempt when the store has learned its result, and counts it.
    mutating func finish(_ settlement: Settlement) {
        if !settlement.actions.isEmpty { gate.leave() }
        unsettled -= settlement.resolved
        journal.record(settlement, row: rule.row.count, isSearching: rule.blame.isSearching)
        flushes.record(settlement)
        rule.settled(settlement.part, settlement.actions)
        waiters.changed()
    }
}
