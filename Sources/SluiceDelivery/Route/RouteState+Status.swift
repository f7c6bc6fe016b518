extension RouteState {
    /// Returns the status if it differs from the last one, and enters the gate. Call ``takeNextStatus()`` when the store has it.
    ///
    /// It returns nil while another worker passes one to the store. That worker continues with the newest.
    mutating func takeStatus() -> RouteStatus? {
        let status = schedule.status(journal.ledger.attempts)
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
    fileprivate func status(_ attempts: RouteLedger.Attempts) -> RouteStatus {
        var status = RouteStatus()
        status.lastStatus = attempts.lastStatus
        status.lastFailure = attempts.lastFailure
        switch phase {
        case .ready: status.state = .ready
        case .backingOff: status.state = .retrying
        case .throttled: status.state = .throttled
        case .held: status.state = .held
        }
        if let obstacle { status.state = obstacle } else { status.nextAttempt = phase.deadline }
        return status
    }
}
