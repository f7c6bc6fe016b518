/// All timers: a pure value, which is given the time.
///
/// A name means the timer of that name which was started last. A timer without a token can only be reached by its name, so it
/// is removed when another one takes the name.
struct TimerTable {
    /// A host that starts more makes a mistake, such as a new name for each timer.
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
        /// The timer was older than the limit.
        case expired
    }

    private var timers: [UInt64: Timer] = [:]
    private var latest: [String: UInt64] = [:]
    private var lastID: UInt64 = 0

    mutating func start(_ name: String, at now: Duration) -> UInt64 {
        if let former = latest[name], timers[former]?.hasToken == false { remove(former) }
        if timers.count >= TimerTable.maximumCount, let oldest = timers.keys.min() { remove(oldest) }
        lastID += 1
        timers[lastID] = Timer(name: name, start: now, watch: Stopwatch(startedAt: now))
        latest[name] = lastID
        return lastID
    }

    /// Nil if there is no such timer.
    func id(_ name: String) -> UInt64? { latest[name] }

    mutating func pause(_ id: UInt64, at now: Duration) {
        timers[id]?.watch.pause(at: now)
    }

    mutating func resume(_ id: UInt64, at now: Duration) {
        timers[id]?.watch.resume(at: now)
    }

    /// Nil if there is no such timer.
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

    /// Call this when the token of a timer is gone.
    mutating func release(_ id: UInt64) {
        guard let timer = timers[id] else { return }
        if latest[timer.name] == id { timers[id]?.hasToken = false } else { remove(id) }
    }

    /// Discards the time so far: the process has been in the background since its start, even if this is known only now.
    mutating func launchInBackground() {
        for id in timers.keys { timers[id]?.watch.launchInBackground() }
    }

    mutating func enterBackground(at now: Duration) {
        for id in timers.keys { timers[id]?.watch.enterBackground(at: now) }
    }

    mutating func becomeActive(at now: Duration) {
        for id in timers.keys { timers[id]?.watch.becomeActive(at: now) }
    }
}
