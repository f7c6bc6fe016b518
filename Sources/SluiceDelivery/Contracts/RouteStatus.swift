/// The current state of a route, in short: it answers "why doesn't anything arrive?". It has no contents of events and no
/// credentials.
package struct RouteStatus: Sendable, Hashable {
    package enum State: String, Sendable {
        /// Events are sent as the policy says.
        case ready
        /// The last attempt failed. The next one is made when the pause ends.
        case pausing
        /// The host has paused the route.
        case paused
        /// There is no network that the policy allows.
        case noNetwork
    }

    package var state = State.ready
    /// When the next attempt is made, by the continuous clock; nil if no time is set.
    package var nextAttempt: Duration?
    /// See ``RouteLedger/Attempts/lastStatus``.
    package var lastStatus: Int?
    /// See ``RouteLedger/Attempts/lastFailure``. If the last attempt did not fail: why events are set aside.
    package var lastFailure: String?

    package init() {}
}

/// A store that shows the status of its route to other programs.
package protocol StatusKeeping: Store {
    /// Replaces the status. A worker calls this while the store is open, and not for two statuses at the same time. A failure
    /// has no effect.
    func keep(_ status: RouteStatus)
}
