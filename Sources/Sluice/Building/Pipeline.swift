/// Takes events from a host, passes them through processors into stores, and delivers them from there.
///
/// It is composed once, from lines whose order is the order in which events pass:
///
/// ```swift
/// let pipeline = try Pipeline {
///     AutoProperties()
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// pipeline.track("Purchase", ["amount": 12.5, "sku": "A-7"])
/// ```
///
/// There are no singletons: a host may have any number of pipelines. A pipeline that is let go stops delivering;
/// what a store on disk holds is delivered by the next life. Call ``shutdown(deadline:)`` before the process ends,
/// to send what can still be sent.
public final class Pipeline: Sendable {
    private let path: EventPath
    private let routes: [RouteRuntime]
    private let environment: PipelineEnvironment

    /// Builds the pipeline, opens its stores and transports, and starts delivering what earlier lives left.
    ///
    /// - Parameters:
    ///   - delivery: the policy of every route that has none of its own.
    ///   - maximumEventBytes: the longest event, as a line of JSON, that is stored; longer ones are dropped and
    ///     counted. 1 MB by default.
    ///   - environment: the sources of time and randomness.
    ///   - onDiagnostic: called, on any thread, with what a developer may want to see in a log. Keep it short, and
    ///     do not call the pipeline from it.
    ///   - stages: processors, a store and a transport; or processors and routes.
    /// - Throws: ``SluiceError`` if `maximumEventBytes` is less than 1, a stage is listed twice, a route's name is used
    ///   twice, or a stage cannot be used; and what the block itself throws. Everything that had been opened is closed
    ///   again.
    public init(
        delivery: DeliveryPolicy = .standard,
        maximumEventBytes: Int = 1_000_000,
        environment: PipelineEnvironment = PipelineEnvironment(),
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = { _ in },
        @PipelineBuilder _ stages: () throws -> _PipelinePlan
    ) throws {
        guard maximumEventBytes > 0 else {
            throw SluiceError(.invalidArgument, "maximumEventBytes must be 1 or more, and is \(maximumEventBytes)")
        }
        let plan = try stages()
        try plan.validate()
        self.environment = environment
        let routes = try plan.routes.map { route in
            try RouteRuntime(route, defaultPolicy: delivery, environment: environment, onDiagnostic: onDiagnostic)
        }
        self.routes = routes
        path = EventPath(
            plan, routes, maximumEventBytes: maximumEventBytes, environment: environment, onDiagnostic: onDiagnostic)
        // If any of this throws, deinit closes what was opened.
        for route in routes { try route.open() }
        try path.prepare()
        for route in routes { route.start() }
    }

    deinit {
        for route in routes { route.close() }
    }

    // MARK: Tracking

    /// Tracks an event: it gets an id and the current time, passes the processors, and is stored.
    ///
    /// This method never throws, never waits for the network, and accepts any arguments; values that can't be stored are cut
    /// or dropped, and counted in ``ledger``. When it returns, the event is as safe as its stores promise. You can call it
    /// from any thread; the events of one thread keep their order.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties. They take precedence over a plugin's properties of the same name.
    ///   - priority: The event's priority. Critical events are sent first and evicted last.
    ///   - configure: Changes the event before the first processor sees it. You can set its time or its user ids, for example
    ///     for an event from a record of the past.
    public func track(
        _ name: consuming String,
        _ properties: consuming Properties = [:],
        priority: Event.Priority = .normal,
        configure: (inout Event) -> Void = { _ in }
    ) {
        _ = path.track(name, properties, priority, configure)
    }

    // MARK: The host's platform

    /// Reports a lifecycle or network change to all processors, then to delivery, which sends waiting events when the app
    /// enters the background and when the network is back. Call it from one thread at a time.
    ///
    /// Signals are delivered in two passes. On entering (`launched`, `didBecomeActive`, a network is available), first
    /// every processor updates its state, in the order of the lines, and then they track their events in that order. On
    /// leaving (all others), they first track their events in the reverse order, and then update their states.
    ///
    /// - Parameter signal: The change that the platform has reported.
    public func signal(_ signal: Signal) {
        path.receive(signal)
        for route in routes { route.receive(signal) }
    }

    // MARK: Delivery

    /// Sends what waits now, without regard to counts and intervals, and returns when that is done or has failed.
    ///
    /// - Returns: what happened meanwhile, in all routes together.
    @discardableResult
    public func flush() async -> FlushReport {
        let before = ledger
        await withTaskGroup(of: Void.self) { group in
            for route in routes { group.addTask { await route.flush() } }
        }
        return FlushReport(from: before, to: ledger)
    }

    /// Forgets all events that wait, in all routes, and returns when that is done. They are counted as
    /// ``DropReason/deleted``. What is being sent at that moment is waited for, and may arrive; dead letters stay.
    ///
    /// - Returns: whether all that waited before the call is gone. It is not if the pipeline is shut down, or was
    ///   meanwhile, or if a store could not read or remove something, of which the diagnostics tell: ask again, in the next
    ///   life. Of what was evicted or had expired, and could not be removed, only the diagnostics tell.
    @discardableResult
    public func deleteAll() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for route in routes { group.addTask { await route.deleteAll() } }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    // MARK: Dead letters

    /// Returns the dead letters, oldest first: events that the receiver rejected.
    ///
    /// - Parameter route: the name of a route; nil for all routes.
    /// - Throws: ``SluiceError/Code/shutDown`` after a shutdown, or an error if a store can't be read.
    public func deadLetters(route: String? = nil) async throws -> [DeadLetter] {
        try named(route).flatMap { try $0.deadLetters() }
    }

    /// Turns dead letters back into waiting events, and delivers them again.
    ///
    /// - Parameters:
    ///   - route: the name of a route; nil for all routes.
    ///   - isMatch: selects the dead letters. All of them by default.
    /// - Returns: the number of events that wait again.
    /// - Throws: ``SluiceError/Code/shutDown`` after a shutdown, or an error if a store can't be read or written.
    @discardableResult
    public func replay(
        route: String? = nil, where isMatch: (DeadLetter) -> Bool = { _ in true }
    ) async throws -> Int {
        try named(route).reduce(0) { try $0 + $1.replay(where: isMatch) }
    }

    /// Deletes dead letters for good.
    ///
    /// - Parameters:
    ///   - route: the name of a route; nil for all routes.
    ///   - isMatch: selects the dead letters. All of them by default.
    /// - Returns: the number of deleted dead letters.
    /// - Throws: ``SluiceError/Code/shutDown`` after a shutdown, or an error if a store can't be read or written.
    @discardableResult
    public func discard(
        route: String? = nil, where isMatch: (DeadLetter) -> Bool = { _ in true }
    ) async throws -> Int {
        try named(route).reduce(0) { try $0 + $1.discard(where: isMatch) }
    }

    private func named(_ name: String?) throws(SluiceError) -> [RouteRuntime] {
        guard let name else { return routes }
        let named = routes.filter { $0.name == name }
        guard !named.isEmpty else { throw SluiceError(.invalidArgument, "there is no route named \"\(name)\"") }
        return named
    }

    /// Changes how long an event waits at most in any route, sends what waits, and begins to count anew.
    ///
    /// - Parameter interval: moved into what each route's policy allows: 5 s to a year by default.
    public func setFlushInterval(_ interval: Duration) {
        for route in routes { route.setFlushInterval(interval) }
    }

    /// Stops sending until ``resumeDelivery()``; events are stored as before.
    public func pauseDelivery() {
        for route in routes { route.setPaused(true) }
    }

    public func resumeDelivery() {
        for route in routes { route.setPaused(false) }
    }

    /// Ends the pipeline: takes no more events, makes stored ones safe, sends until nothing waits or the deadline has
    /// come, and closes the stores. What could not be sent stays in a store on disk for the next life.
    ///
    /// It returns by the deadline even if a transport hangs. Later events are dropped and counted; a second call
    /// returns at once.
    ///
    /// - Parameter deadline: the longest time to wait, by the continuous clock; a year at most.
    /// - Returns: the final ledger.
    @discardableResult
    public func shutdown(deadline: Duration = .seconds(5)) async -> Ledger {
        path.close()
        let end = environment.time.continuousTime() + min(max(.zero, deadline), DeliveryPolicy.longest)
        await withTaskGroup(of: Void.self) { group in
            for route in routes { group.addTask { await route.shutdown(deadline: end) } }
        }
        return ledger
    }

    /// What became of every event so far.
    public var ledger: Ledger {
        var ledger = path.ledger
        ledger.routes = routes.map(\.ledger)
        return ledger
    }
}

/// What a ``Pipeline/flush()`` achieved, in all routes together.
public struct FlushReport: Sendable, Hashable {
    /// Events that receivers took while the flush went on.
    public let delivered: Int
    /// Events that receivers refused for good.
    public let rejected: Int
    /// Events that wait when the flush ends.
    public let waiting: Int

    init(from before: Ledger, to after: Ledger) {
        func sum(_ count: (RouteLedger) -> Int, _ ledger: Ledger) -> Int {
            ledger.routes.reduce(0) { $0 + count($1) }
        }
        delivered = sum(\.delivered, after) - sum(\.delivered, before)
        rejected = sum(\.rejected, after) - sum(\.rejected, before)
        waiting = sum(\.waiting, after)
    }
}
