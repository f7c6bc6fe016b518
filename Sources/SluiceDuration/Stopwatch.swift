/// One measurement, running or paused. This is a pure value, and each method gets the time.
struct Stopwatch {
    private enum Phase {
        case running(since: Duration)
        case paused
        /// Runs when the app is active.
        case inBackground
    }

    private var counted = Duration.zero
    private var phase: Phase

    init(startedAt now: Duration, isInBackground: Bool = false) {
        phase = isInBackground ? .inBackground : .running(since: now)
    }

    /// Returns the time so far. It is never negative, even if the clock goes backwards.
    func total(at now: Duration) -> Duration {
        guard case .running(let start) = phase else { return counted }
        return counted + max(.zero, now - start)
    }

    mutating func pause(at now: Duration) { stop(as: .paused, at: now) }

    mutating func resume(at now: Duration, isInBackground: Bool) {
        if case .running = phase { return }
        phase = isInBackground ? .inBackground : .running(since: now)
    }

    mutating func launchInBackground() {
        counted = .zero
        if case .running = phase { phase = .inBackground }
    }

    mutating func enterBackground(at now: Duration) { if case .running = phase { stop(as: .inBackground, at: now) } }

    mutating func becomeActive(at now: Duration) { if case .inBackground = phase { phase = .running(since: now) } }

    private mutating func stop(as newPhase: Phase, at now: Duration) {
        counted = total(at: now)
        phase = newPhase
    }
}
