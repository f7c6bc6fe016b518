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
        /// The value says whether the event happened as it should.
        let continuation: CheckedContinuation<Bool, Never>
    }

    private var waiting: [Waiter] = []
    /// Waiters to resume without the lock, each with its value.
    private(set) var ended: [(Waiter, Bool)] = []

    mutating func add(_ waiter: Waiter) { waiting.append(waiter) }

    func contains(_ event: Waiter.Event) -> Bool { waiting.contains { $0.event == event } }

    /// Ends a wait that did not begin.
    mutating func end(_ waiter: Waiter, success: Bool) { ended.append((waiter, success)) }

    mutating func end(_ event: Waiter.Event, success: Bool = true) {
        ended += remove { $0 == event }.map { ($0, success) }
    }

    mutating func endFlushes(upTo taken: Int = .max) {
        let flushes = remove { if case .flushed(let target) = $0 { target <= taken } else { false } }
        ended += flushes.map { ($0, true) }
    }

    /// Notes that critical events were taken. They can have come after a flush, and overtake its events.
    mutating func delayFlushes(by events: Int) {
        for index in waiting.indices {
            guard case .flushed(let target) = waiting[index].event, target < .max else { continue }
            waiting[index].event = .flushed(upTo: target + events)
        }
    }

    /// Removes the waiters for an event, which the caller ends later.
    mutating func remove(_ event: Waiter.Event) -> [Waiter] { remove { $0 == event } }

    private mutating func remove(_ isMatch: (Waiter.Event) -> Bool) -> [Waiter] {
        guard waiting.contains(where: { isMatch($0.event) }) else { return [] }
        defer { waiting.removeAll { isMatch($0.event) } }
        return waiting.filter { isMatch($0.event) }
    }

    mutating func takeEnded() -> [(Waiter, Bool)] {
        defer { ended = [] }
        return ended
    }
}
