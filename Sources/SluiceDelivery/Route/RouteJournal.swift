/// The ledger of a route, and the diagnostics about its changes.
struct RouteJournal: Sendable {
    var ledger: RouteLedger
    /// Diagnostics to pass to the host without the lock.
    var diagnostics: [Diagnostic] = []
    /// The doubt about the receiver that was reported, which ends with an acceptance.
    private var doubt: Diagnostic.Kind?
    /// Dead letters and reported doubts by their reasons, and other messages that each batch can repeat.
    private var (deadLetters, doubts, messages) = (Repetitions(), Repetitions(), Repetitions())
    /// The status that the store has, and whether a worker is passing it. See ``RouteState/takeStatus()``.
    var status = RouteStatus()
    var isKeepingStatus = false
    /// Changes of the ledger's dead letters.
    private(set) var letterChanges = 0

    init(name: String) { ledger = RouteLedger(name: name) }

    mutating func report(_ kind: Diagnostic.Kind, _ message: String) {
        diagnostics.append(Diagnostic(kind: kind, route: ledger.name, message: message))
    }

    /// Reports a message that each batch can repeat: the first time, and the 100th, 10,000th and so on.
    mutating func reportRarely(_ kind: Diagnostic.Kind, _ message: String) {
        if messages.add(1, message) != nil { report(kind, message) }
    }

    // MARK: Events

    /// Counts events that the store has found.
    mutating func recovered(_ count: Int) {
        ledger.waiting += count
        ledger.recovered += count
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
        if ledger.dropped.add(1, DropReason(error)) {
            report(.dropped, "events are not stored (reported once for each reason): \(error)")
        }
    }

    /// Counts events that the store lost, and reports the first loss for each reason.
    mutating func lost(_ count: Int, _ reason: DropReason) {
        if ledger.dropped.add(count, reason) {
            report(.dropped, "the store has lost events: \(reason.rawValue) (reported once)")
        }
        ledger.waiting -= count
    }

    mutating func droppedDeadLetters(_ count: Int, _ reason: DropReason) {
        if ledger.droppedDeadLetters.add(count, reason) {
            report(.dropped, "the store has lost dead letters: \(reason.rawValue) (reported once)")
        }
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

    /// Counts the answer to an attempt, and reports it.
    ///
    /// - Parameters:
    ///   - settlement: the answer, and the events with a final verdict.
    ///   - row: the failures since the last acceptance.
    ///   - isSearching: whether the receiver accepts events, and others are blamed.
    mutating func record(_ settlement: Settlement, row: Int, isSearching: Bool) {
        let answer = settlement.answer
        ledger.attempts.record(answer)
        // Not at the acceptance that ends an outage: it blames events that are accepted in the next moment.
        if isSearching, let reason = answer.failure?.reason {
            reportRarely(.searching, "the receiver accepts other events, so some of these may be at fault: \(reason)")
        }
        if !answer.accepted.isEmpty, row == 0, doubt != nil {
            doubt = nil
            let count = ledger.waiting == 1 ? "1 event" : "\(ledger.waiting) events"
            report(.resumed, "the receiver accepts events; \(count) had waited")
        }
        for case .reject(let events, _) in settlement.actions {
            for (reason, events) in Dictionary(grouping: events, by: \.failure.reason) {
                guard let count = deadLetters.add(events.count, reason), let last = events.last else { continue }
                let letters = count == 1 ? "1 event became a dead letter" : "\(count) events became dead letters"
                let name = attempt(try last.line.field("event")?.string ?? "without a name", or: "unreadable")
                report(.rejected, "\(letters): \(reason) (the last one: \(name))")
            }
        }
        ledger.delivered += answer.accepted.count
        ledger.duplicates += answer.duplicates
        ledger.rejected += settlement.rejected
        ledger.waiting -= settlement.resolved
    }

    /// Reports a failure before a pause, once until the receiver accepts events, or until it needs the host's help. With a reason
    /// that was reported, and while events are searched for, only a long row or a long pause is new: in a quiet route, each bad
    /// event is sent several times until the next good one comes. A row without a pause says nothing against the receiver.
    mutating func reportDoubt(_ failure: Answer.Failure, row: Int, isSearching: Bool, pause: Duration) {
        let kind = failure.kind == .refused ? Diagnostic.Kind.paused : .retrying
        guard doubt == nil || doubt == .retrying && kind == .paused,
            pause > .seconds(60) || row >= 64 && pause > .zero || !isSearching && !doubts.contains(failure.reason)
        else { return }
        doubt = kind
        _ = doubts.add(1, failure.reason)
        report(kind, failure.reason)
    }
}

/// Counts repeated diagnostics by reason, to limit how many a host gets.
private struct Repetitions: Sendable {
    private var counts: [String: Int] = [:]
    /// Further reasons are counted together.
    private static let maximumReasons = 16

    /// Whether a reason was counted.
    func contains(_ reason: String) -> Bool { counts[key(reason)] != nil }

    private func key(_ reason: String) -> String {
        counts[reason] != nil || counts.count < Self.maximumReasons ? reason : ""
    }

    /// - Returns: the count to report: the first for a reason, and the 100th, 10,000th and so on. Otherwise nil.
    mutating func add(_ count: Int, _ reason: String) -> Int? {
        let reason = key(reason)
        let before = counts[reason, default: 0]
        counts[reason] = before + count
        var power = 1
        while power <= before { power *= 100 }
        return before + count >= power ? before + count : nil
    }
}

extension DropReason {
    /// The reason that the ledger counts for an event which could not be encoded or stored.
    package init(_ error: SluiceError) {
        switch error.code {
        case .eventTooLarge: self = .tooLarge
        case .storageFull: self = .storeFull
        case .shutDown: self = .shutDown
        default: self = .storeFailed
        }
    }
}
