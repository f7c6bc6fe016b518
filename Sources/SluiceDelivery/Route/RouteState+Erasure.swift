/// An erasure takes its turn with the workers: see ``RouteRuntime/erase(where:)``.
extension RouteState {
    /// Adds an erasure behind the ones that wait or run.
    mutating func beginErasure() -> Int {
        waiters.changed()
        erasures.begun += 1
        return erasures.begun
    }

    /// Whether an erasure begins, in the open batches and in the store. Its caller is then at the gate. Nil while it must wait,
    /// and false if delivery has ended.
    mutating func enter(erasure number: Int) -> Bool? {
        if isStopped { return false }
        return number == erasures.ended + 1 && isQuiet && gate.enter() ? true : nil
    }

    /// Counts a batch that was taken in order to delete it.
    ///
    /// - Returns: the open batch; nil after the deadline of a shutdown, which ends the deletion.
    mutating func took(toDelete batch: Batch) -> OpenBatch? {
        rule.took(batch)
        flushes.took(batch)
        return gate.isOpen ? rule.open.last : nil
    }

    /// Takes erased events out of an open batch.
    ///
    /// - Returns: true if the batch has no other events. The store must then remove it.
    mutating func erased(_ places: [Int], of id: Batch.ID) -> Bool {
        flushes.erased(places, of: id)
        journal.deleted(places.count)
        return rule.erase(places, of: id)
    }

    /// Ends an erasure, and counts the store's part of it.
    mutating func endErasure(_ report: ErasureReport) {
        reported { $0.erased(report) }
        erasures.ended += 1
        // The workers end the flushes, unless they find events that came in the meantime.
        waiters.changed()
    }
}
