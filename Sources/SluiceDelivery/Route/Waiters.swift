/// The callers that wait for a route: deletions, shutdowns and idle workers. This is a value without I/O.
struct Waiters: Sendable {
    struct Waiter: Sendable {
        enum Event: Sendable, Equatable {
            case deleted
            /// Delivery has ended, and the store is closed.
            case closed
            /// The state has changed, and a worker must decide its next step.
            case changed
        }

        let event: Event
        /// Lets the caller continue. The value says whether the event happened as it should.
        let resume: @Sendable (Bool) -> Void
    }

    private var waiting: [Waiter] = []
    /// Callers of the deletion in progress. Later callers wait for a deletion of their own.
    private var deleting: [Waiter]?
    /// Waiters to resume without the lock, each with its value.
    private(set) var ended: [(Waiter, Bool)] = []

    /// Counts the changes. A worker that has missed one since it decided to wait doesn't begin to wait.
    private(set) var inputs = 0
    /// When the workers are woken, if nothing wakes them before.
    private(set) var alarm: Duration?

    /// Begins a wait. It ends immediately if its event has happened already.
    ///
    /// - Parameters:
    ///   - waiter: the caller and its event.
    ///   - seen: for a worker, the value of ``inputs`` when it decided to wait.
    ///   - gate: the store's gate.
    mutating func wait(_ waiter: Waiter, inputs seen: Int?, _ gate: StoreGate) {
        let isOver =
            switch waiter.event {
            case .changed: gate.isEnding || inputs != seen
            case .deleted: gate.isEnding
            case .closed: gate.isClosed
            }
        if isOver { ended.append((waiter, waiter.event != .deleted)) } else { waiting.append(waiter) }
        // A worker deletes.
        if waiter.event == .deleted { changed() }
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
        end(.deleted, success: false)
    }

    // MARK: Events

    mutating func end(_ event: Waiter.Event, success: Bool = true) {
        ended += remove { $0.event == event }.map { ($0, success) }
    }

    // MARK: Deletion

    /// Whether a deletion goes on.
    var isDeleting: Bool { deleting != nil }

    /// Whether a deletion goes on or must begin.
    var wantDeletion: Bool { isDeleting || waiting.contains { $0.event == .deleted } }

    /// Begins a deletion for all that wait for one.
    mutating func beginDeletion() { deleting = remove { $0.event == .deleted } }

    /// Ends the deletion that goes on.
    mutating func endDeletion(success: Bool) {
        ended += (deleting ?? []).map { ($0, success) }
        deleting = nil
    }

    // MARK: Ended waits

    private mutating func remove(_ isMatch: (Waiter) -> Bool) -> [Waiter] {
        guard waiting.contains(where: isMatch) else { return [] }
        defer { waiting.removeAll(where: isMatch) }
        return waiting.filter(isMatch)
    }

    mutating func takeEnded() -> [(Waiter, Bool)] {
        defer { ended = [] }
        return ended
    }
}
