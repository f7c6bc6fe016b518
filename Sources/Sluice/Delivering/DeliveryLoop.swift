/// The one task of a route that takes batches from its store to its transport.
///
/// All state is in one lock; the task waits outside of it. It is woken by appends that bring the next send nearer, by
/// requests of the host, and by time.
final class DeliveryLoop: Sendable {
    struct State {
        var machine: DeliveryMachine
        /// What was taken from the store. It stays here through back-off, so that its delivered part is not sent again.
        var underway = Underway()
        /// One at most. An array, because to hand on an empty one costs nothing, and every append does.
        var sleepers: [CheckedContinuation<Void, Never>] = []
        var isWoken = false
        /// There is room for another batch beside those in flight, and nothing to put there.
        var wantsMore = false
        /// Counts the inputs, so that a look at the store can be known to be out of date.
        var inputs = 0
        /// Events that were delivered or rejected, of all batches.
        var resolved = 0
        var flushes = Flushes()
        /// Those who wait for everything to be deleted.
        var deletions: [CheckedContinuation<Bool, Never>] = []
        var stoppers: [CheckedContinuation<Void, Never>] = []
        /// Nothing is begun any more, neither with the store nor with the transport.
        var isStopped = false
        /// The loop is at work with the store, and must be let finish before the store is closed.
        var isAtStore = false
        /// What came of parts, and is still to be taken in.
        var landings: [Flight.Landing] = []
        /// The tasks of parts on their way, where there may be several.
        var flights: [Batch.ID: Task<Void, Never>] = [:]
        var closers: [@Sendable () -> Void] = []
        var task: Task<Void, Never>?
    }

    let store: any Store
    let transport: any Transport
    let batchSize: BatchSize
    let maximumFlights: Int
    let environment: PipelineEnvironment
    let account: RouteAccount
    let state: Locked<State>

    init(
        store: any Store, transport: any Transport, policy: DeliveryPolicy, environment: PipelineEnvironment,
        account: RouteAccount
    ) {
        self.store = store
        self.transport = transport
        self.environment = environment
        self.account = account
        let policy = policy.withinRanges
        maximumFlights = policy.maximumBatchesInFlight
        let maximum = transport.maximumBatchSize
        batchSize = BatchSize(
            events: min(policy.batch.events, maximum.events), bytes: min(policy.batch.bytes, maximum.bytes))
        state = Locked(State(machine: DeliveryMachine(policy: policy)))
    }

    func start() {
        // Detached: the loop must not keep and send on the task-locals of whoever happens to build a pipeline.
        let task = Task.detached { await self.run() }
        state.withLock { $0.task = task }
    }

    /// Events that are delivered or rejected, though the store still holds them.
    var unsettled: Int {
        state.withLock(\.underway.unsettled)
    }

    // MARK: Inputs

    func appended(_ priority: Event.Priority) {
        update { state in
            let isNews = state.machine.appended(priority, at: { environment.time.continuousTime() })
            return isNews || state.wantsMore
        }
    }

    /// Starts sending what waits, and returns at once.
    func requestFlush() {
        update {
            $0.machine.flushRequested()
            return true
        }
    }

    func connectivityChanged(_ connectivity: Signal.Connectivity) {
        update {
            $0.machine.connectivityChanged(connectivity)
            return true
        }
    }

    func setFlushInterval(_ interval: Duration) {
        update {
            $0.machine.setFlushInterval(interval)
            return true
        }
    }

    func setPaused(_ isPaused: Bool) {
        update {
            $0.machine.setPaused(isPaused)
            return true
        }
    }

    /// Sends what waits now, and returns when that is done or a send has failed.
    func flush() async {
        let backlog = store.backlog
        await withCheckedContinuation { continuation in
            var isStopped = false
            update { state in
                isStopped = state.isStopped
                guard !isStopped else { return false }
                // How many events an earlier life left unread is not known: then only an empty store will do.
                let target =
                    backlog.unreadBytes > 0 ? Int.max : state.resolved - state.underway.unsettled + backlog.events
                state.flushes.append(target: target, continuation)
                state.machine.flushRequested()
                return true
            }
            if isStopped { continuation.resume() }
        }
    }

    /// Drains until nothing waits or `deadline` of the continuous clock has come, and returns then, whatever the
    /// transport does. The loop touches the store no more after that.
    func stop(deadline: Duration) async {
        update {
            $0.machine.stopRequested(deadline: deadline)
            return true
        }
        let alarm = Task { [environment] in
            do {
                try await environment.time.sleep(until: deadline)
            } catch {
                return
            }
            self.cancel()
        }
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                let hasEnded = state.isStopped && !state.isAtStore
                if !hasEnded { state.stoppers.append(continuation) }
                return hasEnded
            }
            if hasEnded { continuation.resume() }
        }
        alarm.cancel()
    }

    /// Ends the loop at once; what is under way stays in the store.
    ///
    /// - Parameter close: called when the loop touches the store no more, which is at once unless it is just then
    ///   taking or settling a batch.
    func cancel(then close: @escaping @Sendable () -> Void = {}) {
        let tasks = state.withLock { state in
            state.machine.stopNow()
            // Before the transport learns of it: the error of a cancelled send is no failure to be counted.
            state.isStopped = true
            state.closers.append(close)
            return Array(state.flights.values) + [state.task].compactMap(\.self)
        }
        for task in tasks { task.cancel() }
        finishIfStopped()
    }

    func update(_ change: (inout State) -> Bool) {
        let sleepers: [CheckedContinuation<Void, Never>] = state.withLock { state in
            state.inputs += 1
            guard change(&state) else { return [] }
            state.isWoken = true
            defer { state.sleepers = [] }
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.resume() }
    }

    // MARK: The loop

    private func run() async {
        while true {
            let (inputs, landing) = state.withLock { state in
                state.isWoken = false
                return (state.inputs, state.landings.isEmpty ? nil : state.landings.removeFirst())
            }
            if let landing {
                take(landing)
                continue
            }
            if await deleteIfRequested() { continue }
            let isStoreEmpty = store.backlog.isEmpty
            let now = environment.time.continuousTime()
            let decision: DeliveryMachine.Decision? = state.withLock { state in
                let hasBacklog = !isStoreEmpty || !state.underway.isEmpty
                // What was appended after the look at the store must not be overlooked.
                guard hasBacklog || state.inputs == inputs else { return nil }
                let decision = state.machine.decision(at: now, hasBacklog: hasBacklog)
                if decision == .stop { state.isStopped = true }
                if decision == .send { state.isAtStore = true }
                return decision
            }
            switch decision {
            case nil: continue
            case .stop: return finishIfStopped()
            case .send: await send(knowing: inputs)
            case .wait(let deadline):
                endFlushes { $0.isWoken || $0.underway.flights > 0 ? [] : $0.flushes.takeAll() }
                await wait(until: deadline)
            }
        }
    }

    func wait(until deadline: Duration?) async {
        let alarm = deadline.map { deadline in
            Task { [environment] in
                do {
                    try await environment.time.sleep(until: deadline)
                } catch {
                    return
                }
                self.update { _ in true }
            }
        }
        await withCheckedContinuation { continuation in
            let isWoken = state.withLock { state in
                let isWoken = state.isWoken || state.isStopped
                if !isWoken { state.sleepers = [continuation] }
                return isWoken
            }
            if isWoken { continuation.resume() }
        }
        alarm?.cancel()
    }

    func endFlushes(_ take: (inout State) -> [CheckedContinuation<Void, Never>]) {
        for continuation in state.withLock(take) { continuation.resume() }
    }

    /// - Returns: whether to go on; else the loop was stopped meanwhile.
    @discardableResult
    func leaveStore() -> Bool {
        let isStopped = state.withLock { state in
            state.isAtStore = false
            return state.isStopped
        }
        account.reportDrops()
        if isStopped { finishIfStopped() }
        return !isStopped
    }

    /// Once the loop has been stopped and is not at the store: lets the store be closed, and wakes all who wait.
    private func finishIfStopped() {
        var closers: [@Sendable () -> Void] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
        var deletions: [CheckedContinuation<Bool, Never>] = []
        state.withLock { state in
            guard state.isStopped, !state.isAtStore else { return }
            swap(&closers, &state.closers)
            waiting = state.stoppers + state.flushes.takeAll() + state.sleepers
            swap(&deletions, &state.deletions)
            state.stoppers = []
            state.sleepers = []
        }
        for close in closers { close() }
        for continuation in waiting { continuation.resume() }
        for continuation in deletions { continuation.resume(returning: false) }
    }
}
