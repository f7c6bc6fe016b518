/// Decides when to send and when to wait. This is a value without clocks, stores or networks.
///
/// A delivery pass covers the events that waited when it began. Events that arrive meanwhile are sent in the same pass only
/// as full batches. The rest waits for the next trigger: a count, an interval, a critical event or a flush.
struct DeliverySchedule: Sendable {
    enum Phase: Sendable, Equatable {
        case ready
        case backingOff(until: Duration)
        /// The receiver named the time. Not even a flush sends before it.
        case throttled(until: Duration)
        case held(until: Duration)

        var deadline: Duration? {
            switch self {
            case .ready: nil
            case .backingOff(let until), .throttled(let until), .held(let until): until
            }
        }
    }

    enum Decision: Sendable, Equatable {
        case send
        /// Nil: until an input changes the decision.
        case wait(until: Duration?)
        case stop
    }

    /// The work that a worker sees.
    struct Work: Sendable {
        /// Events that can be taken, at most.
        var waiting = 0
        /// How many of them may have been counted twice.
        var uncertain = 0
        /// Whether the worker itself has events to send.
        var isHolding = false
        /// Whether other batches are in flight or deferred.
        var hasOther = false
        /// Whether other workers wait for responses.
        var othersAreInFlight = false
    }

    /// A receiver can't delay a route for longer. Otherwise a wrong or malicious header could stop it.
    private static let maximumRetryAfter = Duration.seconds(3_600)
    /// The longest hold, in hold intervals: an hour by default.
    private static let maximumHolds = 12
    /// The retry budget: a failure spends one, a success earns one back. When it is spent, every back-off is the longest.
    private static let maximumSpentRetries = 10

    private var policy: DeliveryPolicy
    private(set) var phase = Phase.ready
    private(set) var isPaused = false
    private var connectivity: Signal.Connectivity?
    /// Increases with every failure. Batches that were sent in the same epoch and failed have met the same outage.
    private(set) var epoch = 0
    private var refusals = Refusals()
    /// One success doesn't restore the whole budget. Otherwise clients that have just reached a server after an outage would
    /// come back within a second.
    private var spentRetries = 0
    private var holds = 0
    /// Events that the current pass still covers; nil between passes.
    private var pass: Int?
    /// Whether the current pass covers critical events only.
    private var isCriticalPass = false
    private var mustBeginPass = false
    /// Counts the calls of ``flushRequested()``.
    private(set) var flushes = 0
    /// About as many events as the current pass doesn't cover, and nobody has taken.
    private var arrived = 0
    /// When the next pass must begin, at the latest.
    private var due: Duration?
    /// A time before ``due`` at which a worker looks again anyway, so that no other alarm is started for each pass.
    private(set) var alarm: Duration?
    /// Critical events that arrived since the last pass began, and the time of a pass for them alone.
    private var criticalArrived = 0
    private var criticalDue: Duration?
    private var stopDeadline: Duration?
    /// The time in which no batch is started, because the system is about to suspend the process.
    private var suspension: Range<Duration>?
    /// Whether requests were cancelled because of the suspension.
    private var isSuspended = false

    /// No batch is started with less background time left, because its response could come too late. Since iOS 13 the system
    /// gives an app some 30 s in all: a third of that is kept free.
    private static let minimumBackgroundTime = Duration.seconds(30)
    /// A process that still runs this long after its background time has run out was resumed, or was never suspended.
    private static let suspensionGrace = Duration.seconds(10)

    init(policy: DeliveryPolicy) {
        self.policy = policy
    }

    // MARK: Inputs

    /// Continues with the dead letters that an earlier process left.
    mutating func start(with letters: [DeadLetter]) {
        refusals.start(with: letters)
    }

    /// See ``Refusals/lettersToReplay(from:)``.
    mutating func lettersToReplay(from letters: [DeadLetter]) -> Set<DeadLetter.ID> {
        refusals.lettersToReplay(from: letters)
    }

    /// Counts an event.
    ///
    /// - Parameters:
    ///   - priority: its priority.
    ///   - canBeginPass: whether a pass can begin: the events that were stored together with it are counted, and
    ///     the number of all waiting events is known.
    ///   - now: returns the time.
    /// - Returns: whether a waiting worker must look again.
    // Inlined, because otherwise each event retains the context of `now`.
    @inline(__always)
    mutating func appended(
        _ priority: Event.Priority, canBeginPass: Bool = true, at now: () -> Duration
    ) -> Bool {
        if priority == .critical, policy.sendsCriticalEventsAlone {
            criticalArrived += 1
            guard criticalDue == nil else { return false }
            criticalDue = now() + policy.criticalInterval
            return true
        }
        arrived += 1
        let isCount = pass == nil ? arrived == flushCount : arrived % policy.batch.events == 0
        var isNews = isCount && phase == .ready
        if due == nil || priority == .critical {
            let latest = now() + (priority == .critical ? policy.criticalInterval : policy.flushInterval)
            if due.map({ latest < $0 }) ?? true {
                due = latest
                if alarm.map({ latest < $0 }) ?? true { isNews = true }
            }
        }
        if canBeginPass, arrived >= flushCount, pass == nil, phase == .ready, !mustBeginPass, !mustWait {
            // The pass begins now. If it began when a worker wakes, it would also cover a few later events, and a small batch
            // would follow each full one.
            let alarm = alarm ?? due
            beginPass(arrived + criticalArrived)
            self.alarm = alarm
        }
        return isNews
    }

    private var flushCount: Int {
        policy.countsAtLongIntervals || policy.flushInterval <= policy.flushIntervals.lowerBound
            ? policy.flushCount : .max
    }

    /// Sends all waiting events now: the host asked for it, or the app enters the background.
    mutating func flushRequested() {
        flushes += 1
        mustBeginPass = true
        switch phase {
        case .backingOff, .held: phase = .ready
        case .ready, .throttled: break
        }
    }

    /// Retries when the network comes back.
    mutating func connectivityChanged(_ connectivity: Signal.Connectivity) {
        let previous = self.connectivity
        self.connectivity = connectivity
        guard connectivity != .unavailable else { return }
        spentRetries = 0
        if previous == .unavailable {
            flushRequested()
        } else if case .backingOff = phase {
            phase = .ready
        }
    }

    mutating func setFlushInterval(_ interval: Duration) {
        policy.flushInterval = policy.allowed(interval)
        due = nil
        flushRequested()
    }

    mutating func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
    }

    /// Starts no batch shortly before the system suspends the process, and shortly after. Nil calls that off, and retries
    /// if requests were cancelled.
    mutating func expectSuspension(in time: Duration?, at now: Duration) {
        guard let time else {
            if isSuspended, case .backingOff = phase { phase = .ready }
            (suspension, isSuspended) = (nil, false)
            return
        }
        let end = now + max(.zero, time)
        let margin = min(DeliverySchedule.minimumBackgroundTime, max(.zero, time) / 3)
        suspension = end - margin..<end + DeliverySchedule.suspensionGrace
    }

    /// Notes that requests are cancelled because of the suspension.
    mutating func cancelledSends() { isSuspended = true }

    /// Drains until nothing waits or the earliest deadline is reached.
    mutating func stopRequested(deadline: Duration) {
        stopDeadline = min(deadline, stopDeadline ?? deadline)
        flushRequested()
    }

    /// Notes that a worker took a batch. `critical` is the number of its critical events.
    mutating func took(_ events: Int, critical: Int = 0) {
        // A normal pass doesn't count critical events. They are taken first, even if they arrived after the pass began, and
        // would end it too early.
        let counted = isCriticalPass ? events : events - critical
        let covered = min(counted, max(0, pass ?? 0))
        pass = pass.map { $0 - counted }
        if !isCriticalPass { arrived = max(0, arrived - (events - covered)) }
    }

    /// Notes that the store has no more critical events. An earlier pass can have taken one before ``appended(_:at:)``
    /// counted it.
    mutating func endCriticalPass() {
        if isCriticalPass { pass = 0 }
    }

    /// The store has events that it can't return at present.
    mutating func storeFailed(at now: Duration, random: () -> UInt64) {
        backOff(nil, at: now, random)
    }

    // MARK: Results

    /// Applies the result of one attempt, and makes it a hold if the receiver refuses everything.
    ///
    /// - Parameters:
    ///   - result: the outcome, which may be changed to ``SendResult/Effect/hold``.
    ///   - epoch: the value of ``epoch`` when the attempt began.
    ///   - now: the time.
    ///   - random: returns random bits.
    /// - Returns: see ``Refusals/record(_:)``.
    mutating func record(
        _ result: inout SendResult, epoch: Int, at now: Duration, random: () -> UInt64
    ) -> (rejected: [RejectedEvent], mustReplay: Bool) {
        let recorded = refusals.record(result)
        if !recorded.rejected.isEmpty, result.accepted == 0, refusals.isHolding, result.effect == .progress {
            result.effect = .hold
            result.reason =
                "the receiver has refused \(refusals.inARow) events in a row: \(recorded.rejected[0].reason)"
        }
        if epoch < self.epoch, phase != .ready {
            recordLate(result.effect, at: now)
            return recorded
        }
        switch result.effect {
        case .progress:
            succeeded()
            enter(.ready, at: now)
        case .deferred:
            enter(.backingOff(until: now + DeliverySchedule.jittered(policy.backOff, random())), at: now)
        case .retry(let after):
            self.epoch += 1
            backOff(after, at: now, random)
        case .hold:
            self.epoch += 1
            spendRetry()
            holds += 1
            let half = policy.holdInterval * min(1 << min(holds - 1, 4), DeliverySchedule.maximumHolds) / 2
            enter(.held(until: now + half + half * DeliverySchedule.fraction(random())), at: now)
        }
        return recorded
    }

    /// Applies the result of an attempt that began before a failure which is known already. A success that was sent before
    /// the failure doesn't end the back-off. Otherwise a batch that keeps failing beside successful ones would be resent
    /// without a pause.
    private mutating func recordLate(_ effect: SendResult.Effect, at now: Duration) {
        switch effect {
        case .progress:
            succeeded()
            if case .held = phase { phase = .ready }
        case .retry(let after?):
            if let until = phase.deadline { phase = .throttled(until: max(until, now + DeliverySchedule.floor(after))) }
        case .retry(nil), .hold, .deferred: break
        }
    }

    private mutating func succeeded() {
        spentRetries = max(0, spentRetries - 1)
        holds = 0
    }

    private mutating func backOff(_ retryAfter: Duration?, at now: Duration, _ random: () -> UInt64) {
        let wait = nextBackOff(random())
        if let retryAfter {
            // The receiver's time is the minimum. The jitter keeps clients from coming back together.
            enter(.throttled(until: now + DeliverySchedule.floor(retryAfter) + wait), at: now)
        } else {
            enter(.backingOff(until: now + wait), at: now)
        }
        spendRetry()
    }

    private static func floor(_ retryAfter: Duration) -> Duration {
        min(max(retryAfter, .zero), maximumRetryAfter)
    }

    /// With several batches in flight, the result of one must not cancel what the receiver asked for with another.
    private mutating func enter(_ next: Phase, at now: Duration) {
        guard case .throttled(let minimum) = phase, now < minimum else {
            phase = next
            return
        }
        if let until = next.deadline { phase = .throttled(until: max(minimum, until)) }
    }

    private mutating func spendRetry() {
        spentRetries = min(spentRetries + 1, DeliverySchedule.maximumSpentRetries)
    }

    private func nextBackOff(_ random: UInt64) -> Duration {
        if let last = policy.backOffSteps.last {
            let step = spentRetries < policy.backOffSteps.count ? policy.backOffSteps[spentRetries] : last
            return step.lowerBound + (step.upperBound - step.lowerBound) * DeliverySchedule.fraction(random)
        }
        let isSpent = spentRetries >= DeliverySchedule.maximumSpentRetries
        let longest = isSpent ? policy.maximumBackOff : policy.backOff * (1 << spentRetries)
        return DeliverySchedule.jittered(min(policy.maximumBackOff, longest), random)  // mutant: never-retry
    }

    /// When a batch is sent again that has only deferred events left: the time that the receiver asked for, and with a
    /// back-off of its own on top.
    func deferral(_ batch: BatchProgress, at now: Duration, random: UInt64) -> (notBefore: Duration, until: Duration) {
        let notBefore = now + DeliverySchedule.floor(batch.deferral)
        let longest = policy.backOff * (1 << min(batch.deferrals, DeliverySchedule.maximumSpentRetries))
        return (notBefore, notBefore + DeliverySchedule.jittered(min(policy.maximumBackOff, longest), random))
    }

    /// Uniform in 10 % … 100 % of `limit`.
    static func jittered(_ limit: Duration, _ random: UInt64) -> Duration {
        limit / 10 + (limit - limit / 10) * fraction(random)
    }

    private static func fraction(_ random: UInt64) -> Double { Double(random >> 11) / Double(1 << 53) }

    // MARK: Decisions

    /// After some failures, only one batch at a time finds out whether the receiver is back.
    var isProbing: Bool { spentRetries >= 3 || refusals.isHolding }

    /// The size of the next part. A receiver that refuses everything is offered one event at a time.
    func limit(_ size: BatchSize) -> BatchSize {
        refusals.isHolding ? BatchSize(events: 1, bytes: size.bytes) : size
    }

    /// The lowest priority that the current pass covers.
    var priority: Event.Priority { isCriticalPass ? .critical : .normal }

    mutating func decision(at now: Duration, _ work: Work) -> Decision {
        if let time = alarm, now >= time { alarm = nil }
        let hasWork = work.isHolding || work.waiting > 0
        if let stopDeadline {
            if !hasWork && !work.hasOther || now >= stopDeadline { return .stop }
            // A request on its way continues until the deadline.
            if mustWait { return work.othersAreInFlight ? .wait(until: nil) : .stop }
        }
        guard hasWork else {
            // All events that arrived were taken. One whose `appended` has not been called yet still has its time before it.
            if work.hasOther {
                (arrived, due, alarm, criticalArrived, criticalDue) = (0, nil, nil, 0, nil)
            } else {
                beginPass(nil)
            }
            return .wait(until: nil)
        }
        if mustWait { return .wait(until: nil) }
        if stopDeadline == nil, let suspension, suspension.contains(now) { return .wait(until: suspension.upperBound) }
        if let until = phase.deadline, now < until {
            // Waiting beyond the deadline of a shutdown is useless.
            if let stopDeadline, until >= stopDeadline { return work.othersAreInFlight ? .wait(until: nil) : .stop }
            return .wait(until: until)
        }
        if work.isHolding || isInPass(work, at: now) { return .send }
        return .wait(until: [alarm, due, criticalDue].compactMap(\.self).min())
    }

    /// Whether the current pass covers more events.
    private func isPassOpen(_ work: Work) -> Bool {
        guard !mustBeginPass, let pass else { return false }
        if pass > 0 { return true }
        // All events that arrived since the pass began are still waiting, so at least `arrived` events wait.
        let waiting = min(work.waiting, max(work.waiting - work.uncertain, arrived))
        return !isCriticalPass && waiting >= policy.batch.events
    }

    /// Whether a flush, a count or a time asks for a pass.
    private func isTriggered(at now: Duration) -> Bool {
        mustBeginPass || phase != .ready || stopDeadline != nil || arrived >= flushCount
            || due.map { now >= $0 } ?? false
    }

    /// Whether events may be taken from the store now. Begins and ends passes.
    private mutating func isInPass(_ work: Work, at now: Duration) -> Bool {
        // The pass can count more events than wait, because the store evicts some.
        if !isCriticalPass { pass = pass.map { min($0, work.waiting) } }
        if isPassOpen(work) { return true }
        if !mustBeginPass { pass = nil }
        if isTriggered(at: now) {
            beginPass(work.waiting)
            return true
        }
        // Without a time, the store has an event whose `appended` is about to be called. Its interval begins now.
        due = due ?? now + policy.flushInterval
        guard let criticalDue, now >= criticalDue else { return false }
        beginPass(criticalArrived, isCritical: true)
        return true
    }

    private mutating func beginPass(_ events: Int?, isCritical: Bool = false) {
        (pass, isCriticalPass, criticalArrived, criticalDue) = (events, isCritical, 0, nil)
        if !isCritical { (mustBeginPass, arrived, due, alarm) = (false, 0, nil, nil) }
    }

    /// Whether to wait for an input, however long that takes.
    private var mustWait: Bool {
        switch connectivity {
        case .unavailable: true
        case .metered: isPaused || !policy.sendsOverMeteredNetworks
        case .available, nil: isPaused
        }
    }
}
