/// The store keeps the route's status, so that others can read it after the process has ended.
extension RouteState {
    /// Returns the status if it differs from the last one, and enters the gate. Call ``takeNextStatus()`` when the store has it.
    ///
    /// It returns nil while another worker passes one to the store. That worker continues with the newest.
    mutating func takeStatus() -> RouteStatus? {
        guard status != journal.status, !journal.isKeepingStatus, gate.enter() else { return nil }
        journal.status = status
        journal.isKeepingStatus = true
        return journal.status
    }

    mutating func takeNextStatus() -> RouteStatus? {
        journal.isKeepingStatus = false
        defer { gate.leave() }
        return takeStatus()
    }

    /// Records a request without a response when delivery ends: nothing else tells of a receiver that hangs. One that has answered
    /// others since the host asked for the end doesn't hang: the time was too short for all events.
    ///
    /// - Returns: the status, as ``takeStatus()`` does.
    mutating func giveUp() -> RouteStatus? {
        let total = journal.ledger.attempts.total
        guard !isStopped, unsettled == 0, stop?.attempts ?? total == total, rule.open.contains(where: \.isInFlight)
        else { return nil }
        journal.ledger.attempts.lastFailure = "no response before delivery ended"
        return takeStatus()
    }

    private var status: RouteStatus {
        let (attempts, isEmpty) = (journal.ledger.attempts, journal.ledger.waiting == 0)
        var status = RouteStatus()
        status.lastStatus = attempts.lastStatus
        // A search can end with the process. Then, the acceptance of others doesn't tell why the rest waits.
        status.lastFailure = attempts.lastFailure ?? (isEmpty ? nil : rule.blame.failure?.reason)
        // Deleted events aren't sent again.
        if rule.isInDoubt, !isEmpty { (status.state, status.nextAttempt) = (.pausing, nextAttempt) }
        if let obstacle = conditions.obstacle { (status.state, status.nextAttempt) = (obstacle, nil) }
        return status
    }
}
