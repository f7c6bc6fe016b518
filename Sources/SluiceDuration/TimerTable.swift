/// All timers. This is a pure value, and each method gets the time.
///
/// A name refers to the timer of this name that was started last. A timer without a token can only be reached by its
/// name, so it is removed when another timer takes the name.
struct TimerTable {
    /// The limit for a host that starts a new timer by mistake each time, for example with a new name.
    static let maximumCount = 1_000

    private struct Timer {
        let name: String
        let start: Duration
        var watch: Stopwatch
        var hasToken = true
    }

    /// The result of a timer that has ended.
    enum Ending: Equatable {
        case duration(Duration)
        /// The timer was older than the maximum age.
        case expired
    }

    private var timers: [UInt64: Timer] = [:]
    private var latest: [String: UInt64] = [:]
    /// The process was launched passively, and the app has not become active.
    private var isPassive = false
    private var forgotten = 0

    /// Starts a timer, whose id is greater than those of all earlier ones.
    ///
    /// - Returns: How many timers are forgotten so far, if this is one more.
    mutating func start(_ name: String, _ id: UInt64, at now: Duration) -> Int? {
        if let former = latest[name], timers[former]?.hasToken == false { remove(former) }
        let oldest = timers.count < TimerTable.maximumCount ? nil : timers.keys.min()
        if let oldest {
            remove(oldest)
            forgotten += 1
        }
        timers[id] = Timer(name: name, start: now, watch: Stopwatch(startedAt: now, isInBackground: isPassive))
        latest[name] = id
        return oldest.map { _ in forgotten }
    }

    /// Returns the timer of a name, or nil if there is no such timer.
    func id(_ name: String) -> UInt64? { latest[name] }

    mutating func pause(_ id: UInt64, at now: Duration) { timers[id]?.watch.pause(at: now) }

    mutating func resume(_ id: UInt64, at now: Duration) {
        timers[id]?.watch.resume(at: now, isInBackground: isPassive)
    }

    /// Ends a timer. Returns nil if there is no such timer.
    mutating func end(_ id: UInt64, at now: Duration, maximumAge: Duration?) -> Ending? {
        defer { remove(id) }
        guard let timer = timers[id] else { return nil }
        if let maximumAge, now - timer.start > maximumAge { return .expired }
        return .duration(timer.watch.total(at: now))
    }

    mutating func remove(_ id: UInt64) {
        guard let timer = timers.removeValue(forKey: id) else { return }
        if latest[timer.name] == id { latest[timer.name] = nil }
    }

    mutating func removeAll() {
        timers = [:]
        latest = [:]
    }

    /// Call this when the host has released the token of a timer.
    mutating func release(_ id: UInt64) {
        guard let timer = timers[id] else { return }
        if latest[timer.name] == id { timers[id]?.hasToken = false } else { remove(id) }
    }

    /// Discards the time so far, because the process has been in the background since its start.
    mutating func launchInBackground() {
        isPassive = true
        for id in timers.keys { timers[id]?.watch.launchInBackground() }
    }

    mutating func enterBackground(at now: Duration) {
        for id in timers.keys { timers[id]?.watch.enterBackground(at: now) }
    }

    mutating func becomeActive(at now: Duration) {
        isPassive = false
        for id in timers.keys { timers[id]?.watch.becomeActive(at: now) }
    }
}
