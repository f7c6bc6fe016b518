/// A ``Route`` at work. The synchronous half takes events to the store. The asynchronous half is in
/// RouteRuntime+Delivery.swift.
final class RouteRuntime: Sendable {
    let name: String
    let store: any Store
    let transport: any Transport
    let environment: PipelineEnvironment
    private let workers: Int
    private let onDiagnostic: @Sendable (Diagnostic) -> Void
    private let state: Locked<RouteState>
    /// The tasks of the workers; nil when delivery has ended.
    let tasks = Locked<[Task<Void, Never>]?>([])

    init(
        _ route: Route, defaultPolicy: DeliveryPolicy, environment: PipelineEnvironment,
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void
    ) throws(SluiceError) {
        guard let store = route.stages.store, let transport = route.stages.transport else {
            throw SluiceError(.invalidPipeline, "the route \"\(route.name)\" lacks a store or a transport")
        }
        let policy = route.delivery ?? defaultPolicy
        try policy.validate()
        name = route.name
        self.store = store
        self.transport = transport
        self.environment = environment
        self.onDiagnostic = onDiagnostic
        workers = policy.maximumBatchesInFlight
        state = Locked(
            RouteState(name: route.name, policy: policy, maximumBatchSize: transport.maximumBatchSize))
    }

    // MARK: Opening and closing

    func open() throws(SluiceError) {
        do throws(SluiceError) {
            try transport.open(
                TransportObserver { [name, onDiagnostic] in
                    onDiagnostic(Diagnostic(kind: .note, route: name, message: $0))
                })
        } catch {
            throw SluiceError(error, from: transport)
        }
        do throws(SluiceError) {
            try store.open(observer)
        } catch {
            throw SluiceError(error, from: store)
        }
        // Without this, the store may be another pipeline's, and is not closed.
        update { $0.opened() }
        let backlog = store.backlog
        var letters: [DeadLetter] = []
        var failure: SluiceError?
        do throws(SluiceError) {
            if backlog.deadLetters > 0 { letters = try store.deadLetters() }
        } catch {
            failure = error
        }
        update { state in
            if let failure { state.journal.report(.store, "the dead letters can't be read: \(failure)") }
            state.schedule.start(with: letters)
            // The events of an earlier process have waited long enough.
            if !backlog.isEmpty { state.schedule.flushRequested() }
        }
    }

    private var observer: StoreObserver {
        // The store keeps the observer, so it must not keep this route. It may call it with its own lock held: diagnostics
        // about losses wait until no lock is held.
        let (name, state, onDiagnostic) = (name, state, onDiagnostic)
        return StoreObserver(
            onRecovered: { count in state.withLock { $0.journal.ledger.recovered += count } },
            onDropped: { count, reason in state.withLock { $0.journal.dropped(count, reason) } },
            onDeadLettersDropped: { count, reason in state.withLock { $0.journal.droppedDeadLetters(count, reason) } },
            onNote: { onDiagnostic(Diagnostic(kind: .store, route: name, message: $0)) })
    }

    func start() {
        tasks.withLock { tasks in
            for _ in 0..<workers { tasks?.append(startWorker { await self.work() }) }
        }
    }

    /// Drains until nothing waits or `deadline` has passed, and closes the store. Returns by then, even if the transport
    /// or the disk hangs.
    func shutdown(deadline: Duration) async {
        // Entered here, because a deadline of zero closes the gate before the worker runs.
        if state.withLock({ $0.enterGate() }) {
            let now = environment.time.continuousTime()
            startWorker {
                // Not longer, so that a slow disk leaves time for sending.
                self.synchronizeAtGate(until: now + (deadline - now) / 2)
                self.change { $0.stopRequested(deadline: deadline) }
                self.update { $0.leaveGate() }
            }
        }
        let alarm = Task {
            do {
                try await environment.time.sleep(until: deadline)
                startWorker { self.close() }
                for late in [RouteRuntime.grace, RouteRuntime.grace * 2] {
                    try await environment.time.sleep(until: deadline + late)
                    // Not here: closing the store can block.
                    startWorker { self.update { $0.abandon() } }
                }
            } catch {}  // The store was closed before.
        }
        _ = await wait(for: .closed)
        alarm.cancel()
        close()
    }

    /// How long a use of the store may last after the deadline of a shutdown.
    private static let grace = Duration.milliseconds(100)

    /// Ends delivery and closes the store as soon as nobody uses it. Events without a verdict stay in the store.
    func close() {
        // Delivery ends before the transport is cancelled, so that cancelled attempts don't count as failures.
        update { $0.close() }
        cancelTasks(replacedBy: nil)
    }

    private func cancelTasks(replacedBy new: [Task<Void, Never>]?) {
        let cancelled = tasks.withLock { tasks in
            defer { if tasks != nil { tasks = new } }
            return tasks
        }
        for task in cancelled ?? [] { task.cancel() }
    }

    // MARK: Events

    /// Changes the counts of events that don't go to the store.
    func count(_ change: (inout RouteLedger) -> Void) {
        state.withLock { change(&$0.journal.ledger) }
    }

    /// Stores an event, and counts it.
    ///
    /// - Parameters:
    ///   - line: the event.
    ///   - isNew: whether the event reaches the route now. Otherwise it was counted before.
    /// - Returns: the error of the store, after it was counted; nil if the event was stored.
    func append(_ line: EventLine, isNew: Bool) -> SluiceError? {
        do throws(SluiceError) {
            try store.append(line)
        } catch {
            refused(error, isNew: isNew)
            return error
        }
        update { state in
            if isNew { state.journal.ledger.received += 1 }
            state.appended(line.priority, at: { environment.time.continuousTime() })
        }
        return nil
    }

    /// Counts an event that was not stored.
    func refused(_ error: SluiceError, isNew: Bool) {
        update { state in
            if isNew { state.journal.ledger.received += 1 }
            state.journal.refused(error)
        }
    }

    /// Stores events together.
    ///
    /// - Parameters:
    ///   - lines: the events.
    ///   - areNew: whether the events reach the route now. Otherwise they were counted before.
    func append(contentsOf lines: [EventLine], areNew: Bool) {
        let errors = store.append(contentsOf: lines)
        update { state in
            if areNew { state.journal.ledger.received += lines.count }
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

    func receive(_ signal: Signal) {
        switch signal {
        case .didEnterBackground:
            // The process may be suspended or ended before anything is sent.
            synchronize()
            flushSoon()
        case .connectivity(let connectivity): change { $0.connectivityChanged(connectivity) }
        case .willTerminate: synchronize()
        case .launched, .willResignActive, .didBecomeActive: break
        }
    }

    func setFlushInterval(_ interval: Duration) { change { $0.setFlushInterval(interval) } }

    func expectSuspension(in time: Duration?) {
        let now = environment.time.continuousTime()
        change { $0.expectSuspension(in: time, at: now) }
    }

    /// Cancels the requests in flight. Their batches stay in the store, and are sent again by other workers.
    func cancelSends() {
        change { $0.cancelledSends() }
        cancelTasks(replacedBy: [])
    }

    func setPaused(_ isPaused: Bool) { change { $0.setPaused(isPaused) } }

    private func flushSoon() { change { $0.flushRequested() } }

    private func change(_ body: (inout DeliverySchedule) -> Void) {
        update { $0.change(body) }
    }

    /// Sends all waiting events, and returns when that is done or an attempt has failed.
    func flush() async {
        let backlog = store.backlog
        _ = await withCheckedContinuation { continuation in
            update { state in
                state.wait(
                    for: .init(event: .flushed(upTo: state.flushTarget(backlog)), continuation: continuation))
                state.change { $0.flushRequested() }
            }
        }
    }

    /// Deletes all waiting events, and returns whether all of them are gone.
    func deleteAll() async -> Bool {
        await withCheckedContinuation { continuation in
            update { $0.requestDeletion(.init(event: .deleted, continuation: continuation)) }
        }
    }

    var ledger: RouteLedger {
        // A store that is still in use after a shutdown may hang.
        let current = state.withLock(\.gate.isAbandoned) ? nil : store.backlog
        let lastStatus = transport.lastStatus
        return state.withLock { state in
            var ledger = state.journal.ledger
            let backlog = current ?? state.lastBacklog
            ledger.stored = current.map { $0.events - state.unsettled } ?? ledger.waiting
            ledger.unreadBytes = backlog.unreadBytes
            ledger.deadLetters = backlog.deadLetters
            ledger.lastStatus = lastStatus
            return ledger
        }
    }

    private func synchronize() {
        guard state.withLock({ $0.enterGate() }) else { return }
        synchronizeAtGate()
        update { $0.leaveGate() }
    }

    private func synchronizeAtGate(until end: Duration? = nil) {
        let time = environment.time
        do throws(SluiceError) {
            try store.synchronize(while: {
                state.withLock { $0.gate.isOpen } && end.map { time.continuousTime() < $0 } ?? true
            })
        } catch {
            update { $0.journal.report(.store, "stored events could not be made safe against power loss: \(error)") }
        }
    }

    // MARK: Dead letters

    func deadLetters() throws(SluiceError) -> [DeadLetter] {
        try useStore { store throws(SluiceError) in try store.deadLetters() }
    }

    func replay(where isMatch: (DeadLetter) -> Bool) throws(SluiceError) -> Int {
        try useStore { store throws(SluiceError) in
            try replay(Set(store.deadLetters().filter(isMatch).map(\.id)))
        }
    }

    /// Puts dead letters back. The caller is at the gate.
    func replay(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        update { $0.replaying(ids.count) }
        var count = 0
        defer { update { $0.replayed(count, of: ids.count) } }
        count = try store.replayDeadLetters(ids)
        return count
    }

    func discard(where isMatch: (DeadLetter) -> Bool) throws(SluiceError) -> Int {
        try useStore { store throws(SluiceError) in
            let ids = Set(try store.deadLetters().filter(isMatch).map(\.id))
            let count = try store.discardDeadLetters(ids)
            state.withLock { $0.journal.ledger.droppedDeadLetters.add(count, .deleted) }
            return count
        }
    }

    /// Runs `body` while the store can't be closed.
    ///
    /// - Throws: ``SluiceError/Code/shutDown`` if it is closed already, and the errors of `body`.
    private func useStore<Value>(_ body: (any Store) throws(SluiceError) -> Value) throws(SluiceError) -> Value {
        guard state.withLock({ $0.enterGate() }) else {
            throw SluiceError(.shutDown, "the pipeline was shut down")
        }
        defer { update { $0.leaveGate() } }
        return try body(store)
    }

    // MARK: State

    var accesses: Int { state.withLock(\.accesses) }

    /// Changes the state under the lock, and runs the resulting actions without it.
    @discardableResult
    func update<Value>(_ body: (inout RouteState) -> Value) -> Value {
        let (value, hasActions) = state.withLock { state in
            state.accesses += 1
            return (body(&state), state.hasActions)
        }
        if hasActions { runActions() }
        return value
    }

    // Not inlined for the same reason as RouteState.changed().
    @inline(never)
    private func runActions() {
        let actions = state.withLock { $0.takeActions() }
        for diagnostic in actions.diagnostics { onDiagnostic(diagnostic) }
        for (waiter, value) in actions.waiters { waiter.continuation.resume(returning: value) }
        // Last, because a drive can hang.
        if actions.mustClose {
            store.close()
            update { $0.didClose() }
        }
    }

    /// Starts a task of delivery. In a simulation it has no thread of its own.
    @discardableResult
    func startWorker(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.onOwnThread(hasThreads: environment.hasThreads, body)
    }

    func wait(for event: RouteState.Waiter.Event, inputs: Int? = nil) async -> Bool {
        await withCheckedContinuation { continuation in
            update { $0.wait(for: .init(event: event, continuation: continuation), inputs: inputs) }
        }
    }
}
