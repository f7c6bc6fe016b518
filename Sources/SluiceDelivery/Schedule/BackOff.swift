/// Decides how long a route waits after a failure: the rules of retries and holds. This is a value without clocks.
struct BackOff: Sendable {
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

    /// A receiver can't delay a route for longer. Otherwise a wrong or malicious header could stop it.
    private static let maximumRetryAfter = Duration.seconds(3_600)
    /// The longest hold, in hold intervals: an hour by default.
    private static let maximumHolds = 12
    /// The retry budget: a failure spends one, a success earns one back. When it is spent, every back-off is the longest.
    private static let maximumSpentRetries = 10
    /// How many waits the network can end until the receiver handles a request. Without a limit, a failing receiver would get a
    /// request each time that the network comes and goes.
    private static let maximumNetworkRetries = 3

    private let policy: DeliveryPolicy
    private(set) var phase = Phase.ready
    /// Increases with every failure. Batches that were sent in the same epoch and failed have met the same outage.
    private(set) var epoch = 0
    /// One success doesn't restore the whole budget. Otherwise clients that have just reached a server after an outage would
    /// come back within a second.
    private var spentRetries = 0
    private var holds = 0
    /// Waits that the network has ended since the last success.
    private var networkRetries = 0
    /// When the hold can be ended, at the earliest, because the receiver named a time.
    private var holdMinimum: Duration?

    init(_ policy: DeliveryPolicy) {
        self.policy = policy
    }

    /// Whether only one batch at a time finds out if the receiver is back.
    var isProbing: Bool { spentRetries >= 3 }

    // MARK: Inputs

    /// Ends a back-off or a hold, because the host asks for it.
    mutating func endWait() {
        switch phase {
        case .backingOff: phase = .ready
        case .held: phase = holdMinimum.map { .throttled(until: $0) } ?? .ready
        case .ready, .throttled: break
        }
    }

    /// Ends a back-off because the process was resumed. A hold goes on: its reason is the receiver's.
    mutating func endBackOff() {
        if case .backingOff = phase { phase = .ready }
    }

    /// Ends a back-off and restores the retry budget, because there is another network, at most ``maximumNetworkRetries``
    /// times. A network after a missing one also ends a hold, which can be the fault of the former network.
    ///
    /// - Returns: whether the route can retry now.
    mutating func networkChanged(isRegained: Bool) -> Bool {
        guard phase != .ready || spentRetries > 0 else { return true }
        guard networkRetries < BackOff.maximumNetworkRetries else { return false }
        networkRetries += 1
        spentRetries = 0
        if isRegained { endWait() } else { endBackOff() }
        return true
    }

    /// Applies the effect of an attempt that began in `epoch`. `holdTime` is the time that the receiver asked for with a hold.
    mutating func record(
        _ effect: SendResult.Effect, holdTime: Duration? = nil, epoch: Int, at now: Duration, random: () -> UInt64
    ) {
        if epoch < self.epoch, phase != .ready { return recordLate(effect, holdTime, at: now) }
        switch effect {
        case .progress:
            succeeded()
            enter(.ready, at: now)
        case .deferred:
            enter(.backingOff(until: now + BackOff.jittered(policy.backOff, random())), at: now)
        case .retry(let after):
            self.epoch += 1
            backOff(after, at: now, random: random)
        case .hold:
            self.epoch += 1
            spendRetry()
            holds += 1
            let wait = holdWait(holds, random())
            holdMinimum = holdTime.map { now + BackOff.floor($0) }
            // The back-off keeps clients from coming back together.
            let minimum = holdMinimum.map { $0 + BackOff.jittered(policy.backOff, random()) } ?? now
            enter(.held(until: max(now + wait, minimum)), at: now)
        }
    }

    /// Applies the effect of an attempt that began before a failure which is known already. A success that was sent before
    /// the failure doesn't end the back-off. Otherwise a batch that keeps failing beside successful ones would be resent
    /// without a pause.
    private mutating func recordLate(_ effect: SendResult.Effect, _ holdTime: Duration?, at now: Duration) {
        switch effect {
        case .progress:
            succeeded()
            if case .held = phase { endWait() }
        case .retry(let after): extendWait(by: after, at: now)
        case .hold: extendWait(by: holdTime, at: now)
        case .deferred: break
        }
    }

    /// Makes a wait at least as long as a late answer asks for.
    private mutating func extendWait(by retryAfter: Duration?, at now: Duration) {
        guard let retryAfter, let until = phase.deadline else { return }
        let minimum = now + BackOff.floor(retryAfter)
        if case .held = phase {
            holdMinimum = max(minimum, holdMinimum ?? minimum)
            phase = .held(until: max(until, minimum))
        } else {
            phase = .throttled(until: max(until, minimum))
        }
    }

    private mutating func succeeded() {
        spentRetries = max(0, spentRetries - 1)
        (holds, networkRetries) = (0, 0)
    }

    /// Waits after a failure of the receiver or the store.
    mutating func backOff(_ retryAfter: Duration? = nil, at now: Duration, random: () -> UInt64) {
        let wait = nextBackOff(random())
        if let retryAfter {
            // The receiver's time is the minimum. The jitter keeps clients from coming back together.
            enter(.throttled(until: now + BackOff.floor(retryAfter) + wait), at: now)
        } else {
            enter(.backingOff(until: now + wait), at: now)
        }
        spendRetry()
    }

    /// With several batches in flight, the result of one must not cancel the wait that the receiver asked for with another.
    private mutating func enter(_ next: Phase, at now: Duration) {
        guard case .throttled(let minimum) = phase, now < minimum else {
            phase = next
            return
        }
        if let until = next.deadline { phase = .throttled(until: max(minimum, until)) }
    }

    private mutating func spendRetry() {
        spentRetries = min(spentRetries + 1, BackOff.maximumSpentRetries)
    }

    // MARK: Times

    /// When to resend a batch that has only deferred events left: `notBefore` is the time that the receiver asked for,
    /// and `until` has a back-off of the batch on top.
    func deferral(_ batch: BatchProgress, at now: Duration, random: UInt64) -> (notBefore: Duration, until: Duration) {
        let notBefore = now + BackOff.floor(batch.deferral)
        if batch.isSuspected { return (notBefore, notBefore + holdWait(batch.deferrals + 1, random)) }
        let longest = policy.backOff * (1 << min(batch.deferrals, BackOff.maximumSpentRetries))
        return (notBefore, notBefore + BackOff.jittered(min(policy.maximumBackOff, longest), random))
    }

    /// The wait after a number of holds: half of it is random.
    private func holdWait(_ holds: Int, _ random: UInt64) -> Duration {
        let half = policy.holdInterval * min(1 << min(max(0, holds - 1), 4), BackOff.maximumHolds) / 2
        return half + half * BackOff.fraction(random)
    }

    private func nextBackOff(_ random: UInt64) -> Duration {
        if let last = policy.backOffSteps.last {
            let step = spentRetries < policy.backOffSteps.count ? policy.backOffSteps[spentRetries] : last
            return step.lowerBound + (step.upperBound - step.lowerBound) * BackOff.fraction(random)
        }
        let isSpent = spentRetries >= BackOff.maximumSpentRetries
        let longest = isSpent ? policy.maximumBackOff : policy.backOff * (1 << spentRetries)
        return BackOff.jittered(min(policy.maximumBackOff, longest), random)  // mutant: never-retry
    }

    private static func floor(_ retryAfter: Duration) -> Duration {
        min(max(retryAfter, .zero), maximumRetryAfter)
    }

    /// Uniform in 10 % … 100 % of `limit`.
    static func jittered(_ limit: Duration, _ random: UInt64) -> Duration {
        limit / 10 + (limit - limit / 10) * fraction(random)
    }

    private static func fraction(_ random: UInt64) -> Double { Double(random >> 11) / Double(1 << 53) }
}
