extension RouteRuntime {
    /// Erases waiting events and dead letters. Batches in flight are awaited first, and may be delivered.
    ///
    /// Workers take the events out of the batches that they hold. Then, while no worker uses the store, this call erases in
    /// deferred batches and in the store.
    package func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) async -> ErasureReport {
        if CurrentSend.refusesToWait(for: self) {
            return ErasureReport(left: ["\(name): the transport's own send can't wait for its end: erase elsewhere"])
        }
        let erasure = update { $0.beginErasure(isMatch) }
        while true {
            switch update({ $0.nextStep(of: erasure) }) {
            case .erase(let deferred):
                return await Task.runningOnOwnThread(hasThreads: environment.hasThreads) {
                    self.run(erasure, deferred)
                }
            case .wait(let inputs): _ = await wait(for: .changed, inputs: inputs)
            case .stop:
                let report = ErasureReport(left: ["\(name): the pipeline was shut down: erase in the next process"])
                return update { $0.endErasure(erasure, report) }
            }
        }
    }

    private func run(_ erasure: Erasure, _ deferred: [BatchProgress]) -> ErasureReport {
        for var batch in deferred {
            let result = batch.erase(erasure)
            if result.erasedPlaces.isEmpty { continue }
            if batch.isResolved { _ = Worker(self).remove(batch.id) }
            update { $0.erased(result, from: batch) }
        }
        var report: ErasureReport
        do throws(SluiceError) {
            report = try store.erase(where: erasure.isMatch)
        } catch {
            report = ErasureReport(left: ["\(name): \(error)"])
        }
        report = update { [report] in $0.endErasure(erasure, report) }
        DeadLetterAccess(self).noteCount()
        update { $0.gate.leave() }
        return report
    }
}
