/// All timers by name: a pure value, to which the time is told.
struct TimerTable {
    private enum Phase {
        case running(since: Duration)
        case paused
        /// Was running when the app entered the background.
        case inBackground
    }

    private struct Timer {
        var counted = Duration.zero
        var phase: Phase

        func total(at now: Duration) -> Duration {
            guard case .running(let start) = phase else { return counted }
            return counted + max(.zero, now - start)
        }

        mutating func stop(as newPhase: Phase, at now: Duration) {
            counted = total(at: now)
            phase = newPhase
        }
    }

    private var timers: [String: Timer] = [:]

    mutating func start(_ name: String, at now: Duration) {
        timers[name] = Timer(phase: .running(since: now))
    }

    mutating func pause(_ name: String, at now: Duration) {
        timers[name]?.stop(as: .paused, at: now)
    }

    mutating func resume(_ name: String, at now: Duration) {
        guard let timer = timers[name] else { return }
        if case .running = timer.phase { return }
        timers[name]?.phase = .running(since: now)
    }

    /// Nil if there is no such timer.
    mutating func end(_ name: String, at now: Duration) -> Duration? {
        timers.removeValue(forKey: name)?.total(at: now)
    }

    mutating func remove(_ name: String) {
        timers[name] = nil
    }

    mutating func enterBackground(at now: Duration) {
        for name in timers.keys {
            guard case .running = timers[name]?.phase else { continue }
            timers[name]?.stop(as: .inBackground, at: now)
        }
    }

    mutating func becomeActive(at now: Duration) {
        for name in timers.keys {
            guard case .inBackground = timers[name]?.phase else { continue }
            timers[name]?.phase = .running(since: now)
        }
    }
}
