/// The callers that wait for a change of a route: erasures and idle workers. This is a value without I/O.
struct Waiters: Sendable {
    private var waiting: [@Sendable () -> Void] = []
    /// Lets callers continue. Call these without the lock.
    var ended: [@Sendable () -> Void] = []
    /// Counts the changes. A caller that has missed one since it decided to wait doesn't begin to wait.
    private(set) var inputs = 0
    /// When the workers are woken, if nothing wakes them before.
    var alarm: Duration?

    /// Begins a wait. It ends immediately if there was a change since the caller decided to wait, with this value of ``inputs``.
    mutating func wait(inputs seen: Int, _ resume: @escaping @Sendable () -> Void) {
        if inputs == seen { waiting.append(resume) } else { ended.append(resume) }
    }

    /// Counts a change that needs no worker.
    mutating func noted() { inputs += 1 }

    /// Wakes all callers.
    // Not inlined: otherwise every `track` would reserve stack space for waiters, although it rarely wakes one.
    @inline(never)
    mutating func changed() {
        inputs += 1
        ended += waiting.takeAll()
    }

    /// Wakes all callers at the time that the workers wait for.
    mutating func rang(_ time: Duration) {
        if alarm == time { alarm = nil }
        changed()
    }

    /// Wakes the workers at a time, or before. An earlier alarm stays, because the system keeps a cancelled sleep until its
    /// time. Nil ends it if no worker is busy.
    mutating func setAlarm(_ time: Duration?, isIdle: Bool, at now: Duration) {
        if time == nil, !isIdle { return }
        if let time, let alarm, now < alarm, alarm <= time { return }
        alarm = time
    }
}
