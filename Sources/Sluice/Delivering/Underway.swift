/// The batches that a route has taken from its store and not settled: the one that is being sent, and at times one more,
/// whose events were refused and which waits for another to be accepted.
///
/// Pure: what is to be done with the store is the caller's.
struct Underway: Sendable {
    /// What a send came to, for the route as a whole.
    struct Result: Sendable {
        var outcome: DeliveryMachine.Outcome
        /// Done with: to be settled.
        var settled: [BatchProgress] = []
        /// To be given back to the store.
        var released: Batch.ID?
        var rejected: [RejectedEvent] = []
        /// Events that were delivered or rejected in this send.
        var resolved = 0
    }

    private var current: BatchProgress?
    private var suspect: BatchProgress?

    var isEmpty: Bool { current == nil && suspect == nil }

    /// Events that are delivered or rejected, though the store still holds them.
    var unsettled: Int { (current?.resolved ?? 0) + (suspect?.resolved ?? 0) }

    /// What to send next, if no new batch is to be taken.
    mutating func next() -> BatchProgress? {
        if current == nil, let waiting = suspect, !waiting.hasSuspects {
            current = waiting
            suspect = nil
        }
        return current
    }

    /// Begins with a batch that was taken from the store.
    mutating func begin(_ batch: Batch) -> BatchProgress {
        // As patient as the one for whose sake it is tried.
        let progress = suspect.map { BatchProgress(batch, patience: $0.patience) } ?? BatchProgress(batch)
        current = progress
        return progress
    }

    /// There is no other batch that could show whose fault a refusal is.
    ///
    /// - Returns: whether that matters: then the route is on hold.
    mutating func hasNoOther() -> Bool {
        guard var batch = suspect else { return false }
        batch.acquit()
        current = batch
        suspect = nil
        return true
    }

    /// Takes in what a send came to.
    ///
    /// - Parameters:
    ///   - before: the batch as it was.
    ///   - after: the same with the verdicts applied.
    mutating func answered(_ outcome: BatchProgress.Outcome, before: BatchProgress, after: BatchProgress) -> Result {
        var result = Result(outcome: .progress)
        result.resolved = after.resolved - before.resolved
        result.rejected = Array(after.rejected.dropFirst(before.rejected.count))
        current = after
        if after.delivered > before.delivered { convictSuspect(&result) }
        switch outcome {
        case .progress: break
        case .failed(let retryAfter): result.outcome = .failed(retryAfter: retryAfter)
        case .held: result.outcome = .held
        case .refused where suspect == nil:
            suspect = after
            current = nil
        case .refused where suspect?.hasSuspects == false:
            swap(&current, &suspect)
        case .refused:
            // Two batches with nothing accepted between them: nobody knows whose fault it is.
            result.outcome = .held
            if after.resolved == 0 {
                result.released = after.id
                _ = hasNoOther()
            } else {
                current?.acquit()
                suspect?.acquit()
            }
        }
        if after.isResolved {
            result.settled.append(after)
            current = nil
        }
        return result
    }

    private mutating func convictSuspect(_ result: inout Result) {
        guard var batch = suspect, batch.hasSuspects else { return }
        let count = batch.rejected.count
        batch.convict()
        result.rejected += batch.rejected.dropFirst(count)
        result.resolved += batch.rejected.count - count
        suspect = batch
        if batch.isResolved {
            result.settled.append(batch)
            suspect = nil
        }
    }
}
