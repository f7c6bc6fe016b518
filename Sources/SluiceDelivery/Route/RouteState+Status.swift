extension RouteState {
    /// Returns the status if it differs from the last one, and enters the gate. Call ``takeNextStatus()`` when the store has it.
    ///
    /// It returns nil while another worker passes one to the store. That worker continues with the newest.
    mutating func takeStatus() -> RouteStatus? {
        let status = schedule.status(journal.ledger.attempts, isEmpty: journal.ledger.waiting == 0)
        guard status != journal.status, !journal.isKeepingStatus, gate.enter() else { return nil }
        journal.status = status
        journal.isKeepingStatus = true
        return status
    }

    mutating func takeNextStatus() -> RouteStatus? {
        journal.isKeepingStatus = false
        defer { gate.leave() }
        return takeStatus()
    }
}

extension DeliverySchedule {
    fileprivate func status(_ attempts: RouteLedger.Attempts, isEmpty: Bool) -> RouteStatus {
        var status = RouteStatus()
        status.lastStatus = attempts.lastStatus
        status.lastFailure = attempts.lastFailure
        switch phase {
        case .ready: status.state = .ready
        // Deleted events aren't sent again.
        case .backingOff: status.state = isEmpty ? .ready : .retrying
        case .throttled: status.state = .throttled
        case .held: status.state = .held
        }
        if let obstacle { status.state = obstacle } else if !isEmpty { status.nextAttempt = phase.deadline }
        return status
    }
}
