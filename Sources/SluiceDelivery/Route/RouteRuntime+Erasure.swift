/// Erasures, and the deletion of all waiting events, which is one that selects every event.
///
/// Batches in flight are awaited first, and may be delivered. One erasure is made at a time, while no worker sends or uses the
/// store: first in the open batches, then in the store.
extension RouteRuntime {
    /// Erases waiting events and dead letters.
    package func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) async -> ErasureReport {
        await erase(where: isMatch) { _ in
            do throws(SluiceError) {
                return try self.store.erase(where: isMatch)
            } catch {
                return self.left("\(error)")
            }
        }
    }

    /// Deletes all waiting events, and returns whether all of them are gone. Dead letters stay, or go first: until then, another
    /// thread can turn them into waiting events.
    package func deleteAll(andLetters: Bool = false) async -> Bool {
        await erase(where: { _ in true }) { isComplete in
            ErasureReport(left: andLetters ? self.discardAllLetters() : []) + self.deleteStored(isComplete)
        }.isComplete
    }

    private func erase(
        where isMatch: @escaping @Sendable (EventLine) -> Bool,
        inStore eraseStored: @escaping @Sendable (_ isComplete: Bool) -> ErasureReport
    ) async -> ErasureReport {
        await CurrentSend.wait(for: self) { mayWait in
            if !mayWait { return left("the transport's own send can't wait for its end: erase elsewhere") }
            let number = update { $0.beginErasure() }
            guard await wait(for: { $0.enter(erasure: number) }) else {
                update { $0.endErasure(ErasureReport()) }
                return left("the pipeline was shut down: erase in the next process")
            }
            return await Task.runningOnOwnThread(hasThreads: environment.hasThreads) {
                let (events, isComplete) = self.erase(in: self.update { $0.rule.open }, where: isMatch)
                var report = eraseStored(isComplete)
                self.update { $0.endErasure(report) }
                report.events += events
                self.noteDeadLetters()
                self.update { $0.gate.leave() }
                return report
            }
        }
    }

    private func left(_ problem: String) -> ErasureReport { ErasureReport(left: ["\(name): \(problem)"]) }

    /// Without the lock, because `isMatch` is the host's code. No worker uses the open batches.
    ///
    /// - Returns: the number of erased events, and whether the store could remove the batches without other events.
    private func erase(in open: [OpenBatch], where isMatch: (EventLine) -> Bool) -> (events: Int, isComplete: Bool) {
        var (events, isComplete) = (0, true)
        for batch in open {
            let places = batch.rest.filter { isMatch(batch.batch.events[$0]) }
            if places.isEmpty { continue }
            events += places.count
            if update({ $0.erased(places, of: batch.id) }), !remove(batch.id) { isComplete = false }
        }
        return (events, isComplete)
    }

    /// Deletes all events in the store that waited when it began, and events that are tracked during the call can go, too.
    private func deleteStored(_ isComplete: Bool) -> ErasureReport {
        var (isComplete, report) = (isComplete, ErasureReport())
        var bytes = store.backlog.bytes
        // Some batches are not in the backlog, for example those of another process that has died. Their number is limited,
        // so that the deletion ends although the host tracks faster than it deletes.
        var more = 1_000
        do throws(SluiceError) {
            while bytes > 0 || more > 0, let batch = try store.nextBatch(BatchSize(events: 500, bytes: 262_144)),
                !batch.events.isEmpty
            {
                if bytes <= 0 { more -= 1 }
                bytes -= batch.events.reduce(0) { $0 + $1.bytes.count }
                guard let open = update({ $0.took(toDelete: batch) }) else {
                    return ErasureReport(left: ["the pipeline was shut down"])
                }
                if !erase(in: [open], where: { _ in true }).isComplete { isComplete = false }
            }
            if !isComplete || bytes > 0 && !store.backlog.isEmpty { report.left = ["the store still has some"] }
        } catch {
            report.left = ["\(error)"]
        }
        if let store = store as? any UnreadDeleting, let error = SluiceError.of(try report = store.deleteUnread()) {
            report.left = ["\(error)"]
        }
        if let problem = report.left.first { self.report("the waiting events could not all be deleted: \(problem)") }
        return report
    }
}
