public import Sluice

/// Measures how long something takes, and tracks an event with its duration.
///
/// ```swift
/// let timers = DurationTimer()
/// let pipeline = try Pipeline {
///     timers
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// timers.start("WatchVideo")
/// timers.end("WatchVideo", ["title": "How to tie a shoe"])   // tracks WatchVideo with its $event_duration
/// ```
///
/// `$event_duration` is never negative. A `$event_duration` of your own takes precedence.
///
/// Use tokens to run two timers of one name:
///
/// ```swift
/// let first = timers.start("Download")
/// let second = timers.start("Download")
/// timers.end(first)
/// timers.end(second)
/// ```
///
/// A method that takes a name uses the timer of that name which was started last. A timer whose token you have not kept
/// ends with the next `start` of its name. A token of another `DurationTimer` ends no timer. At most 1,000 timers run at a
/// time. If you start one more, the oldest is forgotten, and a diagnostic reports the first one and every thousandth one.
///
/// Only `end` ends a timer. An event of the same name that you track with `pipeline.track` has no duration.
///
/// Running timers are paused when the app enters the background, and continue when it becomes active. A timer that you
/// have paused stays paused. One that you start or resume in the background runs. After a passive launch, all timers wait
/// until the app becomes active, also the ones that you start or resume before.
///
/// `Identity.reset()` and `erase()` in the same chain, or in the chain above the routes, forget all timers, because their
/// time is the former user's. If you end one later, its event has no duration.
///
/// You can start and end timers before the pipeline is built.
///
/// You can call all methods from any thread.
public final class DurationTimer: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let measure: DurationMeasure
    private let maximumAge: Duration?
    private let table = Locked(TimerTable())

    /// Creates a set of timers.
    ///
    /// ```swift
    /// let timers = DurationTimer(countsSleep: true, maximumAge: .seconds(3_600))
    /// ```
    ///
    /// - Parameters:
    ///   - countsSleep: Whether the sleep of the machine counts. Setting the wall clock never does.
    ///   - limit: The longest plausible duration. A longer one is left out of its event, and counted as
    ///     ``Sluice/Sanitization/overlongDuration``.
    ///   - maximumAge: The longest time from `start` to `end`, pauses included, by the same clock; nil for no limit.
    ///     The duration of an older timer is left out and counted in the same way, because its start belongs to
    ///     something else, such as an earlier attempt.
    public init(countsSleep: Bool = false, limit: Duration = .seconds(86_400), maximumAge: Duration? = nil) {
        self.maximumAge = maximumAge
        measure = DurationMeasure(countsSleep: countsSleep, limit: limit)
    }

    // MARK: Verbs

    /// Starts a timer.
    ///
    /// ```swift
    /// let upload = timers.start("Upload")
    /// ```
    ///
    /// - Parameter name: The timer's name. A running timer of that name restarts from zero, or continues if you have
    ///   its token.
    /// - Returns: A token for this timer.
    @discardableResult
    public func start(_ name: String) -> DurationToken {
        let now = measure.now(context)
        let id = DurationToken.newID()
        let forgotten = table.withLock { $0.start(name, id, at: now) }
        if let forgotten, forgotten % TimerTable.maximumCount == 1 {
            context.report(
                "more than 1,000 timers run, so the oldest is forgotten (\(forgotten) so far): end your timers")
        }
        return DurationToken(name, id) { [table] in table.withLock { $0.release(id) } }
    }

    /// Pauses the timer of a name. Does nothing if it is paused or there is no such timer.
    ///
    /// ```swift
    /// timers.pause("WatchVideo")     // an advertisement begins
    /// timers.resume("WatchVideo")    // and ends
    /// ```
    ///
    /// - Parameter name: The timer's name.
    public func pause(_ name: String) { update({ $0.id(name) }) { $0.pause($1, at: $2) } }

    /// Pauses a timer. Does nothing if it is paused or has ended.
    ///
    /// - Parameter token: The timer's token.
    public func pause(_ token: DurationToken) { update({ _ in token.id }) { $0.pause($1, at: $2) } }

    /// Resumes the timer of a name. Does nothing if it runs or there is no such timer.
    ///
    /// - Parameter name: The timer's name.
    public func resume(_ name: String) { update({ $0.id(name) }) { $0.resume($1, at: $2) } }

    /// Resumes a timer. Does nothing if it runs or has ended.
    ///
    /// - Parameter token: The timer's token.
    public func resume(_ token: DurationToken) { update({ _ in token.id }) { $0.resume($1, at: $2) } }

    /// Ends the timer of a name, and tracks the event of that name with its `$event_duration`. Without such a timer,
    /// the event is tracked without a duration.
    ///
    /// - Parameters:
    ///   - name: The name of the timer and the event.
    ///   - properties: The event's properties.
    ///   - priority: The event's priority.
    public func end(_ name: String, _ properties: PropertyLiteral = [:], priority: Event.Priority = .normal) {
        end(name, properties.properties, priority) { $0.id(name) }
    }

    /// Ends a timer, and tracks the event of its name with its `$event_duration`.
    ///
    /// ```swift
    /// timers.end(upload, ["bytes": 1_048_576])
    /// ```
    ///
    /// - Parameters:
    ///   - token: The timer's token.
    ///   - properties: The event's properties.
    ///   - priority: The event's priority.
    public func end(_ token: DurationToken, _ properties: PropertyLiteral = [:], priority: Event.Priority = .normal) {
        end(token.name, properties.properties, priority) { _ in token.id }
    }

    private func end(
        _ name: String, _ properties: Properties, _ priority: Event.Priority, _ find: (TimerTable) -> UInt64?
    ) {
        let ending = update(find) { $0.end($1, at: $2, maximumAge: maximumAge) } ?? nil
        context.track(name, properties, priority: priority) { event in
            switch ending {
            case .duration(let duration): measure.write(duration, to: &event)
            case .expired: event.report(.overlongDuration)
            case nil: break
            }
        }
    }

    /// Forgets the timer of a name, without an event.
    ///
    /// ```swift
    /// timers.remove("WatchVideo")    // the video could not be loaded
    /// ```
    ///
    /// - Parameter name: The timer's name.
    public func remove(_ name: String) { update({ $0.id(name) }) { table, id, _ in table.remove(id) } }

    /// Forgets a timer, without an event.
    ///
    /// - Parameter token: The timer's token.
    public func remove(_ token: DurationToken) { update({ _ in token.id }) { table, id, _ in table.remove(id) } }

    /// Forgets all timers, without events.
    public func clear() { table.withLock { $0.removeAll() } }

    @discardableResult
    private func update<Result>(
        _ find: (TimerTable) -> UInt64?, _ body: (inout TimerTable, UInt64, Duration) -> Result
    ) -> Result? {
        let now = measure.now(context)
        return table.withLock { table in find(table).map { body(&table, $0, now) } }
    }

    // MARK: Processor

    /// Checks the limit and the maximum age.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if one of them is not positive.
    public func prepare() throws {
        try DurationMeasure.validate(measure.limit, "limit")
        if let maximumAge { try DurationMeasure.validate(maximumAge, "maximum age") }
    }

    /// Keeps the event unchanged.
    public func process(_ event: inout Event) -> Disposition { .keep }

    /// Pauses and resumes the timers.
    public func update(for signal: Signal) {
        let now = measure.now(context)
        switch signal.kind {
        case .launched(let launch) where launch.isPassive: table.withLock { $0.launchInBackground() }
        case .didEnterBackground: table.withLock { $0.enterBackground(at: now) }
        case .didBecomeActive: table.withLock { $0.becomeActive(at: now) }
        case .launched, .willResignActive, .willTerminate, .connectivity, .userWillChange: break
        }
    }

    /// Forgets the timers before the user changes: no event of the next user has their time.
    public func emit(for signal: Signal) { if signal == .userWillChange { clear() } }

    /// Forgets all timers, whose time is the former user's.
    public func forget() { clear() }
}
