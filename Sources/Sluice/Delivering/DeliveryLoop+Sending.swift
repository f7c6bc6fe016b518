/// What the loop does when the machine says send: parts leave for the transport, and what comes of them is taken in.
///
/// Only the loop itself touches the store. Where several batches may be in flight, each flies in a task of its own, which
/// leaves its answer with the loop.
extension DeliveryLoop {
    /// Begins to send a part; waits instead if there is nothing to do before one of those on their way has landed.
    ///
    /// - Parameter inputs: the number of inputs that the decision knew of.
    func send(knowing inputs: Int) async {
        let hasRoom = state.withLock { $0.underway.flights < ($0.machine.isProbing ? 1 : maximumFlights) }
        let taken = hasRoom ? takeBatch() : nil
        guard leaveStore() else { return }
        guard let taken else {
            let mustWait = state.withLock { state in
                guard state.underway.flights > 0, state.inputs == inputs else { return false }
                state.wantsMore = hasRoom
                return true
            }
            if mustWait { await wait(until: nil) }
            state.withLock { $0.wantsMore = false }
            return
        }
        let flight = Flight(taken, batchSize, departure: state.withLock(\.machine.outages))
        guard maximumFlights > 1 else { return await fly(flight) }
        let task = Task.detached { await self.fly(flight) }
        let isStopped = state.withLock { state in
            state.flights[flight.id] = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    private func fly(_ flight: Flight) async {
        let landing = await flight.landing(over: transport)
        update { state in
            state.landings.append(landing)
            return true
        }
    }

    /// Takes in what came of a part.
    func take(_ landing: Flight.Landing) {
        let (before, after) = (landing.before, landing.after)
        let now = environment.time.continuousTime()
        let answered = state.withLock { state -> Underway.Result? in
            state.flights[after.id] = nil
            // An answer that comes after the deadline of a shutdown finds its store closed: the batch stays there.
            guard !state.isStopped else { return nil }
            state.isAtStore = true
            let result = state.underway.answered(landing.outcome, before: before, after: after)
            state.machine.answered(
                result.outcome, at: now, departure: landing.departure, random: environment.random)
            state.resolved += result.resolved
            return result
        }
        guard let answered else { return }
        account.sent(
            delivered: after.delivered - before.delivered, duplicates: after.duplicates - before.duplicates,
            rejected: answered.rejected, verdicts: landing.verdicts, outcome: answered.outcome,
            failure: landing.failure)
        for batch in answered.settled { settle(batch) }
        if let batch = answered.released { store.release(batch) }
        leaveStore()
        endFlushes { state in
            answered.outcome == .progress ? state.flushes.take(resolved: state.resolved) : state.flushes.takeAll()
        }
    }

    /// - Returns: nil if nothing can be begun at present.
    private func takeBatch() -> BatchProgress? {
        if let progress = state.withLock({ $0.underway.next() }) { return progress }
        var outcome = DeliveryMachine.Outcome.failed(retryAfter: nil)
        do {
            if let batch = try store.nextBatch(batchSize) { return state.withLock { $0.underway.begin(batch) } }
            // What it seemed to hold was no events: that is no failure, and nothing that comes next is to wait for it.
            let isStoreEmpty = store.backlog.isEmpty
            // Or all that it has is on its way.
            let isNothing = state.withLock { $0.underway.flights > 0 || (isStoreEmpty && $0.underway.isEmpty) }
            if isNothing { return nil }
            if state.withLock({ $0.underway.hasNoOther() }) { outcome = .held }
        } catch {
            account.storeFailed("the next batch could not be read", error)
        }
        if outcome == .held { account.held() }
        // The store holds something that it cannot give at present: ask again later, not in a circle.
        let now = environment.time.continuousTime()
        state.withLock { $0.machine.answered(outcome, at: now, random: environment.random) }
        endFlushes { $0.flushes.takeAll() }
        return nil
    }

    /// - Returns: whether the store could forget it.
    @discardableResult
    func settle(_ batch: BatchProgress) -> Bool {
        do {
            if !batch.rejected.isEmpty { store.reject(batch.rejected, in: batch.id) }
            try store.settle(batch.id)
            return true
        } catch {
            account.storeFailed("a batch could not be removed; it may be sent again in a later life", error)
            return false
        }
    }
}
