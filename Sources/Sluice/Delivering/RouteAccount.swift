/// Where everything that happens to a route's events is counted and, where a host may want to know, reported.
final class RouteAccount: Sendable {
    private struct State {
        var ledger: RouteLedger
        /// Why the store has lost events for the first time, of which nobody has been told yet: it says so with its own
        /// lock held, under which the host's code must not be called.
        var unreported: [DropReason] = []
    }

    private let state: Locked<State>
    private let isSplitting = Locked(false)
    private let onDiagnostic: @Sendable (Diagnostic) -> Void

    init(name: String, onDiagnostic: @escaping @Sendable (Diagnostic) -> Void) {
        state = Locked(State(ledger: RouteLedger(name: name)))
        self.onDiagnostic = onDiagnostic
    }

    var ledger: RouteLedger { state.withLock(\.ledger) }

    func report(_ kind: Diagnostic.Kind, _ message: String) {
        onDiagnostic(Diagnostic(kind: kind, route: ledger.name, message: message))
    }

    func received() {
        let hasNews = state.withLock { state in
            state.ledger.received += 1
            return !state.unreported.isEmpty
        }
        if hasNews { reportDrops() }
    }

    func inserted() {
        state.withLock { state in
            state.ledger.received += 1
            state.ledger.inserted += 1
        }
    }

    func held(_ change: Int) {
        state.withLock { $0.ledger.held += change }
    }

    func dropped(_ count: Int, _ reason: DropReason) {
        state.withLock { $0.ledger.dropped.add(count, reason) }
    }

    /// Counts what the store has lost.
    private func lost(_ count: Int, _ reason: DropReason) {
        state.withLock { state in
            state.ledger.dropped.add(count, reason)
            if state.ledger.dropped[reason] == count { state.unreported.append(reason) }
        }
    }

    /// Tells of the first loss by each reason. To be called with no lock held.
    func reportDrops() {
        let reasons = state.withLock { state in
            defer { state.unreported = [] }
            return state.unreported
        }
        for reason in reasons {
            report(.dropped, "the store has lost events, of which these are the first: \(reason.rawValue)")
        }
    }

    /// Counts an event that was not stored.
    func refused(_ error: SluiceError) {
        let reason: DropReason =
            switch error.code {
            case .eventTooLarge: .tooLarge
            case .storageFull: .storeFull
            case .shutDown: .shutDown
            default: .storeFailed
            }
        let isFirst = state.withLock { state in
            state.ledger.dropped.add(1, reason)
            return state.ledger.dropped[reason] == 1
        }
        // A full disk would else fill the host's log as well.
        if isFirst { report(.dropped, "events are not stored, of which this is the first: \(error)") }
    }

    func storeFailed(_ what: String, _ error: any Error) {
        report(.store, "\(what): \(error)")
    }

    func sent(
        delivered: Int, duplicates: Int, rejected: [RejectedEvent], verdicts: Verdicts,
        outcome: DeliveryMachine.Outcome, failure: String?
    ) {
        let splitReason = verdicts.splitReason
        let reason =
            switch outcome {
            case .progress: String?.none
            case .failed: failure ?? verdicts.retryReason
            case .held: verdicts.holdReason ?? RouteAccount.refusal
            }
        state.withLock { state in
            state.ledger.delivered += delivered
            state.ledger.duplicates += duplicates
            state.ledger.rejected += rejected.count
            state.ledger.sends += 1
            if outcome != .progress { state.ledger.failedAttempts += 1 }
            if outcome == .held { state.ledger.heldAttempts += 1 }
            if splitReason != nil { state.ledger.splitAttempts += 1 }
            state.ledger.lastFailure = reason
        }
        if let first = rejected.first {
            report(.rejected, "\(rejected.count) event(s) refused for good, the first because: \(first.reason)")
        }
        if let splitReason, isFirstSplit(delivered: delivered) {
            report(.splitting, "\(splitReason): what is refused is looked for in parts")
        }
        if let reason { report(outcome == .held ? .held : .retrying, reason) }
    }

    /// Not each of the many parts is news.
    private func isFirstSplit(delivered: Int) -> Bool {
        isSplitting.withLock { isSplitting in
            defer { isSplitting = delivered == 0 }
            return !isSplitting
        }
    }

    private static let refusal = "every event is refused, which is not the events' fault"

    /// Nothing could be sent, since every event that waits was refused.
    func held() {
        state.withLock { $0.ledger.lastFailure = RouteAccount.refusal }
        report(.held, RouteAccount.refusal)
    }

    /// What the store is given to report to.
    var storeObserver: StoreObserver {
        StoreObserver(
            onRecovered: { count in self.state.withLock { $0.ledger.recovered += count } },
            onDropped: { count, reason in self.lost(count, reason) },
            onNote: { self.report(.store, $0) })
    }
}

extension Verdicts {
    private var each: [Verdict] {
        switch self {
        case .all(let verdict): [verdict]
        case .each(let verdicts): verdicts
        }
    }

    fileprivate var splitReason: String? {
        for case .split(let split) in each {
            switch split {
            case .tooLarge: return "a batch is too large for the receiver"
            case .refused(let reason): return reason
            }
        }
        return nil
    }

    fileprivate var retryReason: String {
        for case .retry(_, let reason) in each where !reason.isEmpty { return reason }
        return "the transport asks for a retry"
    }

    fileprivate var holdReason: String? {
        for case .hold(let reason) in each { return reason }
        return nil
    }
}
