/// Decides when to send and when to wait. This is a value without clocks, stores or networks.
///
/// It combines the rules of ``Passes`` (when to send), ``BackOff`` and ``Refusals`` (when to wait for the receiver), and
/// ``Conditions`` (when to wait for the host).
struct DeliverySchedule: Sendable {
    enum Decision: Sendable, Equatable {
        case send
        /// Nil: until an input changes the decision.
        case wait(until: Duration?)
        case stop
    }

    /// The work that a worker sees.
    struct Work: Sendable {
        /// Events that can be taken. Below zero while events are taken that are not counted yet.
        var waiting = 0
        /// Whether the worker itself has events to send.
        var isHolding = false
        /// Whether other batches are in flight or deferred.
        var hasOther = false
        /// Whether other workers wait for responses.
        var othersAreInFlight = false
    }

    private var policy: DeliveryPolicy
    private var passes: Passes
    private var backOff: BackOff
    private var refusals = Refusals()
    private var conditions: Conditions
    private(set) var stopDeadline: Duration?
    /// Attempts without any response in a row, since a shutdown began.
    private var failuresAtStop = 0
    /// After so many of them, a shutdown doesn't wait for the next one: there is no network or no receiver.
    private var maximumFailuresAtStop = Int.max
    /// See ``Refusals/Stage/lastProbe``.
    private var lastProbe: UInt64 = 0
    /// See ``takeDetour()``.
    private var hasDetour = false
    /// Holds of batches with one event since the last acceptance.
    private var batchesOfOne = 0
    private static let maximumBatchesOfOne = 3
    private var hasFlushed = false

    init(policy: DeliveryPolicy) {
        self.policy = policy
        passes = Passes(policy)
        backOff = BackOff(policy)
        conditions = Conditions(policy)
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

    /// See ``Passes/appended(_:waiting:mayBegin:isReady:at:)``.
    @inline(__always)
    mutating func appended(
        _ priority: Event.Priority, waiting: Int, mayBegin: Bool = true, at now: () -> Duration
    ) -> Passes.Look {
        let isReady = backOff.phase == .ready && !conditions.mustWait
        return passes.appended(priority, waiting: waiting, mayBegin: mayBegin, isReady: isReady, at: now)
    }

    /// Sends all waiting events now: the host asked for it, or the app enters the background.
    mutating func flushRequested() {
        passes.flushRequested()
        backOff.endWait()
        hasFlushed = true
    }

    /// Returns whether a flush was requested since the last call.
    mutating func takeFlush() -> Bool {
        defer { hasFlushed = false }
        return hasFlushed
    }

    /// Retries when the network comes back.
    mutating func connectivityChanged(_ connectivity: Signal.Connectivity) {
        let change = conditions.connectivityChanged(connectivity)
        guard change != .lost else { return }
        let canRetry = backOff.networkChanged(isRegained: change == .regained)
        guard change == .regained else { return }
        passes.flushRequested()
        hasFlushed = canRetry || hasFlushed
    }

    /// Changes the triggers, and sends all waiting events now. Nil leaves one as it is.
    mutating func setFlush(count: Int?, interval: Duration?) {
        if let count { policy.flushCount = max(1, count) }
        if let interval { policy.flushInterval = policy.allowed(interval) }
        passes.set(count: policy.flushCount, interval: policy.flushInterval)
        flushRequested()
    }

    mutating func setPaused(_ isPaused: Bool) {
        conditions.setPaused(isPaused)
    }

    /// See ``Conditions/expectSuspension(in:at:)``.
    mutating func expectSuspension(in time: Duration?, at now: Duration) {
        if conditions.expectSuspension(in: time, at: now) { backOff.endBackOff() }
    }

    /// Call this when you cancel requests because of the suspension.
    mutating func cancelledSends() {
        conditions.cancelledSends()
    }

    /// Drains until nothing waits or the earliest deadline is reached, or until `maximumFailures` attempts in a row got no
    /// response.
    mutating func stopRequested(deadline: Duration, maximumFailures: Int = .max) {
        stopDeadline = min(deadline, stopDeadline ?? deadline)
        maximumFailuresAtStop = maximumFailures
        flushRequested()
    }

    /// Counts a batch that a worker took. `critical` is the number of its critical events.
    mutating func took(_ events: Int, critical: Int = 0) { passes.took(events, critical: critical) }

    /// Call this when the store returned nothing.
    mutating func foundNothing() { passes.foundNothing() }

    /// The store has events that it can't return at present.
    mutating func storeFailed(at now: Duration, random: () -> UInt64) { backOff.backOff(at: now, random: random) }

    /// Applies the result of one attempt, and makes it a hold if the receiver refuses everything.
    ///
    /// - Parameters:
    ///   - result: the outcome, which may be changed to ``SendResult/Effect/hold``.
    ///   - suspects: whether the route has events that are suspected to be the reason of an answer, and whether it has no
    ///     other ones, with which it can find out if the receiver is well.
    ///   - isAlone: whether the attempt is a hold of a batch with one event only.
    ///   - epoch: the value of ``epoch`` when the attempt began.
    ///   - now: the time.
    ///   - random: returns random bits.
    /// - Returns: see ``Refusals/record(_:)``.
    mutating func record(
        _ result: inout SendResult, _ suspects: (exist: Bool, areAll: Bool) = (false, true), isAlone: Bool = false,
        epoch: Int, at now: Duration, random: () -> UInt64
    ) -> (rejected: [RejectedEvent], mustReplay: Bool) {
        let mode = refusals.stage.mode
        let recorded = refusals.record(result, hasSuspects: suspects.exist)
        guard result.isAttempt, !result.isUnsent else { return recorded }
        let refused = result.suspect ?? result.rejected.first(where: \.isRefusal)?.reason
        if let reason = refused, result.accepted == 0, refusals.isHolding, result.effect == .progress,
            result.suspect == nil || suspects.areAll
        {
            refusals.forgetRow()
            result.effect = .hold
            result.reason = "the receiver has refused \(refusals.inARow) events in a row: \(reason)"
        }
        if stopDeadline != nil, epoch == backOff.epoch {
            failuresAtStop = result.status == nil && result.endsFlushes ? failuresAtStop + 1 : 0
        }
        let isLate = epoch < backOff.epoch
        if result.accepted > 0 { batchesOfOne = 0 }
        backOff.record(result.effect, holdTime: result.holdTime, epoch: epoch, at: now, random: random)
        if refusals.isHolding, mode == .normal {
            // Now, because the process may be about to end only later.
            lastProbe = random()
            hasDetour = lastProbe >> 63 == 1
        }
        // A short-lived process would otherwise never learn which event is the reason. Another batch that was on its way is no
        // probe. A batch of one event leaves no choice, so a few of them don't count.
        if isAlone { batchesOfOne += 1 }
        if mayEnd, refusals.isHolding,
            mode == .normal || isLate || isAlone && batchesOfOne <= DeliverySchedule.maximumBatchesOfOne
        {
            backOff.endWait()
        }
        return recorded
    }

    // MARK: Decisions

    var phase: BackOff.Phase { backOff.phase }

    /// See ``Conditions/obstacle``.
    var obstacle: RouteStatus.State? { conditions.obstacle }

    /// See ``BackOff/epoch``.
    var epoch: Int { backOff.epoch }

    /// Whether the last probe is an event of another batch than the suspected one: in every second process. If all events
    /// of the first batch are bad, such as all critical ones, the others would otherwise never be sent by short processes.
    mutating func takeDetour() -> Bool {
        guard mayEnd, refusals.isHolding else { return false }
        defer { hasDetour = false }
        return hasDetour
    }

    /// See ``BackOff/deferral(_:at:random:)``. Nil if the batch has events that its worker can send.
    func deferral(
        _ batch: BatchProgress, at now: Duration, random: () -> UInt64
    ) -> (notBefore: Duration, until: Duration)? {
        guard batch.isDeferred || refusals.isHolding && batch.isTried else { return nil }
        var deferral = backOff.deferral(batch, at: now, random: random())
        // A suspect is a probe, too.
        if batch.isSuspected, let deadline = phase.deadline { deferral.until = max(deferral.until, deadline) }
        return deferral
    }

    /// Whether only one batch at a time may be in flight, to find out if the receiver is back.
    var isProbing: Bool { backOff.isProbing || refusals.isAlone }

    /// Whether the process is about to end, or to be suspended, which it can't tell from its end.
    private var mayEnd: Bool { stopDeadline != nil || conditions.isSuspending }

    /// See ``Refusals/Stage``.
    var stage: Refusals.Stage {
        var stage = refusals.stage
        if mayEnd { stage.lastProbe = lastProbe }
        return stage
    }

    /// The size of the next part. A receiver that refuses everything is offered one event at a time.
    func limit(_ size: BatchSize) -> BatchSize {
        refusals.isHolding ? BatchSize(events: 1, bytes: size.bytes) : size
    }

    /// See ``Conditions/takeNetworkNotice(isAwaited:at:)``.
    mutating func takeNetworkNotice(isAwaited: Bool, at now: Duration) -> Bool {
        conditions.takeNetworkNotice(isAwaited: isAwaited, at: now)
    }

    mutating func decision(at now: Duration, _ work: Work) -> Decision {
        let isWaiting = phase.deadline.map { now < $0 } ?? false
        let hasWork = work.isHolding || work.waiting > 0 || passes.isEmptying && !isWaiting
        if let stopDeadline {
            if !hasWork && !work.hasOther || now >= stopDeadline { return .stop }
            // A request on its way continues until the deadline.
            if conditions.mustWait { return work.othersAreInFlight ? .wait(until: nil) : .stop }
        }
        guard hasWork else {
            passes.nothingWaits(besideOthers: work.hasOther)
            refusals.nothingWaits()
            return .wait(until: nil)
        }
        if conditions.mustWait {
            return .wait(until: work.waiting > 0 ? conditions.networkNoticeTime(at: now) : nil)
        }
        if stopDeadline == nil, let end = conditions.suspensionEnd(at: now) { return .wait(until: end) }
        if isWaiting, let until = phase.deadline {
            // Waiting beyond the deadline of a shutdown is useless.
            if let stopDeadline, until >= stopDeadline || failuresAtStop >= maximumFailuresAtStop {
                return work.othersAreInFlight ? .wait(until: nil) : .stop
            }
            return .wait(until: until)
        }
        let mustSend = phase != .ready || stopDeadline != nil
        if work.isHolding || passes.maySend(work.waiting, mustSend: mustSend, at: now) { return .send }
        return .wait(until: passes.next)
    }
}
