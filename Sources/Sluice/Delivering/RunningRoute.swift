/// A ``Route`` at work: the place where an event leaves the caller's thread for the store, and where delivery begins.
final class RunningRoute: Sendable {
    private let store: any Store
    private let transport: any Transport
    private let account: RouteAccount
    private let loop: DeliveryLoop
    // A store that this route did not open may be another pipeline's.
    private let isOpen = Locked(false)

    init(
        _ route: Route, defaultPolicy: DeliveryPolicy, environment: PipelineEnvironment,
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void
    ) throws(SluiceError) {
        guard let store = route.stages.store, let transport = route.stages.transport else {
            throw SluiceError(.invalidPipeline, "the route \"\(route.name)\" lacks a store or a transport")
        }
        self.store = store
        self.transport = transport
        account = RouteAccount(name: route.name, onDiagnostic: onDiagnostic)
        loop = DeliveryLoop(
            store: store, transport: transport, policy: route.delivery ?? defaultPolicy, environment: environment,
            account: account)
    }

    // MARK: Life

    func open() throws(SluiceError) {
        try transport.open()
        try store.open(account.storeObserver)
        isOpen.withLock { $0 = true }
        // What an earlier life left has waited long enough.
        if !store.backlog.isEmpty { loop.requestFlush() }
    }

    func start() {
        loop.start()
    }

    func shutdown(deadline: Duration) async {
        synchronize()
        await loop.stop(deadline: deadline)
        close()
    }

    func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        loop.cancel { [store] in
            if wasOpen { store.close() }
        }
    }

    // MARK: Events

    func received() {
        account.received()
    }

    /// Counts an event that a processor of this route has made.
    func inserted() {
        account.inserted()
    }

    /// Counts events that a processor of this route holds; a negative number if it holds them no longer.
    func held(_ change: Int) {
        account.held(change)
    }

    func dropped(_ reason: DropReason) {
        account.dropped(1, reason)
    }

    /// Whether the store has taken it; if not, it has been counted.
    func append(_ encoded: Result<EventLine, SluiceError>) -> Bool {
        do throws(SluiceError) {
            let line = try encoded.get()
            try store.append(line)
            loop.appended(line.priority)
            return true
        } catch {
            account.refused(error)
            return false
        }
    }

    // MARK: Delivery

    func receive(_ signal: Signal) {
        switch signal {
        case .didEnterBackground: loop.requestFlush()
        case .connectivity(let connectivity): loop.connectivityChanged(connectivity)
        case .willTerminate: synchronize()
        case .launched, .willResignActive, .didBecomeActive: break
        }
    }

    func flush() async {
        await loop.flush()
    }

    func deleteAll() async -> Bool {
        await loop.deleteAll()
    }

    func setFlushInterval(_ interval: Duration) {
        loop.setFlushInterval(interval)
    }

    func setPaused(_ isPaused: Bool) {
        loop.setPaused(isPaused)
    }

    var ledger: RouteLedger {
        var ledger = account.ledger
        ledger.stored = store.backlog.events - loop.unsettled
        ledger.clockSkew = transport.clockSkew
        return ledger
    }

    private func synchronize() {
        do throws(SluiceError) {
            // With the lock held: another shutdown must not close the store meanwhile.
            try isOpen.withLock { isOpen throws(SluiceError) in
                if isOpen { try store.synchronize() }
            }
        } catch {
            account.storeFailed("what is stored could not be made safe against a loss of power", error)
        }
    }
}
