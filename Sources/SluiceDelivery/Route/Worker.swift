/// The asynchronous half of a route: take → send → apply → settle.
///
/// One worker runs for each part that may be in flight. ``RouteState`` decides its steps.
struct Worker {
    private let route: RouteRuntime
    private let currentSend: CurrentSend
    /// The value of ``RouteState/cancellations`` at its start.
    private let cancellations: Int

    init(_ route: RouteRuntime) {
        self.route = route
        currentSend = CurrentSend(route)
        cancellations = route.update { $0.cancellations }
    }

    /// Works until delivery is stopped, or this worker is cancelled and another one takes its place.
    func work() async {
        var step = next()
        while true {
            switch step {
            case .take(let size): step = take(size)
            case .send(let part):
                guard let settlement = await deliver(part) else { return route.startWorker() }
                settle(settlement)
                step = next { state, _ in state.finish(settlement) }
            case .wait(let inputs):
                await route.wait(inputs: inputs)
                step = next()
            case .stop: return
            }
        }
    }

    /// Sends a part, and applies the answer.
    ///
    /// - Returns: nil if delivery was stopped, or if this worker was cancelled and another one must take its place.
    private func deliver(_ part: Part) async -> Settlement? {
        // A transport would refuse to send in a cancelled task.
        let verdicts = Task.isCancelled ? nil : await send(part.batch)
        let now = route.environment.time.continuousTime()
        return route.update { state in
            // A transport can cancel its own task, which is a failure. A cancellation before a suspension is no answer.
            if let verdicts,
                state.cancellations == cancellations || !Answer(verdicts, count: part.places.count).accepted.isEmpty
            {
                return state.answered(part, verdicts, at: now, random: route.environment.random)
            }
            state.takeBack(part)
            return nil
        }
    }

    private func send(_ batch: Batch) async -> Verdicts {
        do {
            return try await CurrentSend.$current.withValue(currentSend) { try await route.transport.send(batch) }
        } catch {
            return .all(.retry(error))
        }
    }

    /// Tells the store the result. The worker is at the gate.
    private func settle(_ settlement: Settlement) {
        for action in settlement.actions {
            switch action {
            case .reject(let events, let id):
                let date = route.environment.time.wallTime()
                let letters = events.map { event in
                    DeadLetter(
                        line: event.line, reason: event.failure.reason, date: date, status: event.failure.status,
                        response: event.failure.response.text)
                }
                route.store.reject(letters, in: id)
            case .settle(let places, let id): route.store.settle(places, of: id)
            case .remove(let id): _ = route.remove(id)
            }
        }
        if settlement.rejected > 0 { route.noteDeadLetters() }
    }

    // MARK: Deciding

    /// Changes the state, decides the next step, and passes the status to the store if it has changed.
    private func next(_ change: (inout RouteState, _ now: Duration) -> Void = { _, _ in }) -> Step {
        let now = route.environment.time.continuousTime()
        let (step, status) = route.update { state in
            let alarm = state.waiters.alarm
            change(&state, now)
            let step = state.next(at: now, random: route.environment.random)
            if state.waiters.alarm != alarm { route.setAlarm(state.waiters.alarm) }
            return (step, route.statusKeeper == nil ? nil : state.takeStatus())
        }
        route.keep(status)
        return step
    }

    /// Takes the next batch from the store. The worker is at the gate.
    private func take(_ size: BatchSize) -> Step {
        var batch: Batch?
        let error = SluiceError.of(try batch = route.store.nextBatch(size))
        if let batch, !batch.events.isEmpty { return next { state, _ in state.took(batch, size) } }
        if let error { route.reportRarely("the next batch could not be read: \(error)") }
        let backlog = error == nil ? route.store.backlog : nil
        return next { state, now in state.foundNothing(backlog, at: now, random: route.environment.random) }
    }
}
