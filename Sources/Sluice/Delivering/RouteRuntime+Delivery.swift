/// The asynchronous half of a route: take → send → apply → settle.
///
/// One worker runs for each batch that may be in flight. A batch that is being retried is a local variable of its worker.
extension RouteRuntime {
    func work() async { await work(holding: nil) }

    /// Works until delivery is stopped, beginning with a batch if there is one.
    private func work(holding batch: BatchProgress?) async {
        var worker = Worker()
        defer { worker.alarm.cancel() }
        if let batch, let permit = await nextPermit(batch, &worker) {
            guard await deliver(batch, permit, &worker) else { return }
        }
        while let (batch, permit) = await nextBatch(&worker), await deliver(batch, permit, &worker) {}
    }

    /// The state of a worker between its steps.
    private struct Worker {
        var alarm = Alarm()
        /// The value of ``RouteState/appends`` if the worker has just read it. Reading it takes the lock.
        var appends: Int?
    }

    /// Wakes the workers at the time that one of them waits for.
    // The system keeps a cancelled sleep until its time, so none is replaced by another one for the same time.
    private struct Alarm {
        private var deadline: Duration?
        private var task: Task<Void, Never>?

        /// - Parameters:
        ///   - time: the time; nil for no alarm.
        ///   - now: the present time. An alarm whose time is not later has ended.
        ///   - start: starts the task of an alarm.
        mutating func set(_ time: Duration?, now: Duration, _ start: (Duration) -> Task<Void, Never>) {
            if let time, time == deadline, now < time { return }
            cancel()
            (deadline, task) = (time, time.map(start))
        }

        mutating func cancel(unless time: Duration? = nil) {
            if time == deadline { return }
            task?.cancel()
            (deadline, task) = (nil, nil)
        }
    }

    /// The permission to send one part.
    private struct Permit {
        let size: BatchSize
        /// See ``DeliverySchedule/epoch``.
        let epoch: Int
    }

    /// Delivers a batch. Returns when it is settled, deferred, deleted, or delivery was stopped.
    ///
    /// - Returns: whether this worker continues. Otherwise another one has its batch, or delivery has ended.
    private func deliver(_ batch: BatchProgress, _ first: Permit, _ worker: inout Worker) async -> Bool {
        var progress = batch
        var permit: Permit? = first
        while let current = permit {
            // The transport would refuse to send in a cancelled task.
            if Task.isCancelled {
                replaceWorker(holding: progress)
                return false
            }
            let part = progress.nextPart(current.size)
            let verdicts = await send(part)
            let result = progress.apply(verdicts, toFirst: part.events.count)
            let now = environment.time.continuousTime()
            let work = update {
                $0.record(result, progress, epoch: current.epoch, at: now, random: environment.random)
            }
            guard let work else { return true }
            if work.isNeeded { worker.appends = settle(progress, work) }
            if work.mustSettle || work.isDeferred { return true }
            permit = await nextPermit(progress, &worker)
        }
        return true
    }

    /// Starts a worker in place of one that ``cancelSends()`` has cancelled, unless delivery has ended. It needs a permit of
    /// its own, because the process may be about to be suspended.
    private func replaceWorker(holding batch: BatchProgress) {
        update { $0.returnPermit() }
        tasks.withLock { tasks in
            tasks?.append(startWorker { await self.work(holding: batch) })
        }
    }

    private func send(_ part: Batch) async -> Verdicts {
        do {
            return try await transport.send(part)
        } catch let error as SluiceError {
            return .all(.retry(after: nil, reason: error.description))
        } catch {
            // The text of a foreign error may contain data that must not be logged.
            return .all(.retry(after: nil, reason: "\(type(of: error)); its text is not logged"))
        }
    }

    /// Uses the store at the gate: keeps rejected events, removes a resolved batch, and puts the dead letters of a hold back.
    ///
    /// - Returns: the value of ``RouteState/appends``.
    private func settle(_ batch: BatchProgress, _ work: RouteState.StoreWork) -> Int {
        if !work.rejected.isEmpty {
            let date = environment.time.wallTime()
            let letters = work.rejected.map { event in
                DeadLetter(
                    line: event.line, reason: event.reason, date: date, refusalsInARow: event.refusalsInARow)
            }
            store.reject(letters, in: batch.id)  // mutant: forget-dead-letters
        }
        if work.mustSettle { _ = remove(batch) }
        if work.mustReplay { replayHeld() }
        return update { state in
            state.settled(batch, work)
            return state.appends
        }
    }

    /// - Returns: whether the store could remove the batch.
    private func remove(_ batch: BatchProgress) -> Bool {
        do throws(SluiceError) {
            try store.settle(batch.id)
            return true
        } catch {
            update {
                $0.journal.report(
                    .store, "a batch could not be removed and may be sent again by a later process: \(error)")
            }
            return false
        }
    }

    private func replayHeld() {
        do throws(SluiceError) {
            let letters = try store.deadLetters()
            let count = try replay(update { $0.schedule.lettersToReplay(from: letters) })
            guard count > 0 else { return }
            update {
                $0.journal.report(.replayed, "the receiver accepts events again: \(count) dead letter(s) were put back")
            }
        } catch {
            update { $0.journal.report(.store, "dead letters could not be put back: \(error)") }
        }
    }

    // MARK: Waiting

    /// Waits until a batch can be sent.
    ///
    /// - Returns: nil if delivery was stopped.
    private func nextBatch(_ worker: inout Worker) async -> (BatchProgress, Permit)? {
        while true {
            switch await nextStep(isHolding: false, &worker) {
            case .take(let request):
                guard let batch = take(request) else { continue }
                return (BatchProgress(batch), Permit(size: request.size, epoch: request.epoch))
            case .resume(let batch, let size, let epoch): return (batch, Permit(size: size, epoch: epoch))
            case .deleteAll(let deferred): deleteAll(deferred)
            case .stop: return nil
            case .send, .deleteBatch, .wait: continue
            }
        }
    }

    /// Waits until the next part of a batch can be sent.
    ///
    /// - Returns: nil if the batch was deleted or delivery was stopped.
    private func nextPermit(_ batch: BatchProgress, _ worker: inout Worker) async -> Permit? {
        guard case .send(let size, let epoch) = await nextStep(isHolding: true, orDelete: batch, &worker) else {
            return nil
        }
        return Permit(size: size, epoch: epoch)
    }

    private func nextStep(
        isHolding: Bool, orDelete batch: BatchProgress? = nil, _ worker: inout Worker
    ) async -> RouteState.Step {
        while true {
            let appends = worker.appends ?? update(\.appends)
            worker.appends = nil
            let backlog = store.backlog
            let now = environment.time.continuousTime()
            let step = update { $0.nextStep(isHolding: isHolding, backlog, appends: appends, at: now) }
            switch step {
            case .wait(let deadline, let inputs):
                worker.alarm.set(deadline, now: environment.time.continuousTime(), wake)
                _ = await wait(for: .changed, inputs: inputs)
            case .take(let request):
                worker.alarm.cancel(unless: request.alarm)
                return step
            case .deleteBatch:
                if let batch { delete(batch) }
                fallthrough
            case .send, .resume, .deleteAll, .stop:
                worker.alarm.cancel()
                return step
            }
        }
    }

    /// Wakes the workers at `deadline`.
    private func wake(at deadline: Duration) -> Task<Void, Never> {
        Task { [environment] in
            do {
                repeat {
                    try await environment.time.sleep(until: deadline)
                } while environment.time.continuousTime() < deadline
            } catch {
                return  // The worker doesn't wait for that time any more.
            }
            self.update { $0.changed() }
        }
    }

    /// Takes the next batch from the store. The worker is at the gate.
    private func take(_ request: RouteState.Request) -> Batch? {
        var failure: SluiceError?
        do throws(SluiceError) {
            if let batch = try store.nextBatch(request.size, atLeast: request.priority) {
                return update { $0.took(batch) } ? batch : nil
            }
        } catch {
            failure = error
        }
        let backlog = store.backlog
        let now = environment.time.continuousTime()
        update { state in
            if let failure { state.journal.report(.store, "the next batch could not be read: \(failure)") }
            state.tookNothing(
                backlog, request, hasFailed: failure != nil, at: now, random: environment.random)
        }
        return nil
    }

    // MARK: Deleting

    /// Deletes the batch that a worker holds.
    private func delete(_ batch: BatchProgress) {
        guard update({ $0.enterGate() }) else { return }
        let isComplete = remove(batch)  // mutant: spare-batches-on-delete
        update { state in
            state.deleted(batch, isHeld: true, isComplete: isComplete)
            state.leaveGate()
        }
    }

    /// Deletes all events that waited when it began. The worker is at the gate, and no other worker holds a batch.
    private func deleteAll(_ deferred: [BatchProgress]) {
        for batch in deferred {
            let isComplete = remove(batch)
            update { $0.deleted(batch, isHeld: false, isComplete: isComplete) }
        }
        var isComplete = true
        var isCut = false
        var bytes = store.backlog.bytes
        // Some batches are not in the backlog, for example those of another process that has died. A limit, so that a host
        // that tracks faster than this deletes doesn't keep it busy without end.
        var more = 1_000
        do throws(SluiceError) {
            // mutant: delete-one-batch
            while bytes > 0 || more > 0, let batch = try store.nextBatch(BatchSize(events: 500, bytes: 262_144)) {
                if bytes <= 0 { more -= 1 }
                bytes -= batch.events.reduce(0) { $0 + $1.bytes.count }
                isCut = !update { $0.took(toDelete: batch) }
                if isCut { break }
                let progress = BatchProgress(batch)
                let isRemoved = remove(progress)
                update { $0.deleted(progress, isHeld: false, isComplete: isRemoved) }
            }
            // A store may hold events that it can't read at present.
            isComplete = !isCut && (bytes <= 0 || store.backlog.isEmpty)
        } catch {
            isComplete = false
            update { $0.journal.report(.store, "the waiting events could not all be read to be deleted: \(error)") }
        }
        update { $0.deletedAll(isComplete: isComplete) }
    }
}
