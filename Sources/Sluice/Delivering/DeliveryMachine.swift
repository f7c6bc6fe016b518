/// When to send and when to wait: the pure part of a route's delivery, without clocks, stores or networks.
///
/// Inputs come with the time of the continuous clock; the only output is ``decision(at:hasBacklog:)``.
struct DeliveryMachine: Sendable {
    enum Phase: Sendable, Equatable {
        case idle
        case backingOff(until: Duration)
        /// As ``backingOff(until:)``, but the server named the time: not even a flush goes before it.
        case throttled(until: Duration)
        case held(until: Duration)
    }

    enum Decision: Sendable, Equatable {
        case send
        /// Nil: until an input changes the matter.
        case wait(until: Duration?)
        case stop
    }

    /// What one send came to.
    enum Outcome: Sendable, Equatable {
        case progress
        case failed(retryAfter: Duration?)
        case held
    }

    /// A transport's word is not taken beyond this, be it nonsense or malice: data would wait for ever.
    private static let maximumRetryAfter = Duration.seconds(3_600)

    /// The longest wait of a hold, in intervals: an hour by default.
    private static let maximumHolds = 12

    /// The retry budget: a failure spends one, a success earns one back. When it is spent, every wait is of the longest.
    private static let maximumSpentRetries = 10

    private var policy: DeliveryPolicy
    private(set) var phase = Phase.idle
    private(set) var isPaused = false
    /// What the platform last said.
    private var connectivity: Signal.Connectivity?
    /// Counts the failures that were taken for one each.
    private(set) var outages = 0
    /// Of the retry budget. A single success does not restore it all: after an outage, clients that have just got through
    /// to a server which is overrun by them would else come back within a second.
    private var spentRetries = 0
    private var holds = 0
    /// A delivery goes on, once it has begun, until nothing waits any more.
    private var isDraining = false
    private var unflushed = 0
    private var due: Duration?
    /// After this, nothing more is sent: the route is being shut down.
    private var stopDeadline: Duration?
    private var isStopped = false

    init(policy: DeliveryPolicy) {
        self.policy = policy
    }

    /// - Returns: whether the loop must look again, because the next send is nearer than it knew.
    mutating func appended(_ priority: Event.Priority, at now: () -> Duration) -> Bool {
        unflushed += 1
        var isNews = false
        if unflushed >= policy.flushCount, !isDraining {
            isDraining = true
            isNews = phase == .idle
        }
        if due == nil || priority == .critical {
            let latest = now() + (priority == .critical ? policy.criticalInterval : policy.flushInterval)
            if due.map({ latest < $0 }) ?? true {
                due = latest
                isNews = true
            }
        }
        return isNews
    }

    /// Send what waits, now: asked for by the host, or because the app goes into the background.
    mutating func flushRequested() {
        isDraining = true
        switch phase {
        case .backingOff, .held: phase = .idle
        case .idle, .throttled: break
        }
    }

    /// A network that is back: what failed before may work now, and what waits can go.
    mutating func connectivityChanged(_ connectivity: Signal.Connectivity) {
        let previous = self.connectivity
        self.connectivity = connectivity
        guard connectivity != .unavailable else { return }
        spentRetries = 0
        if previous == .unavailable {
            flushRequested()
        } else if case .backingOff = phase {
            phase = .idle
        }
    }

    /// Sends what waits, and begins to count anew.
    mutating func setFlushInterval(_ interval: Duration) {
        policy.flushInterval = interval
        due = nil
        flushRequested()
    }

    mutating func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
    }

    /// Drain until nothing waits or the deadline has come, the nearest if there are several; then stop.
    mutating func stopRequested(deadline: Duration) {
        stopDeadline = min(deadline, stopDeadline ?? deadline)
        flushRequested()
    }

    mutating func stopNow() {
        isStopped = true
    }

    /// - Parameter departure: ``outages`` when what is answered was sent. Batches that were in flight together and failed
    ///   together have met the same outage, which is counted once.
    mutating func answered(_ outcome: Outcome, at now: Duration, departure: Int? = nil, random: () -> UInt64) {
        if let departure, departure < outages, phase != .idle { return met(outcome, at: now) }
        if outcome != .progress { outages += 1 }
        switch outcome {
        case .progress:
            spentRetries = max(0, spentRetries - 1)
            holds = 0
            enter(.idle, at: now)
        case .failed(let retryAfter):
            let wait = backOff(random())
            if let retryAfter {
                // The server's time is the floor; the jitter on top keeps a herd from coming back as one.
                let floor = min(max(retryAfter, .zero), DeliveryMachine.maximumRetryAfter)
                enter(.throttled(until: now + floor + wait), at: now)
            } else {
                enter(.backingOff(until: now + wait), at: now)
            }
            spendRetry()
        case .held:
            spendRetry()
            holds += 1
            let half = policy.holdInterval * min(1 << min(holds - 1, 4), DeliveryMachine.maximumHolds) / 2
            enter(.held(until: now + half + DeliveryMachine.jitter(half, random())), at: now)
        }
    }

    /// Takes in what is known already: only the server's word can add to it. What was taken of what had left before the
    /// failure does not end its wait: a batch that fails beside others which succeed would else be sent in a circle.
    private mutating func met(_ outcome: Outcome, at now: Duration) {
        switch outcome {
        case .progress:
            spentRetries = max(0, spentRetries - 1)
            holds = 0
            if case .held = phase { phase = .idle }
        case .failed(let retryAfter?):
            let floor = now + min(max(retryAfter, .zero), DeliveryMachine.maximumRetryAfter)
            switch phase {
            case .idle: break
            case .backingOff(let until), .throttled(let until), .held(let until):
                phase = .throttled(until: max(floor, until))
            }
        case .failed(nil), .held: break
        }
    }

    /// With several batches in flight, the answer to one must not undo what the server has asked for with another.
    private mutating func enter(_ next: Phase, at now: Duration) {
        guard case .throttled(let floor) = phase, now < floor else {
            phase = next
            return
        }
        switch next {
        case .idle: break
        case .backingOff(let until), .throttled(let until), .held(let until):
            phase = .throttled(until: max(floor, until))
        }
    }

    /// After some failures, no more than one batch at a time finds out whether the receiver is there again.
    var isProbing: Bool { spentRetries >= 3 }

    mutating func decision(at now: Duration, hasBacklog: Bool) -> Decision {
        if isStopped { return .stop }
        if let stopDeadline, !hasBacklog || mustWait || now >= stopDeadline { return .stop }
        guard hasBacklog else {
            isDraining = false
            unflushed = 0
            due = nil
            return .wait(until: nil)
        }
        if mustWait { return .wait(until: nil) }
        switch phase {
        case .backingOff(let until), .throttled(let until), .held(let until):
            guard now < until else { return .send }
            // Waiting beyond the deadline of a shutdown would bring nothing.
            if let stopDeadline, until >= stopDeadline { return .stop }
            return .wait(until: until)
        case .idle:
            if isDraining { return .send }
            // Without a date, the store has an event of which `appended` is about to tell: its time starts now.
            let latest = due ?? now + policy.flushInterval
            due = latest
            isDraining = now >= latest
            return isDraining ? .send : .wait(until: latest)
        }
    }

    /// For an input, however long that takes.
    private var mustWait: Bool { isPaused || (connectivity == .metered && policy.network == .unmetered) }

    private mutating func spendRetry() {
        spentRetries = min(spentRetries + 1, DeliveryMachine.maximumSpentRetries)
    }

    private func backOff(_ random: UInt64) -> Duration {
        if let last = policy.backOffSteps.last {
            let step = spentRetries < policy.backOffSteps.count ? policy.backOffSteps[spentRetries] : last
            return step.lowerBound + DeliveryMachine.jitter(step.upperBound - step.lowerBound, random)
        }
        let isSpent = spentRetries >= DeliveryMachine.maximumSpentRetries
        let longest = isSpent ? policy.maximumBackOff : policy.backOff * (1 << spentRetries)
        return DeliveryMachine.jitter(min(policy.maximumBackOff, longest), random)
    }

    /// Uniform in 0 ..< limit ("full jitter").
    static func jitter(_ limit: Duration, _ random: UInt64) -> Duration {
        limit * (Double(random >> 11) / Double(1 << 53))
    }
}
