/// Takes events from a host, passes them through processors into stores, and delivers them from there.
///
/// You compose it once. Events pass the stages in the order of your lines:
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
/// There are no singletons: you can have any number of pipelines. A pipeline stops delivering when you release it, after
/// plugins have stored the state that they are writing, for which it waits a second at most. Call
/// ``shutdown(timeout:)`` before the process ends, to send as much as possible. The next process delivers the events
/// that are left in a store on disk.
public final class Pipeline: EventTracking {
    let path: EventPath
    private let ending = ProcessorEnding()
    /// The chain that all routes share.
    let chain: Chain
    let routes: Routes
    /// All states of the processors.
    package let states = StateGate()
    private let life = Locked(AppLife())

    /// Builds the pipeline, opens its stores and transports, and starts delivering the events of earlier processes.
    ///
    /// - Parameters:
    ///   - delivery: The policy of every route that doesn't have its own.
    ///   - isDeliveryPaused: Whether to begin as after ``pauseDelivery()``, even with events of earlier processes.
    ///   - maximumEventBytes: The longest event to store, as a line of JSON: 1 MB by default. Longer ones are dropped.
    ///   - environment: The sources of time and random numbers.
    ///   - onDiagnostic: Called on any thread with messages for your log. Keep it short, and don't call the pipeline
    ///     from it.
    ///   - onTrace: Called with the path of each event, for development: see ``EventTrace``. Nil costs nothing.
    ///   - stages: Processors, a store and a transport; or processors and routes.
    /// - Throws: ``SluiceError`` if `maximumEventBytes` or a policy is invalid, a stage or the name of a route occurs
    ///   twice, or a stage can't be used; and errors of the block itself. Stores that were opened are closed.
    public init(
        delivery: DeliveryPolicy = .standard,
        isDeliveryPaused: Bool = false,
        maximumEventBytes: Int = 1_000_000,
        environment: PipelineEnvironment = PipelineEnvironment(),
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = { _ in },
        onTrace: (@Sendable (EventTrace) -> Void)? = nil,
        @PipelineBuilder _ stages: () throws -> _PipelinePlan
    ) throws {
        let plan = try stages()
        try plan.validate(maximumEventBytes: maximumEventBytes)
        let routes = try plan.routes.map { route in
            try route.runtime(defaultPolicy: delivery, environment: environment, onDiagnostic: onDiagnostic)
        }
        let path = EventPath(
            routes: routes.count, maximumEventBytes: maximumEventBytes, environment: environment,
            onDiagnostic: onDiagnostic, onTrace: onTrace)
        try plan.claimPlaces(for: states)
        chain = plan.chain(to: routes, in: path)
        self.routes = Routes(list: routes, path: path)
        self.path = path
        // If any of this throws, deinit closes what was opened.
        for route in routes { try StateGate.$current.withValue(states) { try route.open() } }
        try chain.prepare(states)
        for chain in chain.all { chain.open() }
        if isDeliveryPaused { pauseDelivery() }
        for route in routes { route.start() }
    }

    deinit {
        if path.isInherited {
            // Releasing processors and stores can take their locks, so they stay as they are until the process ends.
            for chain in chain.all { _ = Unmanaged.passRetained(chain) }
            return
        }
        routes.each { $0.close() }
        // After a shutdown, the state of its plugins is stored.
        if !ending.isOver { states.waitForWrites() }
        // Before the processors are released: another object can get the address of one that is gone.
        states.release()
    }

    // MARK: Tracking

    /// Tracks an event: it gets an id and the current time, passes the processors, and is stored.
    ///
    /// This method never throws, never waits for the network, and accepts any arguments; values that can't be stored
    /// are cut or dropped, and counted in ``ledger``. When it returns, the event is as safe as its stores promise. You
    /// can call it from any thread; the events of one thread keep their order.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties. They take precedence over a plugin's properties of the same name.
    ///   - priority: The event's priority. Critical events are taken from the store first and evicted last.
    ///   - id: An id of your own, such as one that your server has given the event; nil for a new one. Any 128 bits are
    ///     accepted. Receivers deduplicate by the id: they can drop an event with the id of another one. An id that isn't
    ///     a UUID of version 7 doesn't sort by time.
    ///   - configure: Changes the event before the first processor sees it. You can set its time or its user ids, for
    ///     example for an event from a record of the past.
    /// - Returns: The event's id, even if the event was dropped.
    @discardableResult
    public func track(
        _ name: consuming String,
        _ properties: consuming Properties = [:],
        priority: Event.Priority = .normal,
        id: EventID? = nil,
        configure: (inout Event) -> Void = { _ in }
    ) -> EventID {
        chain.track(name, properties, priority, id: id, configure).id
    }

    /// Stores the events that `body` tracks together. Use it for many events, such as records of the past: a store on
    /// disk then needs one write, or one synchronization, for all of them instead of one for each.
    ///
    /// ```swift
    /// pipeline.trackTogether {
    ///     for request in requests { pipeline.track("Request", ["path": request.path]) { $0.time = request.time } }
    /// }
    /// ```
    ///
    /// Each event passes the processors when it is tracked. When this method returns, all events are as safe as the
    /// stores promise, even if `body` throws. Until then, a crash can lose them. Sluice keeps at most 256 KiB of lines in
    /// memory, and stores them earlier if there are more. If the pipeline is shut down before, they are dropped, and counted
    /// when `body` ends.
    ///
    /// Events that plugins make, and events of other threads, are stored immediately, and so are all events if the
    /// pipeline has an `onTrace` closure.
    ///
    /// - Parameter body: Tracks events with this pipeline on the thread that it is called on. If it calls this method
    ///   too, the inner events are stored with the outer ones.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    @discardableResult
    public func trackTogether<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try path.storingTogether(body)
    }

    /// Counts events that were tracked before the pipeline was built, and are lost. For platform adapters.
    package func drop(_ count: Int, _ reason: DropReason) { path.dropUnentered(count, reason) }

    // MARK: The host's platform

    /// Reports a lifecycle or network change to all processors, then to delivery, which sends waiting events when the
    /// app enters the background and when the network is back. Call it from one thread at a time.
    ///
    /// On entering (`launched`, `didBecomeActive`, a network is available), first every processor updates its state, in the
    /// order of the lines, and then they track their events in that order. On leaving (all others), they first track their
    /// events in the reverse order, and then update their states.
    ///
    /// A repeated or late signal is ignored, and a diagnostic reports it: ``Signal`` has the rule.
    ///
    /// - Parameter signal: The change that the platform has reported.
    public func signal(_ signal: Signal) {
        guard path.isOpen else { return }
        if let refusal = life.withLock({ $0.accept(signal) }) { return path.report(.note, refusal) }
        path.storingOneByOne { signal.deliver(to: chain.all.flatMap(\.processors)) }
        routes.each { $0.receive(signal) }
    }

    /// Starts no batch shortly before the system suspends the process: with less than 30 s left, or less than a third
    /// of `time` if that is shorter. For platform adapters.
    ///
    /// - Parameter time: The time that is left; nil if the process won't be suspended. Delivery then repeats cancelled
    ///   requests.
    package func expectSuspension(in time: Duration?) { routes.each { $0.expectSuspension(in: time) } }

    /// Cancels all requests in flight before a suspension. Their batches are sent later. For platform adapters.
    package func suspendDelivery() { routes.each { $0.cancelSends() } }

    // MARK: Delivery

    /// Sends all waiting events now, whatever the counts and intervals say, and returns when that has succeeded or
    /// failed. Events that are tracked during the flush can delay it by at most one batch. While critical events arrive
    /// faster than they are sent, it lasts until none of them waits. The result doesn't count later events.
    ///
    /// ```swift
    /// let report = await pipeline.flush(timeout: .seconds(3))
    /// if !report.isComplete { print("\(report.waiting) events still wait") }
    /// ```
    ///
    /// - Parameter timeout: The longest time to wait, by the continuous clock. Sending goes on after it. Nil: no limit.
    /// - Returns: The results of all routes. In a transport's own `send`, its route isn't awaited: a diagnostic says so.
    @discardableResult
    public func flush(timeout: Duration? = nil) async -> FlushReport {
        let end = timeout.map { path.environment.time.continuousTime() + min(max(.zero, $0), DeliveryPolicy.longest) }
        return await routes.combine(FlushReport(), +) { await $0.flush(until: end) }
    }

    // MARK: Dead letters

    /// Returns the dead letters, oldest first: events that the receiver rejected.
    ///
    /// ```swift
    /// for letter in try await pipeline.deadLetters() {
    ///     print(letter.date, letter.reason, try letter.event().name)
    /// }
    /// ```
    ///
    /// - Parameter route: The name of a route; nil for all routes.
    /// - Returns: The dead letters in the stores, of this process and of earlier ones.
    /// - Throws: ``SluiceError/Code/shutDown`` after a shutdown, or an error if a store can't be read.
    public func deadLetters(route: String? = nil) async throws(SluiceError) -> [DeadLetter] {
        var letters: [DeadLetter] = []
        for route in try routes.named(route) { letters += try await route.deadLetters() }
        return letters
    }

    /// Turns dead letters back into waiting events, and delivers them once more.
    ///
    /// ```swift
    /// try await pipeline.replayDeadLetters { $0.reason.contains("HTTP 400") }
    /// ```
    ///
    /// - Parameters:
    ///   - route: The name of a route; nil for all routes.
    ///   - isMatch: Selects the dead letters. All of them by default.
    /// - Returns: The number of dead letters that are waiting events now.
    /// - Throws: ``SluiceError/Code/shutDown`` after a shutdown, or an error if a store can't be read or written.
    @discardableResult
    public func replayDeadLetters(
        route: String? = nil, where isMatch: @escaping @Sendable (DeadLetter) -> Bool = { _ in true }
    ) async throws(SluiceError) -> Int {
        try await routes.sum(route) { route throws(SluiceError) in try await route.replayDeadLetters(where: isMatch) }
    }

    /// Deletes dead letters for good.
    ///
    /// ```swift
    /// try await pipeline.discardDeadLetters { $0.reason.contains("HTTP 410") }
    /// ```
    ///
    /// - Parameters:
    ///   - route: The name of a route; nil for all routes.
    ///   - isMatch: Selects the dead letters.
    /// - Returns: The number of deleted dead letters.
    /// - Throws: ``SluiceError/Code/shutDown`` after a shutdown, or an error if a store can't be read or written.
    @discardableResult
    public func discardDeadLetters(
        route: String? = nil, where isMatch: @escaping @Sendable (DeadLetter) -> Bool
    ) async throws(SluiceError) -> Int {
        try await routes.sum(route) { route throws(SluiceError) in try await route.discardDeadLetters(where: isMatch) }
    }

    /// Changes the triggers of all routes at run time, and sends the waiting events.
    ///
    /// ```swift
    /// pipeline.setFlush(count: 500, interval: .seconds(60))
    /// ```
    ///
    /// - Parameters:
    ///   - count: The number of waiting events that starts a delivery pass, at least 1. Nil keeps each route's own.
    ///   - interval: The longest time that an event waits. It is clamped to each policy's
    ///     ``DeliveryPolicy/flushIntervals``. Nil keeps each route's own.
    public func setFlush(count: Int? = nil, interval: Duration? = nil) {
        routes.each { $0.setFlush(count: count, interval: interval) }
    }

    /// Stops sending until you call ``resumeDelivery()``, for example during a call. Events are still stored.
    public func pauseDelivery() { routes.each { $0.setPaused(true) } }

    /// Ends the pause that began with ``pauseDelivery()``, and goes on sending.
    public func resumeDelivery() { routes.each { $0.setPaused(false) } }

    /// Ends the pipeline: lets the processors finish for at most half of the time, accepts no more events, makes the stored
    /// ones safe against a loss of power for at most half of the rest, sends them, and closes the stores. The next process
    /// delivers the events that are left in a store on disk.
    ///
    /// Events that a processor tracks in ``Processor/finish()`` are sent too. When this method returns, the state of
    /// processors is stored, unless a diagnostic says that one didn't finish in time. Later events are dropped and counted.
    /// A call after the end returns immediately. Of several calls at the same time, the one with the least time decides.
    ///
    /// This method returns in time even if a transport hangs, and 100 to 200 ms later if a disk hangs; the ledger then has
    /// the route's own counts instead of the store's. Before macOS 15 and iOS 18, transports and disks that block as many
    /// threads as the device has cores delay it.
    ///
    /// ```swift
    /// let ledger = await pipeline.shutdown(timeout: .seconds(3))
    /// print(ledger)
    /// ```
    ///
    /// - Parameter timeout: The longest time, at most a year. Nil: 5 s, or less if the last attempt got no response, and two in a
    ///   row have failed or, if the receiver has accepted events before, twelve.
    /// - Returns: The final ledger.
    @discardableResult
    public func shutdown(timeout: Duration? = nil) async -> Ledger {
        if path.isInherited { return ledger }
        let time = min(max(.zero, timeout ?? .seconds(5)), DeliveryPolicy.longest)
        let end = path.environment.time.continuousTime() + time
        await ending.run(chain.all.map(\.processors), within: time / 2, path)
        path.close()
        await routes.combine((), { _, _ in }) {
            await $0.shutdown(until: end, isShort: timeout == nil)
        }
        states.release()
        return await routes.ledgerWithStores()
    }

    /// The counts of all events so far.
    ///
    /// ```swift
    /// print(pipeline.ledger)
    /// // 120 tracked
    /// // main: 118 delivered, 2 waiting
    /// ```
    ///
    /// You can read it in any task. The ledger of ``shutdown(timeout:)`` compares the counts with the stores'.
    public var ledger: Ledger { routes.ledger() }
}
