/// A plugin's connection to its place in a pipeline: to make events, to read the clocks, and to report failures.
///
/// Declare one as a property of your processor. The pipeline connects it when it is built:
///
/// ```swift
/// final class Greeter: Processor {
///     let context = PluginContext()
///
///     func process(_ event: inout Event) -> Disposition { .keep }
///
///     func emit(for signal: Signal) {
///         if signal == .didBecomeActive { context.track("Hello") }
///     }
/// }
/// ```
///
/// A plugin stands at one place: in the processors that all routes share, or in one route. Its events never leave that
/// chain. The context doesn't keep the pipeline alive. Don't call it with a lock held that `process` takes, except for
/// ``hold(_:)``: events come back through your plugin.
public final class PluginContext: Sendable {
    /// The plugin's calls and events from before its pipeline was built.
    struct Early {
        /// The calls with their numbers, which ascend in all plugins.
        var calls: [(number: Int, enter: @Sendable (Chain) -> Void)] = []
        fileprivate var messages: [String] = []
    }

    private static let maximumEvents = 1_000
    private static let maximumMessages = 10
    private static let maximumDepth = 8
    /// The number of the last early call. The ids of events can't be the numbers, because the clock can be set back.
    private static let lastCall = Locked(0)
    /// How many calls of ``track(_:_:priority:configure:)-(_,Properties,_,_)`` the current one is nested in.
    @TaskLocal private static var depth = 0

    /// The clocks and random numbers of new contexts until their pipeline is built.
    @TaskLocal package static var environment = PipelineEnvironment()

    let place = Published(Place(nil, 0, environment, isOpen: false))
    /// Nil when the pipeline is built.
    private let early = Locked<Early?>(Early())
    /// The number of the last change of the user. Early calls before it are another user's.
    private let lastUserChange = Locked(0)
    let held = Locked(Held())

    /// Creates a context that is not connected to a pipeline yet.
    ///
    /// ```swift
    /// let context = PluginContext()
    /// ```
    public init() {}

    func bind(to chain: Chain, _ index: Int) {
        held.withLock { held in
            place.replace(with: Place(chain, index, chain.path.environment, isOpen: false))
            chain.adopt(held.count)
        }
        let messages = early.withLock { early in
            // Nil after an earlier pipeline.
            let known = early ?? Early()
            early = Early(calls: known.calls)
            return known.messages
        }
        for message in messages { chain.report(message, by: index) }
    }

    /// Ends the time before the pipeline, whose processors are prepared.
    ///
    /// - Returns: the calls, and the events that were lost without a pipeline.
    func open() -> (early: Early, lost: [DropReason: Int]) {
        let place = place.value
        self.place.replace(with: Place(place.chain, place.index, place.environment, isOpen: true))
        let known = early.withLock { $0.take() } ?? Early()
        for message in known.messages { report(message) }
        return (known, held.withLock { exchange(&$0.lost, with: [:]) })
    }

    // MARK: Events

    /// Whether the pipeline is built. Until then, events of the plugin wait in the context.
    package var isOpen: Bool { place.value.isOpen }

    /// Tracks an event that passes all processors of the plugin's chain. That is either the chain that all routes
    /// share, and then all routes, or the chain of the plugin's route.
    ///
    /// ```swift
    /// let isStored = context.track("Refreshed", ["count": 3])
    /// ```
    ///
    /// You can call this before the pipeline is built. The context keeps the event, with its id and its time, and the event
    /// enters the chain when all processors are prepared. Events of several plugins keep the order of the calls. The ones
    /// that plugins track in ``Processor/prepare()``, such as the end of an earlier launch, come first. At most 1,000
    /// events are kept. More are counted as ``DropReason/beforePipeline``. An event to which `configure` gives another id
    /// isn't kept, because a plugin does that to repeat an event that was not stored.
    ///
    /// Don't call this from ``Processor/process(_:)``: the new event passes that processor too and would recurse. Use
    /// ``insert(_:_:priority:before:configure:)-(_,Properties,_,_,_)`` there. At the eighth level, the event is dropped
    /// as ``DropReason/recursion``, and a diagnostic reports the first one.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties. They take precedence over a plugin's properties of the same name.
    ///   - priority: The event's priority. Critical events are taken from the store first and evicted last.
    ///   - configure: Changes the event before the first processor sees it.
    /// - Returns: Whether at least one route has stored the event. False without a pipeline, even if the event is kept.
    @discardableResult
    public func track(
        _ name: String, _ properties: Properties = [:], priority: Event.Priority = .normal,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        let place = place.value
        guard place.isOpen else {
            // An event that a plugin tracks while it is prepared is one of an earlier launch.
            if keep(name, properties, priority, isFirst: place.chain != nil, configure) { return false }
            // Another thread has built the pipeline.
            return track(name, properties, priority: priority, configure: configure)
        }
        guard let chain = place.chain else { return false }
        guard PluginContext.depth < PluginContext.maximumDepth else {
            chain.dropRecursion()
            return false
        }
        return PluginContext.$depth.withValue(PluginContext.depth + 1) {
            chain.path.storingOneByOne {
                chain.track(name, properties, priority, id: nil, by: self, configure).isStored
            }
        }
    }

    /// Keeps an event until all processors are prepared.
    ///
    /// - Returns: False if they are prepared already.
    private func keep(
        _ name: String, _ properties: Properties, _ priority: Event.Priority, isFirst: Bool,
        _ configure: (inout Event) -> Void
    ) -> Bool {
        let time = time.wallTime()
        let id = newEventID(at: time)
        var event = Event(id: id, name: name, time: time, priority: priority, properties: properties)
        configure(&event)
        let number = newCall()
        return early.withLock { [event] early in
            guard let count = early?.calls.count else { return false }
            if event.id != id { return true }
            if count < PluginContext.maximumEvents {
                let enter: @Sendable (Chain) -> Void = { [unowned self] chain in
                    let track = { _ = chain.track("", [:], event.priority, id: event.id, by: self) { $0 = event } }
                    // An event of the former user begins no session of the next one.
                    let isFormer = number < lastUserChange.withLock(\.self)
                    if isFormer { chain.path.changingUser(by: nil, track) } else { track() }
                }
                early?.calls.append((isFirst ? .min + number : number, enter))
            } else {
                _ = held.withLock { $0.lost.add(1, .beforePipeline) }
            }
            return true
        }
    }

    /// Calls `body` when all processors are prepared, after the events that were tracked before this call. Does nothing
    /// if they are prepared already.
    package func whenOpen(_ body: @escaping @Sendable () -> Void) {
        let number = newCall()
        early.withLock { $0?.calls.append((number, { _ in body() })) }
    }

    private func newCall() -> Int { PluginContext.lastCall.next() }

    /// Changes the user: gives the signal `userWillChange` to the processors of the plugin's chain, and of the routes of that
    /// chain. `change` is called between its two passes.
    package func changeUser(_ change: () throws(SluiceError) -> Void) throws(SluiceError) {
        var failure: SluiceError?
        func run() { failure = SluiceError.of(try change()) }
        let isDone: Void? = atPlace { chain, _ in
            chain.path.changingUser(by: currentThread) {
                Signal.userWillChange.deliver(to: chain.reached.flatMap(\.processors), announcing: run)
            }
        }
        if isDone == nil { run() }
        if let failure { throw failure }
        lastUserChange.withLock { $0 = newCall() }
    }

    /// Whether an event was on its way when the user changed: it can have the ids of one user and the session of the other.
    package func hasOtherUser(than event: borrowing Event) -> Bool {
        // A closure would get a copy of the event.
        let changes = event.userChanges
        return place.read { $0.chain?.path.hasOtherUser(after: changes) ?? false }
    }

    /// Whether a processor of this type stands below the plugin, in its chain or in a route of it.
    package func isAbove<Stage: Processor>(_: Stage.Type) -> Bool {
        atPlace { $0.reached.flatMap(\.processors).dropFirst($1 + 1).contains { $0 is Stage } } ?? false
    }

    /// Sends an event that other routes have stored through the stages that all routes share, and then through the
    /// plugin's route only.
    ///
    /// - Returns: The answer of the shared stages. Nil if the route has not stored the event that they kept.
    package func join(_ event: Event) -> Disposition? {
        isOpen ? atPlace { chain, _ in chain.join(event) } ?? nil : nil
    }

    /// Inserts a new event before the one that your processor is processing.
    ///
    /// The new event has its own id, the current time and the user's ids of `event`. It passes the stages below your
    /// processor, and nothing above. Its session, if it has one, is that of `event`.
    ///
    /// It has only the properties that you pass. Pass those of `event` for a full event, with the session, the version and
    /// the device that the processors above have added:
    ///
    /// ```swift
    /// func process(_ event: inout Event) -> Disposition {
    ///     if event.name == "Open" { context.insert("Opening", before: event) }
    ///     if event.name == "Purchase" { context.insert("Sale", event.properties + ["is_first": true], before: event) }
    ///     return .keep
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties.
    ///   - priority: The event's priority.
    ///   - event: The event that ``Processor/process(_:)`` was given.
    ///   - configure: Changes the new event before the next processor sees it.
    /// - Returns: Whether at least one route has stored the new event.
    @discardableResult
    public func insert(
        _ name: String, _ properties: Properties = [:], priority: Event.Priority = .normal, before event: Event,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        atPlace { $0.insert(name, properties, priority, before: event, below: $1, of: self, configure) } ?? false
    }

    /// Holds an event back: return the result from ``Processor/process(_:)``, and keep a copy of the event.
    ///
    /// Pass the copy to ``forward(_:)`` or ``drop(_:because:)`` later. Until then the ledger counts it as held. Call this
    /// before another thread can find the copy, or with the lock that protects it. An event that your plugin still holds
    /// when it is listed in its next pipeline is also counted there, and so is one that it has let go between the two. The
    /// page "Writing a processor" has a whole example.
    ///
    /// - Parameter event: The event that ``Processor/process(_:)`` was given.
    /// - Returns: The disposition of a held event. Without a pipeline, in a test of your plugin, it's the same.
    public func hold(_ event: Event) -> Disposition { hold(PluginEvent(event, of: self)) }

    /// Whether events that the plugin lets continue are stored.
    package var isConnected: Bool { place.value.chain?.path.isOpen ?? false }

    /// Lets an event continue that your processor has held back with ``hold(_:)``.
    ///
    /// It passes the stages below your processor, with its own id and time. Forward each held event once. You can do
    /// that from any thread, and from ``Processor/process(_:)`` too.
    ///
    /// ```swift
    /// func release(_ held: [Event]) {
    ///     for event in held { context.forward(event) }
    /// }
    /// ```
    ///
    /// - Parameter event: A copy of the held event. You can change it before.
    /// - Returns: Whether at least one route has stored the event. False without a pipeline: the event is lost, and the
    ///   plugin's next pipeline counts it as ``DropReason/shutDown``.
    @discardableResult
    public func forward(_ event: Event) -> Bool { forward(PluginEvent(event, of: self)) }

    /// Ends an event that your processor has held back with ``hold(_:)``.
    ///
    /// ```swift
    /// func discard(_ held: [Event]) {
    ///     for event in held { context.drop(event, because: DropReason(rawValue: "optedOut")) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - event: The held event.
    ///   - reason: The reason that the ledger counts. Without a pipeline, it is the ledger of the plugin's next one.
    public func drop(_ event: Event, because reason: DropReason) { drop(PluginEvent(event, of: self), because: reason) }

    // MARK: Surroundings

    /// Reports a message to the host's diagnostics, with the name of the plugin's type. Use it for a failure where
    /// nothing can be thrown.
    ///
    /// You can report before there is a pipeline, which gets the first ten messages.
    ///
    /// ```swift
    /// context.report("the cache can't be written: free some space on the disk")
    /// ```
    ///
    /// - Parameter message: The failure and the remedy, without secrets and contents of events.
    public func report(_ message: String) {
        let place = place.value
        if let chain = place.chain { return chain.report(message, by: place.index) }
        early.withLock { early in
            if early?.messages.count ?? .max < PluginContext.maximumMessages { early?.messages.append(message) }
        }
    }

    /// The clocks of the plugin's pipeline; the system's before it is built.
    ///
    /// ```swift
    /// let begin = context.time.continuousTime()
    /// ```
    public var time: any TimeSource { place.value.environment.time }

    /// The source of random numbers of that pipeline: 64 uniformly distributed bits a call.
    public var random: @Sendable () -> UInt64 { place.value.environment.random }

    /// Creates the id of an event that the plugin tracks later.
    package func newEventID(at time: Timestamp) -> EventID { .timed(time, random) }

    /// Runs `body` with the plugin's place, if its pipeline is there. Its events are stored one by one.
    @discardableResult
    private func atPlace<Result>(_ body: (Chain, _ index: Int) -> Result) -> Result? {
        let place = place.value
        guard let chain = place.chain else { return nil }
        return chain.path.storingOneByOne { body(chain, place.index) }
    }
}
