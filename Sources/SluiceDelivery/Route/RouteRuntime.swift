/// A route at work: a store and a transport with the state that their threads share. Its workers are in ``Worker``.
package final class RouteRuntime: Sendable {
    package let name: String
    let store: any Store
    let statusKeeper: (any StatusKeeping)?
    let transport: any Transport
    let environment: PipelineEnvironment
    private let onDiagnostic: @Sendable (Diagnostic) -> Void
    private let state: Locked<RouteState>
    /// The tasks of the workers; nil when delivery has ended.
    private let tasks = Locked<[Task<Void, Never>]?>([])
    /// Wakes the workers at ``Waiters/alarm``. It changes only with the lock of the state held.
    private let alarm = Locked<Task<Void, Never>?>(nil)

    package init(
        named name: String, _ store: any Store, _ transport: any Transport, policy: DeliveryPolicy,
        environment: PipelineEnvironment, onDiagnostic: @escaping @Sendable (Diagnostic) -> Void
    ) throws(SluiceError) {
        try policy.validate()
        self.name = name
        self.store = store
        statusKeeper = store as? any StatusKeeping
        self.transport = transport
        self.environment = environment
        self.onDiagnostic = onDiagnostic
        state = Locked(
            RouteState(
                name: name, policy: policy, maximumBatchSize: transport.maximumBatchSize, capacity: store.capacity))
    }

    // MARK: Opening and closing

    package func open() throws(SluiceError) {
        // The plugins keep their observers, so these must not keep this route.
        let (name, state, onDiagnostic) = (name, state, onDiagnostic)
        let observer = TransportObserver { onDiagnostic(Diagnostic(kind: .note, route: name, message: $0)) }
        if let error = SluiceError.of(try transport.open(observer, in: environment)) {
            throw SluiceError(error, from: transport)
        }
        // The store may call it with its own lock held: diagnostics about losses wait until no lock is held.
        let storeObserver = StoreObserver(
            route: name,
            onRecovered: { count in state.withLock { $0.reported { $0.recovered(count) } } },
            onUnread: { bytes in state.withLock { $0.reported { $0.ledger.unreadBytes = bytes } } },
            onDropped: { count, reason in state.withLock { $0.reported { $0.lost(count, reason) } } },
            onDeadLettersDropped: { count, reason in state.withLock { $0.journal.droppedDeadLetters(count, reason) } },
            onNote: { onDiagnostic(Diagnostic(kind: .store, route: name, message: $0)) })
        if let error = SluiceError.of(try store.open(storeObserver, in: environment)) {
            throw SluiceError(error, from: store)
        }
        // Without the next step, the store may be another pipeline's, and is not closed.
        let backlog = store.backlog
        update { $0.opened(backlog) }
    }

    package func start() {
        for _ in 0..<update({ $0.rule.maximumInFlight }) { startWorker() }
    }

    /// Starts a worker unless delivery has ended.
    func startWorker() { tasks.withLock { $0?.append(startTask { await Worker(self).work() }) } }

    /// Drains as ``RouteState/stop(deadline:isShort:)`` says, and closes the store. A transport that hangs doesn't
    /// delay the return, and a disk that hangs delays it by up to twice ``grace``.
    package func shutdown(until deadline: Duration, isShort: Bool = false) async {
        // Entered here, because a deadline of zero closes the gate before the task runs.
        if state.withLock({ $0.gate.enter() }) {
            let now = environment.time.continuousTime()
            startTask {
                // Not longer, so that a slow disk leaves time for sending.
                self.synchronizeAtGate(until: now + (deadline - now) / 2)
                self.update { state in
                    state.stop(deadline: deadline, isShort: isShort)
                    state.gate.leave()
                }
            }
        }
        // In tasks, because closing the store can block.
        let end = call(at: deadline) { self.startTask { self.close() } }
        let lateEnds = [1, 2].map { number in
            call(at: deadline + RouteRuntime.grace * number) { self.startTask { self.update { $0.abandon() } } }
        }
        await withCheckedContinuation { continuation in update { $0.shutdowns.append { continuation.resume() } } }
        for task in [end] + lateEnds { task.cancel() }
        close()
    }

    /// How long a use of the store may last after the deadline of a shutdown.
    private static let grace = Duration.milliseconds(100)

    /// Ends delivery, and closes the store when its last use has ended. Events without a verdict stay in the store.
    package func close() {
        keep(update { $0.giveUp() })
        // Delivery ends before the transport is cancelled, so that cancelled attempts don't count as failures.
        update { state in
            state.close()
            setAlarm(nil)
        }
        cancelTasks(replacedBy: nil)
    }

    private func cancelTasks(replacedBy new: [Task<Void, Never>]?) {
        var cancelled = new
        tasks.withLock { if $0 != nil { swap(&$0, &cancelled) } }
        for task in cancelled ?? [] { task.cancel() }
    }

    // MARK: Events

    /// Stores an event, and counts it.
    ///
    /// - Returns: the error of the store, after it was counted; nil if the event was stored.
    package func append(_ line: EventLine) -> SluiceError? {
        if let error = SluiceError.of(try store.append(line)) {
            refused(error)
            return error
        }
        update { $0.appended(line.priority, at: { environment.time.continuousTime() }) }
        return nil
    }

    /// Counts an event that was not stored.
    package func refused(_ error: SluiceError) { update { $0.journal.refused(error) } }

    /// Stores events together, and counts them.
    package func append(contentsOf lines: [EventLine]) {
        let errors = store.append(contentsOf: lines)
        update { state in
            for (index, line) in lines.enumerated() {
                if !errors.isEmpty, let error = errors[index] {
                    state.journal.refused(error)
                } else {
                    let isLast = index == lines.count - 1
                    state.appended(line.priority, isLast: isLast, at: { environment.time.continuousTime() })
                }
            }
        }
    }

    // MARK: Host

    package func receive(_ signal: Signal) {
        switch signal.kind {
        case .didEnterBackground:
            // The process may be suspended or ended before anything is sent.
            synchronize()
            update { $0.requestFlush() }
        case .connectivity(let connectivity): update { $0.connectivityChanged(connectivity) }
        case .willTerminate: synchronize()
        case .launched, .willResignActive, .didBecomeActive, .userWillChange: break
        }
    }

    /// Changes the triggers, and sends all waiting events now. Nil leaves one as it is.
    package func setFlush(count: Int?, interval: Duration?) { update { $0.setFlush(count: count, interval: interval) } }

    package func setPaused(_ isPaused: Bool) { update { $0.setConditions { $0.isPaused = isPaused } } }

    package func expectSuspension(in time: Duration?) {
        let now = environment.time.continuousTime()
        update { $0.setConditions { $0.expectSuspension(in: time, at: now) } }
    }

    /// Cancels the requests in flight, before a suspension. Their batches stay in the store, and other workers resend them.
    package func cancelSends() {
        expectSuspension(in: .zero)
        update { $0.cancellations += 1 }
        cancelTasks(replacedBy: [])
    }

    /// Sends all waiting events, and returns when that is done, when more sending must wait, or when `end` has passed.
    @discardableResult
    package func flush(until end: Duration? = nil) async -> FlushReport {
        let alarm = end.map { end in call(at: end) { self.update { $0.endFlushes(.due(end)) } } }
        defer { alarm?.cancel() }
        return await CurrentSend.wait(for: self) { mayWait in
            await withCheckedContinuation { continuation in
                update { state in
                    state.flush(until: mayWait ? end : .past) { continuation.resume(returning: $0) }
                    // The alarm may have rung before the flush began.
                    state.endFlushes(.due(environment.time.continuousTime()))
                }
            }
        }
    }

    /// The counts of the route. If it asks the store for its counts too, it can wait for a disk. A store that is in use after
    /// a shutdown isn't asked, because it may hang.
    package func ledger(asksStore: Bool) -> RouteLedger {
        let backlog = asksStore && !state.withLock(\.gate.isAbandoned) ? store.backlog : nil
        return state.withLock { $0.ledger(with: backlog) }
    }

    private func synchronize() {
        guard state.withLock({ $0.gate.enter() }) else { return }
        synchronizeAtGate()
        update { $0.gate.leave() }
    }

    private func synchronizeAtGate(until end: Duration? = nil) {
        let time = environment.time
        func mayContinue() -> Bool { state.withLock(\.gate.isOpen) && end.map { time.continuousTime() < $0 } ?? true }
        if let error = SluiceError.of(try store.synchronize(while: mayContinue)) {
            report("stored events could not be made safe against power loss: \(error)")
        }
    }

    /// Runs `body` on a thread of its own while the store can't be closed.
    ///
    /// - Throws: ``SluiceError/Code/shutDown`` if it is closed already, and the errors of `body`.
    func useStore<Value: Sendable>(
        _ body: @escaping @Sendable (any Store) throws(SluiceError) -> Value
    ) async throws(SluiceError) -> Value {
        guard state.withLock({ $0.gate.enter() }) else { throw SluiceError(.shutDown, "the pipeline was shut down") }
        return try await Task.runningOnOwnThread(hasThreads: environment.hasThreads) {
            defer { self.update { $0.gate.leave() } }
            return Result { () throws(SluiceError) in try body(self.store) }
        }.get()
    }

    // MARK: State

    /// Removes a batch from the store.
    ///
    /// - Returns: whether the store could remove it.
    func remove(_ batch: Batch.ID) -> Bool {
        guard let error = SluiceError.of(try store.settle(batch)) else { return true }
        reportRarely("a batch could not be removed and may be sent again by a later process: \(error)")
        return false
    }

    /// Reports a failure of the store.
    func report(_ failure: String) { update { $0.journal.report(.store, failure) } }

    /// Reports a failure of the store that each batch can repeat.
    func reportRarely(_ failure: String) { update { $0.journal.reportRarely(.store, failure) } }

    /// Passes a status to the store, and each one that follows in the meantime.
    func keep(_ status: RouteStatus?) {
        var next = status
        while let status = next {
            statusKeeper?.keep(status)
            next = update { $0.takeNextStatus() }
        }
    }

    /// Changes the state under the lock, and runs the resulting actions without it.
    @discardableResult
    func update<Value>(_ body: (inout RouteState) -> Value) -> Value {
        let (value, hasActions) = state.withLock { state in (body(&state), state.hasActions) }
        if hasActions { runActions() }
        return value
    }

    /// Replaces the alarm. Call this with the lock of the state held. A set alarm keeps this route alive until its time.
    func setAlarm(_ time: Duration?) {
        var task = time.map { time in call(at: time) { self.update { $0.waiters.rang(time) } } }
        alarm.withLock { swap(&$0, &task) }
        task?.cancel()
    }

    /// Calls `body` at a time, unless the task is cancelled before.
    private func call(at end: Duration, _ body: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        Task { [time = environment.time] in
            repeat {
                guard (try? await time.sleep(until: end)) != nil, !Task.isCancelled else { return }
            } while time.continuousTime() < end
            body()
        }
    }

    // Not inlined for the same reason as Waiters.changed().
    @inline(never)
    private func runActions() {
        let actions = state.withLock { $0.takeActions() }
        for diagnostic in actions.diagnostics { onDiagnostic(diagnostic) }
        for resume in actions.resumptions { resume() }
        // Last, because a drive can hang.
        if actions.mustClose {
            store.close()
            update { $0.gate.didClose() }
        }
    }

    /// Starts a task of delivery. In a simulation it has no thread of its own.
    @discardableResult
    func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.onOwnThread(hasThreads: environment.hasThreads, body)
    }

    /// Waits until `body`, which decides after each change, returns a value.
    func wait<Value>(for body: (inout RouteState) -> Value?) async -> Value {
        while true {
            let (value, inputs) = update { (body(&$0), $0.waiters.inputs) }
            if let value { return value }
            await wait(inputs: inputs)
        }
    }

    /// Waits until ``Waiters/inputs`` has another value.
    func wait(inputs: Int) async {
        await withCheckedContinuation { next in update { $0.waiters.wait(inputs: inputs) { next.resume() } } }
    }
}
