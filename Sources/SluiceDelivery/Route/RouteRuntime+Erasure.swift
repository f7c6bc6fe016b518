extension RouteRuntime {
    /// Erases waiting events and dead letters. Batches in flight are awaited first, and may be delivered.
    ///
    /// While no worker sends or uses the store, this call erases in the open batches and in the store.
    package func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) async -> ErasureReport {
        if CurrentSend.refusesToWait(for: self) {
            return ErasureReport(left: ["\(name): the transport's own send can't wait for its end: erase elsewhere"])
        }
        let number = update { $0.beginErasure() }
        while true {
            switch update({ $0.nextStep(ofErasure: number) }) {
            case .erase(let open):
                return await Task.runningOnOwnThread(hasThreads: environment.hasThreads) {
                    self.erase(number, in: open, where: isMatch)
                }
            case .wait(let inputs): _ = await wait(for: .changed, inputs: inputs)
            case .stop:
                let report = ErasureReport(left: ["\(name): the pipeline was shut down: erase in the next process"])
                update { $0.endErasure(number, report) }
                return report
            }
        }
    }

    /// Without the lock, because `isMatch` is the host's code. No worker uses the open batches.
    private func erase(
        _ number: Int, in open: [OpenBatch], where isMatch: @escaping @Sendable (EventLine) -> Bool
    ) -> ErasureReport {
        var erased = 0
        for batch in open {
            let places = batch.rest.filter { isMatch(batch.batch.events[$0]) }
            if places.isEmpty { continue }
            erased += places.count
            if update({ $0.erased(places, of: batch.id) }) { _ = Worker(self).remove(batch.id) }
        }
        var report: ErasureReport
        do throws(SluiceError) {
            report = try store.erase(where: isMatch)
        } catch {
            report = ErasureReport(left: ["\(name): \(error)"])
        }
        update { [report] in $0.endErasure(number, report) }
        report.events += erased
        DeadLetterAccess(self).noteCount()
        update { $0.gate.leave() }
        return report
    }
}
