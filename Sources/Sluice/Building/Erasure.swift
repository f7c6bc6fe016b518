/// Removes everything that a pipeline has collected.
struct Erasure: Sendable {
    let chain: Chain
    let states: StateGate
    let routes: Routes
    let path: EventPath

    func run() async -> ErasureReport {
        if !path.isOpen { return ErasureReport(from: Ledger(), to: Ledger(), states: 0, isComplete: false) }
        let before = await routes.ledgerWithStores()
        let count = await Task.runningOnOwnThread(hasThreads: path.environment.hasThreads) { forgetUser() }
        let areEventsGone = await routes.all { await $0.deleteAll() }
        let areLettersGone = await routes.all { await DeadLetterAccess($0).discardAll() }
        return ErasureReport(
            from: before, to: await routes.ledgerWithStores(), states: count ?? 0,
            isComplete: count != nil && areEventsGone && areLettersGone)
    }

    /// - Returns: The number of states that were stored; nil after a failure.
    private func forgetUser() -> Int? {
        defer { for processor in chain.all.flatMap(\.processors) { processor.forget() } }
        do throws(SluiceError) {
            return try states.remove(forgetting: true)
        } catch {
            path.report(.plugin, "the state of a plugin can't be erased: \(error)")
            return nil
        }
    }
}
