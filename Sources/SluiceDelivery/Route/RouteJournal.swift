/// The ledger of a route, and the diagnostics about its changes.
struct RouteJournal: Sendable {
    var ledger: RouteLedger
    /// Diagnostics to pass to the host without the lock.
    private(set) var diagnostics: [Diagnostic] = []
    private var isSplitting = false
    /// Failed attempts since the receiver last accepted an event.
    private var failures = 0
    /// The reasons of them that were reported.
    private var reasons: Set<String> = []
    private static let maximumReasons = 4
    private var hasReportedOwnWait = false
    /// The status that the store has, and whether a worker is passing it. See ``RouteState/takeStatus()``.
    var status = RouteStatus()
    var isKeepingStatus = false
    /// Changes of the ledger's dead letters.
    private(set) var letterChanges = 0

    init(name: String) {
        ledger = RouteLedger(name: name)
    }

    /// - Parameters:
    ///   - backlog: the store's backlog. Nil if the store isn't asked, because it may hang: the ledger then has the
    ///     route's own counts.
    ///   - resolved: the events with a verdict that the store still has.
    /// - Returns: the ledger with the counts of the store.
    func ledger(with backlog: Backlog?, resolved: Int) -> RouteLedger {
        var ledger = ledger
        ledger.stored = backlog.map { $0.events - resolved } ?? ledger.waiting
        ledger.deadLetters = backlog?.deadLetters ?? ledger.deadLetters
        return ledger
    }

    mutating func takeDiagnostics() -> [Diagnostic] {
        defer { diagnostics = [] }
        return diagnostics
    }

    mutating func report(_ kind: Diagnostic.Kind, _ message: String) {
        diagnostics.append(Diagnostic(kind: kind, route: ledger.name, message: message))
    }

    /// Reports that a policy keeps events back which only a signal can release.
    mutating func reportUnknownNetwork() {
        report(
            .held,
            "sendsOverMeteredNetworks is false, and no report about the network has come: nothing is sent until AppSignals or "
                + "pipeline.signal(.connectivity(…)) reports it")
    }

    /// Reports once that a transport can't wait for its own batch.
    mutating func reportOwnWait() {
        guard !hasReportedOwnWait else { return }
        hasReportedOwnWait = true
        report(
            .note,
            "the transport's send awaits a flush or a deletion of its own route, which would wait for this send: the call has "
                + "returned without waiting. Make it elsewhere (reported once)")
    }

    // MARK: Events

    /// Counts the events that a store has when it is opened, and hasn't reported.
    mutating func opened(_ backlog: Backlog) {
        ledger.deadLetters = backlog.deadLetters
        recovered(max(0, backlog.events - ledger.waiting))
    }

    /// Counts events that the store has found.
    mutating func recovered(_ count: Int) {
        ledger.waiting += count
        ledger.recovered += count
    }

    /// Counts dead letters that were turned back into waiting events.
    mutating func replayed(_ count: Int) {
        ledger.waiting += count
        ledger.replayed += count
    }

    /// Counts waiting events that the host has deleted.
    mutating func deleted(_ count: Int) {
        ledger.waiting -= count
        ledger.dropped.add(count, .deleted)
    }

    /// Counts events and dead letters that a store has erased.
    mutating func erased(_ report: ErasureReport) {
        if report.events > 0 { deleted(report.events) }
        guard report.deadLetters > 0 else { return }
        ledger.droppedDeadLetters.add(report.deadLetters, .deleted)
        letterChanges += 1
    }

    /// Counts an event that the store did not take, and reports the first one for each reason. Otherwise a full disk would
    /// also fill the host's log.
    mutating func refused(_ error: SluiceError) {
        let reason = DropReason(error)
        if ledger.dropped[reason] == nil {
            report(.dropped, "events are not stored (reported once for each reason): \(error)")
        }
        ledger.dropped.add(1, reason)
    }

    /// Counts events that the store lost, and reports the first loss for each reason.
    mutating func lost(_ count: Int, _ reason: DropReason) {
        if ledger.dropped[reason] == nil {
            report(.dropped, "the store has lost events: \(reason.rawValue) (reported once)")
        }
        ledger.dropped.add(count, reason)
        ledger.waiting -= count  // mutant: count-lost-event-as-waiting
    }

    mutating func droppedDeadLetters(_ count: Int, _ reason: DropReason) {
        if ledger.droppedDeadLetters[reason] == nil {
            report(.dropped, "the store has lost dead letters: \(reason.rawValue) (reported once)")
        }
        ledger.droppedDeadLetters.add(count, reason)
        ledger.deadLetters = max(0, ledger.deadLetters - count)
        letterChanges += 1
    }

    /// Notes the number of dead letters, which was read from the store after so many changes.
    ///
    /// - Returns: false if another change came in between. The number can be older than that.
    mutating func noteDeadLetters(_ count: Int, after change: Int) -> Bool {
        guard change == letterChanges else { return false }
        letterChanges += 1
        ledger.deadLetters = count
        return true
    }

    /// Counts the result of an attempt, and reports it.
    mutating func record(_ result: SendResult, _ rejected: [RejectedEvent]) {
        ledger.delivered += result.accepted
        ledger.duplicates += result.duplicates
        ledger.rejected += result.rejected.count
        ledger.waiting -= result.resolved
        if !result.erasedPlaces.isEmpty { ledger.dropped.add(result.erasedPlaces.count, .deleted) }
        if result.isAttempt { ledger.attempts.record(result) }
        if let first = rejected.first {
            let count = rejected.count
            report(
                .rejected,
                count == 1
                    ? "1 event became a dead letter: \(first.reason)"
                    : "\(count) events became dead letters, the first because: \(first.reason)")
        }
        if let reason = result.splitReason {
            // The many parts that follow are not worth a message each.
            if !isSplitting { report(.splitting, "\(reason): smaller parts follow") }
            isSplitting = true
        }
        if result.accepted > 0 { (isSplitting, failures, reasons) = (false, 0, []) }
        if let reason = result.reason {
            if result.effect == .hold { report(.held, reason) } else { reportRetry(reason) }
        }
    }

    /// Reports an outage once for each of its first reasons, and its 10th, 100th, 1,000th failure and so on.
    private mutating func reportRetry(_ reason: String) {
        failures += 1
        var power = 10
        while power < failures { power *= 10 }
        if reasons.count < RouteJournal.maximumReasons, reasons.insert(reason).inserted {
            report(.retrying, reason)
        } else if failures == power {
            report(.retrying, "\(reason) (\(failures) attempts failed since the receiver last accepted an event)")
        }
    }
}

extension DropReason {
    /// The reason that the ledger counts for an event which could not be encoded or stored.
    package init(_ error: SluiceError) {
        self =
            switch error.code {
            case .eventTooLarge: .tooLarge
            case .storageFull: .storeFull
            case .shutDown: .shutDown
            default: .storeFailed
            }
    }
}
