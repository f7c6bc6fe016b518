/// The asynchronous half of a route: take → send → apply → settle.
///
/// One worker runs for each batch that may be in flight. A batch that is being retried is a local variable of its worker.
struct Worker {
    private let route: RouteRuntime
    private let currentSend: CurrentSend
    private let statusKeeper: (any StatusKeeping)?

    init(_ route: RouteRuntime) {
        self.route = route
        currentSend = CurrentSend(route)
        statusKeeper = route.store as? any StatusKeeping
    }

    /// Works until delivery is stopped, beginning with a batch if there is one.
    func work(holding batch: BatchProgress? = nil) async {
        if let batch, let permit = await nextPermit(batch) {
            guard await deliver(batch, permit) else { return }
        }
        while let (batch, permit) = await nextBatch(), await deliver(batch, permit) {}
    }

    /// Delivers a batch. Returns when it is settled, deferred, deleted, or delivery was stopped.
    ///
    /// - Returns: whether this worker continues. Otherwise another one has its batch, or delivery has ended.
    private func deliver(_ batch: BatchProgress, _ first: Permit) async -> Bool {
        var progress = batch
        var permit: Permit? = first
        while let current = permit {
            // The transport would refuse to send in a cancelled task.
            if Task.isCancelled {
                replaceWorker(holding: progress)
                return false
            }
            let result: SendResult
            if let erasure = current.erasure {
                result = progress.erase(erasure)
            } else if let confirmed = progress.takeConfirmed() {
                result = confirmed
            } else {
                progress.prepare(for: current.stage)
                let part = progress.nextPart(current.size)
                let verdicts = await send(part)
                result = progress.apply(verdicts, toFirst: part.events.count, in: current.stage)
            }
            let now = route.environment.time.continuousTime()
            let work = route.update {
                $0.record(result, progress, epoch: current.epoch, at: now, random: route.environment.random)
            }
            guard let work else { return true }
            if work.isNeeded { settle(progress, work) }
            if work.mustSettle || work.isDeferred { return true }
            permit = await nextPermit(progress)
        }
        return true
    }

    /// Starts a worker in place of this one, which ``RouteRuntime/cancelSends()`` has cancelled. It needs a permit of its
    /// own, because the process may be about to be suspended.
    private func replaceWorker(holding batch: BatchProgress) {
        route.update { $0.returnPermit(batch.id) }
        route.startWorker(holding: batch)
    }

    private func send(_ part: Batch) async -> Verdicts {
        do {
            return try await CurrentSend.$current.withValue(currentSend) { try await route.transport.send(part) }
        } catch let error as SluiceError {
            return .all(.retry(after: nil, reason: error.reason))
        } catch {
            // The text of a foreign error may contain data that must not be logged.
            return .all(.retry(after: nil, reason: "\(type(of: error)); its text is not logged"))
        }
    }

    /// Uses the store at the gate: keeps rejected events, removes a resolved batch, and puts the dead letters of a hold back.
    private func settle(_ batch: BatchProgress, _ work: StoreWork) {
        var work = work
        if !work.rejected.isEmpty {
            let date = route.environment.time.wallTime()
            let letters = work.rejected.map { event in
                DeadLetter(
                    line: event.line, reason: event.reason, date: date, refusalsInARow: event.refusalsInARow,
                    status: event.status, response: event.response)
            }
            route.store.reject(letters, in: batch.id)  // mutant: forget-dead-letters
        }
        if work.mustGiveBack { work.hasGivenBack = giveBack(batch) }
        if work.mustSettle { _ = remove(batch.id) }
        if !work.rejected.isEmpty { DeadLetterAccess(route).noteCount() }
        if work.mustReplay { DeadLetterAccess(route).replayHeld() }
        route.update { $0.finish(batch, work) }
    }

    /// Stores the events that the receiver has deferred once more, and removes their batch. A crash in between repeats them.
    ///
    /// One event of a user over a quota may be in each batch: these batches would fill the memory and the store, although
    /// nearly all of their events are delivered.
    ///
    /// - Returns: false if they can't all be stored.
    private func giveBack(_ batch: BatchProgress) -> Bool {
        let rest = batch.rest
        let errors = route.store.append(contentsOf: rest)
        guard errors.isEmpty else {
            // Copies of events that the batch still has.
            route.update { $0.reported { $0.recovered(rest.count - errors.count) } }
            return false
        }
        _ = remove(batch.id)
        return true
    }

    // MARK: Waiting

    /// Waits until a batch can be sent.
    ///
    /// - Returns: nil if delivery was stopped.
    private func nextBatch() async -> (BatchProgress, Permit)? {
        while true {
            switch decide({ $0.nextBatch(at: $1) }) {
            case .take(let permit): if let batch = take(permit) { return (BatchProgress(batch), permit) }
            case .resume(let batch, let permit): return (batch, permit)
            case .deleteAll(let deferred): deleteAll(deferred)
            case .wait(let inputs): _ = await route.wait(for: .changed, inputs: inputs)
            case .stop: return nil
            }
        }
    }

    /// Waits until the next part of a batch can be sent.
    ///
    /// - Returns: nil if the batch was left or deleted, or delivery was stopped.
    private func nextPermit(_ batch: BatchProgress) async -> Permit? {
        while true {
            switch decide({ $0.nextPart(of: batch, at: $1) }) {
            case .send(let permit): return permit
            case .leave, .stop: return nil
            case .delete:
                delete(batch.id)
                return nil
            case .wait(let inputs): _ = await route.wait(for: .changed, inputs: inputs)
            }
        }
    }

    /// Decides the next step, and passes the status to the store if it has changed.
    private func decide<Step>(_ body: (inout RouteState, _ now: Duration) -> Step) -> Step {
        guard let statusKeeper else { return route.decide(body) }
        var (step, status) = route.decide { (body(&$0, $1), $0.takeStatus()) }
        while let changed = status {
            statusKeeper.keep(changed)
            status = route.update { $0.takeNextStatus() }
        }
        return step
    }

    /// Takes the next batch from the store. The worker is at the gate.
    private func take(_ permit: Permit) -> Batch? {
        var failure: SluiceError?
        do throws(SluiceError) {
            // A last probe is any event of a whole batch.
            let size = permit.stage.lastProbe == nil ? permit.size : permit.batchSize
            if let batch = try route.store.nextBatch(size) {
                return route.update { $0.took(batch, permit) } ? batch : nil
            }
        } catch {
            failure = error
        }
        let (now, random) = (route.environment.time.continuousTime(), route.environment.random)
        let inputs = route.update { state in
            if let failure { state.journal.report(.store, "the next batch could not be read: \(failure)") }
            return state.foundNothing(permit, hasFailed: failure != nil, at: now, random: random)
        }
        if let inputs {
            let backlog = route.store.backlog
            route.update { $0.compare(backlog, inputs: inputs, at: now, random: random) }
        }
        return nil
    }

    // MARK: Deleting

    /// Removes a batch from the route.store.
    ///
    /// - Returns: whether the store could remove it.
    func remove(_ batch: Batch.ID) -> Bool {
        do throws(SluiceError) {
            try route.store.settle(batch)
            return true
        } catch {
            route.report("a batch could not be removed and may be sent again by a later process: \(error)")
            return false
        }
    }

    /// Deletes the batch that a worker holds.
    private func delete(_ batch: Batch.ID) {
        guard route.update({ $0.gate.enter() }) else { return }
        let isComplete = remove(batch)  // mutant: spare-batches-on-delete
        route.update { state in
            state.deleted(batch, isComplete: isComplete)
            state.gate.leave()
        }
    }

    /// Deletes all events that waited when it began. The worker is at the gate, and no worker holds a batch.
    private func deleteAll(_ deferred: [BatchProgress]) {
        for batch in deferred {
            let isComplete = remove(batch.id)
            route.update { $0.deleted(batch.id, isComplete: isComplete) }
        }
        var isComplete = false
        var isCut = false
        var failure: SluiceError?
        var bytes = route.store.backlog.bytes
        // Some batches are not in the backlog, for example those of another process that has died. A limit, so that a host
        // that tracks faster than this deletes doesn't keep it busy without end.
        var more = 1_000
        do throws(SluiceError) {
            // mutant: delete-one-batch
            while bytes > 0 || more > 0, let batch = try route.store.nextBatch(BatchSize(events: 500, bytes: 262_144)) {
                if bytes <= 0 { more -= 1 }
                bytes -= batch.events.reduce(0) { $0 + $1.bytes.count }
                isCut = !route.update { $0.took(toDelete: batch) }
                if isCut { break }
                let isRemoved = remove(batch.id)
                route.update { $0.deleted(batch.id, isComplete: isRemoved) }
            }
            // A store may hold events that it can't read at present.
            isComplete = !isCut && (bytes <= 0 || route.store.backlog.isEmpty)
        } catch {
            failure = error
        }
        if !isCut, let store = route.store as? any UnreadDeleting {
            do throws(SluiceError) {
                let report = try store.deleteUnread()
                route.update { $0.reported { $0.erased(report) } }
                failure = report.left.first.map { SluiceError(.inputOutput, $0) }
                isComplete = failure == nil
            } catch {
                (isComplete, failure) = (false, error)
            }
        }
        if let failure { route.report("the waiting events could not all be deleted: \(failure)") }
        route.update { $0.deletedAll(isComplete: isComplete) }
    }
}
