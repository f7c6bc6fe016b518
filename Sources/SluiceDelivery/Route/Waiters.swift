/// The callers that wait for a route: flushes, deletions, shutdowns and idle workers.
struct Waiters: Sendable {
    struct Waiter: Sendable {
        enum Event: Sendable, Equatable {
            /// The events of all batches before this number of taken events are resolved, or a wait is useless.
            case flushed(upTo: Int)
            case deleted
            /// Delivery has ended, and the store is closed.
            case closed
            /// A worker must look again.
            case changed
        }

        fileprivate(set) var event: Event
        /// When a flush stops waiting.
        var deadline: Duration?
        /// Lets the caller continue. The value says whether the event happened as it should.
        let resume: @Sendable (Bool) -> Void
    }

    private var waiting: [Waiter] = []
    /// Waiters to resume without the lock, each with its value.
    private(set) var ended: [(Waiter, Bool)] = []

    mutating func add(_ waiter: Waiter) { waiting.append(waiter) }

    func contains(_ event: Waiter.Event) -> Bool { waiting.contains { $0.event == event } }

    /// Ends a wait that did not begin.
    mutating func end(_ waiter: Waiter, success: Bool) { ended.append((waiter, success)) }

    mutating func end(_ event: Waiter.Event, success: Bool = true) {
        ended += remove { $0.event == event }.map { ($0, success) }
    }

    mutating func endFlushes(upTo taken: Int = .max) {
        let flushes = remove { if case .flushed(let target) = $0.event { target <= taken } else { false } }
        ended += flushes.map { ($0, true) }
    }

    /// Ends the flushes whose deadline has passed.
    mutating func endFlushes(dueAt now: Duration) {
        ended += remove { $0.deadline.map { $0 <= now } ?? false }.map { ($0, false) }
    }

    /// Notes that critical events were taken. They can have come after a flush, and overtake its events.
    mutating func delayFlushes(by events: Int) {
        for index in waiting.indices {
            guard case .flushed(let target) = waiting[index].event, target < .max else { continue }
            waiting[index].event = .flushed(upTo: target + events)
        }
    }

    /// Removes the waiters for an event, which the caller ends later.
    mutating func remove(_ event: Waiter.Event) -> [Waiter] { remove { $0.event == event } }

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
