/// Decides when a route sends: after a count, after an interval, or because of a flush. This is a value without clocks.
///
/// A delivery pass covers the events that waited when it began. Events that arrive later are sent in the same pass only as
/// full batches. The rest waits for the next trigger.
struct Passes: Sendable {
    private struct Pass: Sendable {
        /// The events that it still covers, at most.
        var rest: Int
        /// In a flush, or after critical events were taken, so many events can be stored and not counted yet: only the store
        /// knows when it's empty. Zero in other passes.
        var slack = 0
        /// The critical events that were taken.
        var overtaking = 0
    }

    /// The number of waiting events while the store has files that it has not read: more than any other, and far from an
    /// overflow.
    static let unknown = Int.max / 2

    private let batch: Int
    /// With the host's own count and interval.
    private var policy: DeliveryPolicy
    private var pass: Pass?
    /// Whether a flush was requested that no pass has answered yet.
    private var mustBegin = false
    /// When the next pass must begin, at the latest.
    private(set) var due: Duration?

    init(_ policy: DeliveryPolicy) {
        batch = min(policy.batch.events, Passes.unknown / 2)
        self.policy = policy
    }

    // MARK: Inputs

    /// Counts an event that the store has accepted.
    ///
    /// - Parameters:
    ///   - priority: its priority.
    ///   - waiting: the events that can be taken, this one included.
    ///   - mayBegin: whether a pass can begin. It can't between events that are stored together.
    ///   - isReady: whether the route could send now.
    ///   - now: returns the time.
    /// - Returns: when a waiting worker must look at the route, at the latest. Nil if it needn't.
    // Inlined, because otherwise each event retains the context of `now`.
    @inline(__always)
    mutating func appended(
        _ priority: Event.Priority, waiting: Int, mayBegin: Bool, isReady: Bool, at now: () -> Duration
    ) -> Duration? {
        var look: Duration?
        if due == nil || priority == .critical {
            let latest = now() + (priority == .critical ? policy.criticalInterval : policy.flushInterval)
            if due.map({ latest < $0 }) ?? true { (due, look) = (latest, latest) }
        }
        guard isReady else { return look }
        let rest = waiting - covered
        // A full batch beside the pass, or the count without one. Each further batch can use another worker.
        if rest > 0, pass == nil ? rest == policy.flushCount : rest % batch == 0 { look = .past }
        // The pass begins now. If it began when a worker wakes, it would also cover a few later events, and a small batch
        // would follow each full one.
        if mayBegin, pass == nil, !mustBegin, rest >= policy.flushCount { begin(Pass(rest: waiting)) }
        return look
    }

    /// Begins a pass for all waiting events as soon as possible.
    mutating func flushRequested() { mustBegin = true }

    /// Changes the triggers. Nil leaves one as it is.
    mutating func set(count: Int?, interval: Duration?) {
        if let count { policy.flushCount = max(1, count) }
        let allowed = policy.flushIntervals
        if let interval { policy.flushInterval = min(max(allowed.lowerBound, interval), allowed.upperBound) }
        due = nil
    }

    /// Counts a batch that a worker took. Critical events are taken first, even if they arrived after the pass began.
    /// They would end it too early.
    mutating func took(_ events: Int, critical: Int) {
        // A critical event can be taken before it is counted. The number of waiting events is too low until then.
        if critical > 0 { pass?.slack = batch }
        pass?.rest -= events - critical
        pass?.overtaking += critical
    }

    /// Call this when the store returned nothing.
    mutating func foundNothing() {
        if let pass, pass.slack > 0 { self.pass = nil }
    }

    /// Call this when nothing waits. An event that arrives now has its whole interval before it.
    ///
    /// The pass goes on while other batches are unresolved: events that arrive in this time are sent as full batches.
    mutating func nothingWaits(besideOthers: Bool) {
        (due, mustBegin) = (nil, false)
        if !besideOthers { pass = nil }
    }

    // MARK: Decisions

    /// Whether a flush asks the store, even if nothing seems to wait.
    var isEmptying: Bool { mustBegin || pass.map { $0.slack > 0 && $0.rest > 0 } ?? false }

    /// Begins and ends passes.
    ///
    /// - Parameters:
    ///   - waiting: the events that can be taken.
    ///   - mustSend: whether the last attempt failed, a pause has ended, or the route drains.
    ///   - now: the time.
    /// - Returns: whether events may be taken from the store now.
    mutating func maySend(_ waiting: Int, mustSend: Bool, at now: Duration) -> Bool {
        // The pass can count more events than wait, because the store evicts some.
        if let pass { self.pass?.rest = min(pass.rest, max(0, waiting + pass.overtaking) + pass.slack) }
        if !mustBegin, pass != nil {
            if covered > 0 || waiting >= batch { return true }
            pass = nil
        }
        let isDue = mustSend || waiting >= policy.flushCount || due.map { now >= $0 } ?? false
        guard mustBegin || isDue else {
            // Without a time, the store has an event that is not counted yet. Its interval begins now.
            due = due ?? now + policy.flushInterval
            return false
        }
        begin(mustBegin ? Pass(rest: max(0, waiting) + batch, slack: batch) : Pass(rest: waiting))
        return true
    }

    /// Events that the pass still covers.
    private var covered: Int { max(0, pass?.rest ?? 0) }

    private mutating func begin(_ pass: Pass) { (self.pass, mustBegin, due) = (pass, false, nil) }
}
