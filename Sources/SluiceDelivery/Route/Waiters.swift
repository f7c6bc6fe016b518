/// The callers that wait for a route: erasures, shutdowns and idle workers. This is a value without I/O.
struct Waiters: Sendable {
    struct Waiter: Sendable {
        enum Event: Sendable, Equatable {
            /// Delivery has ended, and the store is closed.
            case closed
            /// The state has changed, and a worker or an erasure must decide its next step.
            case changed
        }

        let event: Event
        /// Lets the caller continue.
        let resume: @Sendable () -> Void
    }

    private var waiting: [Waiter] = []
    /// Waiters to resume without the lock.
    private(set) var ended: [Waiter] = []

    /// Counts the changes. A caller that has missed one since it decided to wait doesn't begin to wait.
    private(set) var inputs = 0
    /// When the workers are woken, if nothing wakes them before.
    private(set) var alarm: Duration?

    /// Begins a wait. It ends immediately if its event has happened already.
    ///
    /// - Parameters:
    ///   - waiter: the caller and its event.
    ///   - seen: for ``Waiter/Event/changed``, the value of ``inputs`` when the caller decided to wait.
    ///   - gate: the store's gate.
    mutating func wait(_ waiter: Waiter, inputs seen: Int?, _ gate: StoreGate) {
        let isOver =
            switch waiter.event {
            case .changed: gate.isEnding || inputs != seen
            case .closed: gate.isClosed
            }
        if isOver { ended.append(waiter) } else { waiting.append(waiter) }
    }

    // MARK: Workers

    /// Counts a change that needs no worker.
    mutating func noted() { inputs += 1 }

    /// Wakes the workers.
    // Not inlined: otherwise every `track` would reserve stack space for waiters, although it rarely wakes one.
    @inline(never)
    mutating func changed() {
        inputs += 1
        end(.changed)
    }

    /// Wakes the workers at the time that they wait for.
    mutating func rang(_ time: Duration) {
        if alarm == time { alarm = nil }
        changed()
    }

    /// Wakes the workers at a time, or before. An earlier alarm stays, because the system keeps a cancelled sleep until its
    /// time. Nil ends it if no worker is busy.
    mutating func setAlarm(_ time: Duration?, isIdle: Bool, at now: Duration) {
        guard let time else {
            if isIdle { alarm = nil }
            return
        }
        if let alarm, now < alarm, alarm <= time { return }
        alarm = time
    }

    /// Ends the waits that delivery can't end any more.
    mutating func stop() {
        alarm = nil
        changed()
    }

    // MARK: Events

    mutating func end(_ event: Waiter.Event) {
        guard waiting.contains(where: { $0.event == event }) else { return }
        ended += waiting.filter { $0.event == event }
        waiting.removeAll { $0.event == event }
    }

    mutating func takeEnded() -> [Waiter] {
        defer { ended = [] }
        return ended
    }
}
