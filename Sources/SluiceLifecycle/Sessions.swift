public import Sluice

/// Marks every event with its session, and tracks when sessions begin and end.
///
/// ```swift
/// Sessions(persistedIn: .file(stateDirectory))             // 20 s in the background end a session
/// Sessions(.idle(.seconds(1_800)))                         // half an hour without an event ends one
/// let sessions = Sessions(.manual)                         // sessions.start(), sessions.end()
/// ```
///
/// | event | when | properties |
/// |---|---|---|
/// | `$SessionStart` | a session begins | `$session_id`, `$session_index` |
/// | `$SessionEnd` | it has ended, or the pipeline or the process ends | `$session_id`, `$session_index`, `$event_duration` |
/// | `$SessionEnd` | after a crash, at the next launch | the same, and `$recovered` |
///
/// Every event gets `$session_id` and `$session_index`. The id is a UUID (version 7) with the time of the session's start, or
/// of its first event if that was tracked a little earlier. The index counts the sessions of the installation, or without a
/// persistence the sessions of the process. An event with a `$session_id` of its own keeps it, and doesn't extend a session.
/// Each launch begins a new session.
///
/// An event with a time of its own, such as one from a record of the past, belongs to the session if its time lies within
/// it. Otherwise it has no session, and neither begins nor extends one, even if its id has that time. Events after the
/// signal `willTerminate` have no session either.
///
/// A login and a logout keep the session, because the same visit goes on. `Identity.reset()` and `erase()` end it, with the
/// ids of the former user, and the next event begins another one. The identity must stand in the same chain, above or below,
/// or in the chain above the routes.
///
/// The recovered `$SessionEnd` of a passive launch which was never opened has the `$app_state` of its other events,
/// `"background"`.
///
/// The time of a `$SessionEnd` is the last time at which the session was used. `$event_duration` is the time from its
/// start to then, in milliseconds, by the continuous clock.
///
/// An automatic session also ends at an event in the background, if both the time in the background and the time since
/// the last event have reached the limit. Without signals, as in a tool, an automatic session lasts as long as the
/// process, or until it reaches its maximum length.
///
/// A session that has reached its maximum length ends at the next event, and another one begins before that event. So a
/// screen that is never switched off doesn't have one session for months. Manual sessions have no maximum length.
///
/// The continuous clock measures sessions, so a change of the wall clock makes none longer or shorter. If the wall clock was
/// set forth or back by more than the limit of the mode, or back to more than a second before the session, the session ends,
/// with the time that the clock showed before, and the next event begins another one: the time in the old id has nothing to do
/// with the times of later events. Manual sessions go on, because only your calls end them.
///
/// List it first, or below a `Consent` that doesn't hold events. If an event begins a session, `$SessionStart` is
/// inserted before it, passes the stages below this one only, and gets the user's ids from the event.
///
/// You can call all methods from any thread.
public final class Sessions: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The condition that ends a session and begins the next.
    ///
    /// ```swift
    /// let sessions = Sessions(.automatic(.seconds(60)))    // a minute in the background ends a session
    /// ```
    public enum Mode: Sendable, Hashable {
        /// A time in the background without an event; at least a second.
        case automatic(Duration)
        /// A time without an event; at least a second.
        case idle(Duration)
        /// Your calls of ``Sessions/start()`` and ``Sessions/end()``. Before the first one, events belong to no
        /// session.
        case manual

        /// 20 s in the background.
        public static let automatic = Mode.automatic(.seconds(20))
    }

    struct State {
        var machine: SessionMachine
        /// Events of a signal that have not been tracked yet.
        var pending: [CausedEvent] = []
        /// The time at which this object was created, in milliseconds; nil when the pipeline is built. The events of
        /// plugins that wait for the pipeline have times after it, and begin a session.
        var beginning: Int64?
    }

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let maximumLength: Duration
    let heartbeat: Heartbeat
    let kept: PersistedState<SessionFacts>
    let state: Locked<State>
    /// Clocks may differ by a second, in milliseconds.
    static let tolerance: Int64 = 1_000

    /// Creates the processor.
    ///
    /// ```swift
    /// let sessions = Sessions(.manual, persistedIn: .file(stateDirectory))
    /// let pipeline = try Pipeline {
    ///     sessions
    ///     …
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - mode: The condition that ends a session.
    ///   - maximumLength: The maximum length of a session that you don't begin yourself, by the continuous clock; at
    ///     least a second. A day by default, as in PostHog's SDK for iOS (`PostHogSessionManager`).
    ///   - persistence: Where the facts for the next launch are kept.
    ///   - interval: How precisely the time of a crash is known; at least 1 s. The state is written this often while
    ///     the app is in the foreground, if it has changed.
    public init(
        _ mode: Mode = .automatic, maximumLength: Duration = .seconds(86_400),
        persistedIn persistence: Persistence = .memory, notingEvery interval: Duration = .seconds(15)
    ) {
        self.maximumLength = maximumLength
        heartbeat = Heartbeat(every: interval)
        kept = PersistedState("sessions", in: persistence, initial: SessionFacts(), report: context.report)
        // With the time of its start, which Amplitude and PostHog read from it.
        let newID: @Sendable (Timestamp) -> String = { [context] in EventID.timed($0, context.random).description }
        state = Locked(
            State(
                machine: SessionMachine(mode, maximumLength: maximumLength, makeID: newID),
                beginning: context.time.wallTime().milliseconds))
    }

    var now: SessionMachine.Moment {
        let time = context.time
        return SessionMachine.Moment(continuous: time.continuousTime(), wall: time.wallTime())
    }

    /// The id of the current session; nil before the first one.
    ///
    /// ```swift
    /// if let id = sessions.id { print("session \(id)") }
    /// ```
    public var id: String? { state.withLock { $0.machine.current?.id } }

    /// Begins a session, which ends the one before.
    ///
    /// ```swift
    /// sessions.start()               // a visitor touches the screen of a kiosk
    /// pipeline.track("MapOpened")    // has the new $session_id
    /// ```
    public func start() {
        // Also before the pipeline is built: the session needs the right index.
        adopt()
        let now = now
        track(state.withLock { $0.machine.start(at: now) })
        save()
    }

    /// Ends the session. Later events belong to no session until ``start()``, or begin another one if the mode says so.
    ///
    /// ```swift
    /// sessions.end()                 // the visitor has gone
    /// pipeline.track("Rebooted")     // has no $session_id
    /// ```
    public func end() {
        let now = now
        track(state.withLock { $0.machine.endManually(at: now) })
        save()
    }

    // MARK: Processor

    /// Checks the mode and reads the facts of earlier launches.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a limit or a maximum length of less than a second, and
    ///   an error of the place where the facts are kept.
    public func prepare() throws {
        try SluiceError.require(
            maximumLength >= .seconds(1), "a maximumLength of \(maximumLength): pass at least one second")
        switch state.withLock(\.machine.mode) {
        case .automatic(let limit), .idle(let limit):
            try SluiceError.require(
                limit >= .seconds(1), "a limit of \(limit): pass at least one second, or .manual")
        case .manual: break
        }
        try kept.load()
        StateGate.current?.addReader(self)
        adopt()
        state.withLock { $0.machine.reopen() }
        context.whenOpen { [weak self] in self?.state.withLock { $0.beginning = nil } }
    }

    /// Takes over the facts of earlier launches. Without the user's consent, this does nothing until the grant.
    func adopt() {
        guard !state.withLock(\.machine.hasAdopted) else { return }
        _ = kept.readIfLoaded { facts in state.withLock { $0.machine.adopt(facts) } }
    }

    /// Adds the session to the event, and begins one if necessary.
    public func process(_ event: inout Event) -> Disposition {
        let now = now
        adopt()
        let outputs: [CausedEvent] = state.withLock { state in
            if let id = event.properties["$session_id"] {
                if let index = id.string.flatMap({ state.machine.earlyIndices[$0] }) {
                    event.properties.addDefaults(["$session_index": .int(index)])
                }
                return []
            }
            if event.properties["$recovered"] == true {
                // It is of an earlier launch, even if that ended just now.
                guard let recovered = state.machine.recovered else { return [] }
                // The last known time of the app can be before the session, and backends refuse such an event.
                let start = EventID(recovered.id)?.time ?? event.time
                let isLater = event.time.milliseconds >= start.milliseconds - Sessions.tolerance
                if isLater { event.properties.addDefaults(recovered.properties) }
                return []
            }
            guard !context.hasOtherUser(than: event), isInSession(event, state, at: now) else { return [] }
            let outputs = state.machine.event(of: event.time, at: now)
            if let session = state.machine.current { event.properties.addDefaults(session.properties) }
            event.isInSession = true
            return outputs
        }
        if !outputs.isEmpty {
            track(outputs, before: event)
            save()
        }
        return .keep
    }

    /// Whether an event belongs to the current session, or to the next one if it begins now.
    private func isInSession(_ event: borrowing Event, _ state: State, at now: SessionMachine.Moment) -> Bool {
        let (time, wall) = (event.time.milliseconds, now.wall.milliseconds)
        guard time <= wall + Sessions.tolerance else { return false }
        // Most events happen now.
        if time >= wall - Sessions.tolerance { return true }
        if let beginning = state.beginning, time >= beginning - Sessions.tolerance { return true }
        guard let session = state.machine.current, !state.machine.isDue(at: now) else { return false }
        return time >= now.wallTime(at: session.start.continuous).milliseconds - Sessions.tolerance
    }

    /// Ends or begins sessions.
    public func update(for signal: Signal) {
        // The end was tracked before.
        if signal == .willTerminate { return state.withLock { $0.machine.forget() } }
        if signal == .userWillChange { return state.withLock { $0.machine.renew() } }
        adopt()
        let now = now
        state.withLock { $0.pending += $0.machine.receive(signal, at: now) }
        if signal == .didEnterBackground {
            heartbeat.stop()
            save()
        }
    }

    /// Tracks the beginning and the end of sessions that a signal causes.
    public func emit(for signal: Signal) {
        let now = now
        track(
            state.withLock { state in
                let isEnd = signal == .willTerminate || signal == .userWillChange
                return exchange(&state.pending, with: []) + (isEnd ? state.machine.receive(signal, at: now) : [])
            })
        if signal == .willTerminate {
            heartbeat.stop()
            kept.saveOrReport(note)
        } else {
            save()
        }
        if signal == .didBecomeActive { startHeartbeat() }
    }

    /// Tracks the events of sessions. `event` is the event that begins one, if there is such an event.
    func track(_ outputs: [CausedEvent], before event: Event? = nil) {
        for output in outputs {
            var properties = output.properties
            if let event {
                context.insert(output.name, properties, before: event) { $0.time = output.time ?? $0.time }
            } else {
                // If a stage above holds the event, earlier sessions become known before it passes this stage, which adds the
                // index.
                let id = properties["$session_id"]?.string ?? ""
                if state.withLock({ $0.machine.earlyIndices[id] != nil }) { properties["$session_index"] = nil }
                context.track(output.name, properties) { $0.time = output.time ?? $0.time }
            }
            if output.name == "$SessionStart" { startHeartbeat() }
        }
    }
}
