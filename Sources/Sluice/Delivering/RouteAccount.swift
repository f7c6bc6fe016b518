/// Where everything that happens to a route's events is counted and, where a host may want to know, reported.
final class RouteAccount: Sendable {
    private let counts: Locked<RouteLedger>
    private let isSplitting = Locked(false)
    private let onDiagnostic: @Sendable (Diagnostic) -> Void

    init(name: String, onDiagnostic: @escaping @Sendable (Diagnostic) -> Void) {
        counts = Locked(RouteLedger(name: name))
        self.onDiagnostic = onDiagnostic
    }

    var ledger: RouteLedger { counts.withLock { $0 } }

    func report(_ kind: Diagnostic.Kind, _ message: String) {
        onDiagnostic(Diagnostic(kind: kind, route: counts.withLock { $0.name }, message: message))
    }

    func offered() {
        counts.withLock { $0.offered += 1 }
    }

    func dropped(_ count: Int, _ reason: DropReason) {
        counts.withLock { $0.dropped.add(count, reason) }
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
        let isFirst = counts.withLock { counts in
            counts.dropped.add(1, reason)
            return counts.dropped[reason] == 1
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
        counts.withLock { counts in
            counts.delivered += delivered
            counts.duplicates += duplicates
            counts.rejected += rejected.count
            counts.sends += 1
            if outcome != .progress { counts.failedSends += 1 }
            if outcome == .held { counts.heldSends += 1 }
            if splitReason != nil { counts.splitSends += 1 }
            counts.lastFailure = reason
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
        counts.withLock { $0.lastFailure = RouteAccount.refusal }
        report(.held, RouteAccount.refusal)
    }

    /// What the store is given to report to.
    var storeObserver: StoreObserver {
        StoreObserver(
            onRecovered: { count in self.counts.withLock { $0.recovered += count } },
            onDropped: { count, reason in self.dropped(count, reason) },
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
