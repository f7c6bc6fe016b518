/// The synchronous half of a pipeline: it takes an event from `track` through the processors into the stores, on the
/// caller's thread.
final class EventPath: Sendable {
    private struct State {
        var isOpen = true
        var ids = EventIDGenerator()
        var ledger = Ledger()
        /// The encoding errors that were reported, at most ``EventPath/maximumEncodingErrors``.
        var encodingErrors: Set<String> = []
    }

    private static let maximumEncodingErrors = 100

    /// The processors of a route, and the route that they lead to.
    private final class Branch: Sendable {
        let chain: UInt32
        let stages: Stage?
        let route: RouteRuntime

        init(_ processors: [any Processor], _ route: RouteRuntime) {
            chain = EventPath.nextChain()
            stages = Stage(processors)
            self.route = route
        }
    }

    /// The last number that a chain of processors got. An event carries the number of the chain that it passes.
    private static let lastChain = Locked<UInt32>(0)

    let environment: PipelineEnvironment
    private let maximumEventBytes: Int
    private let onDiagnostic: @Sendable (Diagnostic) -> Void
    /// All processors and their places, those of the routes last.
    private let lines: [(processor: any Processor, chain: UInt32, index: Int)]
    private let chain: UInt32
    private let stages: Stage?
    private let branches: [Branch]
    private let state = Locked(State())

    init(
        _ plan: _PipelinePlan, _ routes: [RouteRuntime], maximumEventBytes: Int, environment: PipelineEnvironment,
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void
    ) {
        self.maximumEventBytes = maximumEventBytes
        self.environment = environment
        self.onDiagnostic = onDiagnostic
        let chain = EventPath.nextChain()
        self.chain = chain
        stages = Stage(plan.processors)
        branches = zip(plan.routes, routes).map { Branch($0.stages.processors, $1) }
        lines =
            plan.processors.enumerated().map { ($1, chain, $0) }
            + zip(plan.routes, branches).flatMap { route, branch in
                route.stages.processors.enumerated().map { ($1, branch.chain, $0) }
            }
    }

    private static func nextChain() -> UInt32 {
        lastChain.withLock { last in
            last += 1
            return last
        }
    }

    /// Connects and prepares each processor.
    ///
    /// - Throws: the first error of a processor, with the name of its type.
    func prepare() throws(SluiceError) {
        for (processor, chain, index) in lines {
            let context = processor.context as? PluginContext
            context?.bind(to: self, chain, index, named: "\(type(of: processor))")
            do {
                try processor.prepare()
            } catch {
                throw SluiceError(error, from: processor)
            }
        }
    }

    // MARK: Entering

    /// - Returns: the event's id, and whether at least one route has stored the event. The id is `id`, unless that is nil or
    ///   `configure` replaces the event.
    func track(
        _ name: consuming String, _ properties: consuming Properties, _ priority: Event.Priority, id: EventID?,
        _ configure: (inout Event) -> Void
    ) -> (id: EventID, isStored: Bool) {
        let time = environment.time.wallTime()
        let (isOpen, id) = state.withLock { state in
            state.ledger.tracked += 1
            return (state.isOpen, id ?? state.ids.next(at: time, random: environment.random))
        }
        guard isOpen else { return (id, drop(.shutDown)) }
        var event = Event(id: id, name: name, time: time, priority: priority, properties: properties)
        configure(&event)
        event.chain = chain
        let isStored = pass(&event, through: stages)
        return (event.id, isStored)
    }

    /// Makes a new event, which enters below a stage of the chain that `event` passes.
    func insert(
        _ name: String, _ properties: Properties, _ priority: Event.Priority, before event: Event, below index: Int,
        _ configure: (inout Event) -> Void
    ) -> Bool {
        let time = environment.time.wallTime()
        let branch = branch(of: event)
        let (isOpen, id) = state.withLock { state in
            if branch == nil { state.ledger.tracked += 1 }
            return (state.isOpen, state.ids.next(at: time, random: environment.random))
        }
        var new = Event(
            id: id, name: name, time: time, priority: priority, distinctID: event.distinctID,
            anonymousID: event.anonymousID, loginID: event.loginID, properties: properties)
        configure(&new)
        new.chain = event.chain
        branch?.route.count {
            $0.received += 1
            $0.inserted += 1
        }
        return proceed(new, in: branch, below: index, isOpen)
    }

    /// Lets an event continue below a stage: one that was held there, or one that the plugin has made itself.
    func forward(_ event: Event, below index: Int) -> Bool {
        let branch = branch(of: event)
        let isOpen = state.withLock { state in
            if branch == nil { state.ledger.held -= 1 }
            return state.isOpen
        }
        branch?.route.count { $0.held -= 1 }
        return proceed(event, in: branch, below: index, isOpen)
    }

    /// Ends an event that was held.
    func drop(_ event: Event, _ reason: DropReason) {
        if let branch = branch(of: event) {
            branch.route.count {
                $0.held -= 1
                $0.dropped.add(1, reason)
            }
        } else {
            state.withLock { $0.ledger.held -= 1 }
            _ = drop(reason)
        }
    }

    private func branch(of event: Event) -> Branch? {
        event.chain == chain ? nil : branches.first { $0.chain == event.chain }
    }

    private func proceed(_ event: Event, in branch: Branch?, below index: Int, _ isOpen: Bool) -> Bool {
        var event = event
        guard let branch else {
            return isOpen ? pass(&event, through: stages?.below(index)) : drop(.shutDown)
        }
        if isOpen { return pass(&event, through: branch.stages?.below(index), to: branch.route) }
        branch.route.count { $0.dropped.add(1, .shutDown) }
        return false
    }

    // MARK: Passing

    /// Lets an event pass the rest of the shared processors, and all routes.
    private func pass(_ event: inout Event, through stage: Stage?) -> Bool {
        switch stage?.process(&event) ?? .keep {
        case .keep: break
        case .drop(let reason): return drop(reason)
        case .hold:
            state.withLock { $0.ledger.held += 1 }
            return false
        }
        countSanitizations(of: &event)
        guard !event.name.isEmpty else { return drop(.emptyName) }
        var isStored = false
        // The routes that leave the event as it is share one line.
        var sharedLine: Result<EventLine, SluiceError>?
        for branch in branches {
            if let stages = branch.stages {
                branch.route.count { $0.received += 1 }
                var own = event
                own.chain = branch.chain
                if pass(&own, through: stages, to: branch.route) { isStored = true }
            } else {
                let line = sharedLine ?? encode(event)
                sharedLine = line
                if branch.route.append(line) { isStored = true }
            }
        }
        return isStored
    }

    /// Lets an event pass the rest of a route's processors, and stores it.
    private func pass(_ event: inout Event, through stage: Stage?, to route: RouteRuntime) -> Bool {
        switch stage?.process(&event) ?? .keep {
        case .keep: break
        case .drop(let reason):
            route.count { $0.dropped.add(1, reason) }
            return false
        case .hold:
            route.count { $0.held += 1 }
            return false
        }
        guard !event.name.isEmpty else {
            route.count { $0.dropped.add(1, .emptyName) }
            return false
        }
        countSanitizations(of: &event)
        return route.append(encode(event), isNew: false)
    }

    private func encode(_ event: Event) -> Result<EventLine, SluiceError> {
        do throws(SluiceError) {
            return .success(try EventLine(event, limit: maximumEventBytes))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Counting

    /// - Returns: false, because the event is not stored.
    private func drop(_ reason: DropReason) -> Bool {
        let isFirst = state.withLock { state in
            state.ledger.dropped.add(1, reason)
            return state.ledger.dropped[reason] == 1
        }
        // Any other reason comes from a processor whose task is to drop events.
        if isFirst, reason == .emptyName || reason == .shutDown {
            report(.dropped, "events are dropped: \(reason.rawValue) (reported once)")
        }
        return false
    }

    private func countSanitizations(of event: inout Event) {
        guard let causes = event.takeSanitizations() else { return }
        state.withLock { state in
            for cause in causes { state.ledger.sanitized[cause, default: 0] += 1 }
        }
        if causes.contains(.unencodable) { reportEncodingError(of: event) }
    }

    /// Reports each error once.
    private func reportEncodingError(of event: Event) {
        let error = event.properties[encodingErrorName]?.string ?? "an unknown error"
        let message = "\(event.name) was stored without its properties (reported once): \(error)"
        let isNew = state.withLock { state in
            state.encodingErrors.count < EventPath.maximumEncodingErrors
                && state.encodingErrors.insert(message).inserted
        }
        if isNew { report(.encoding, message) }
    }

    /// The ledger without its routes.
    var ledger: Ledger { state.withLock(\.ledger) }

    func report(_ kind: Diagnostic.Kind, _ message: String) {
        onDiagnostic(Diagnostic(kind: kind, route: "", message: message))
    }

    // MARK: Signals and the end

    /// Gives a signal to all processors, in two passes. On entering, first every processor updates its state, then they
    /// track their events. On leaving, it is the other way round and from the last line to the first.
    func receive(_ signal: Signal) {
        if signal.isLeaving {
            for line in lines.reversed() { line.processor.emit(for: signal) }
            for line in lines { line.processor.update(for: signal) }
        } else {
            for line in lines { line.processor.update(for: signal) }
            for line in lines { line.processor.emit(for: signal) }
        }
    }

    func close() {
        state.withLock { $0.isOpen = false }
    }
}
