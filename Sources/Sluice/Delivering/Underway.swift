/// The batches that a route has taken from its store and not settled: those that are being sent, or sent on, and at times
/// one more, whose events were refused and which waits for another to be accepted.
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

    /// In the order in which they were taken.
    private var batches: [BatchProgress] = []
    private var suspect: BatchProgress?
    /// Those of which a part has left and is not answered yet.
    private var inFlight: Set<Batch.ID> = []

    var isEmpty: Bool { batches.isEmpty && suspect == nil }

    var flights: Int { inFlight.count }

    /// Events that are delivered or rejected, though the store still holds them.
    var unsettled: Int { batches.reduce(suspect?.resolved ?? 0) { $0 + $1.resolved } }

    /// What to send next, if no new batch is to be taken; it counts as in flight until it is answered.
    mutating func next() -> BatchProgress? {
        if !batches.contains(where: { !inFlight.contains($0.id) }), let waiting = suspect, !waiting.hasSuspects {
            batches.append(waiting)
            suspect = nil
        }
        let next = batches.first { !inFlight.contains($0.id) }
        if let next { inFlight.insert(next.id) }
        return next
    }

    /// Begins with a batch that was taken from the store; it counts as in flight until it is answered.
    mutating func begin(_ batch: Batch) -> BatchProgress {
        // As patient as the one for whose sake it is tried.
        let progress = suspect.map { BatchProgress(batch, patience: $0.patience) } ?? BatchProgress(batch)
        batches.append(progress)
        inFlight.insert(progress.id)
        return progress
    }

    /// Gives away all batches, of which none is in flight.
    mutating func takeAll() -> [BatchProgress] {
        defer { self = Underway() }
        return batches + [suspect].compactMap(\.self)
    }

    /// There is no other batch, neither in flight nor in the store, that could show whose fault a refusal is.
    ///
    /// - Returns: whether that matters: then the route is on hold.
    mutating func hasNoOther() -> Bool {
        guard var batch = suspect else { return false }
        batch.acquit()
        batches.append(batch)
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
        inFlight.remove(after.id)
        guard let index = batches.firstIndex(where: { $0.id == after.id }) else { return result }
        batches[index] = after
        if after.delivered > before.delivered { convictSuspect(&result) }
        switch outcome {
        case .progress: break
        case .failed(let retryAfter): result.outcome = .failed(retryAfter: retryAfter)
        case .held: result.outcome = .held
        case .refused where suspect?.hasSuspects != true:
            // One that waits to be sent again changes places with it.
            batches.remove(at: index)
            if let acquitted = suspect { batches.insert(acquitted, at: index) }
            suspect = after
        case .refused:
            // Two batches with nothing accepted between them: nobody knows whose fault it is.
            result.outcome = .held
            if after.resolved == 0 {
                result.released = after.id
                batches.remove(at: index)
                _ = hasNoOther()
            } else {
                batches[index].acquit()
                suspect?.acquit()
            }
        }
        if after.isResolved {
            result.settled.append(after)
            batches.removeAll { $0.id == after.id }
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
