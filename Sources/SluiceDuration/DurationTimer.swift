public import Sluice

/// Measures how long something takes, and tracks an event that says so.
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
/// `$event_duration` is in milliseconds with three decimals, unless the ``DurationMeasure`` says seconds. It is measured
/// by the suspending clock, so neither the machine's sleep nor a clock that is set counts, and never negative. A
/// `$event_duration` that the host passes itself takes precedence.
///
/// Two timers of one name run beside each other by their tokens:
///
/// ```swift
/// let first = timers.start("Download")
/// let second = timers.start("Download")
/// timers.end(first)
/// timers.end(second)
/// ```
///
/// The verbs that take a name mean the timer of that name which was started last. A timer whose token nobody holds ends
/// with the next `start` of its name, which so begins afresh. At most 1,000 run at a time; the oldest is forgotten.
///
/// Only `end` ends a timer. An event of the same name that is tracked by `pipeline.track` is an event like any other:
/// whether it has a duration never depends on what another part of the host has started.
///
/// When the app enters the background, exactly the timers that run are paused, and when it becomes active exactly those
/// go on. A timer that the host has paused, before or meanwhile, stays paused; one that it starts or resumes in the
/// background runs.
///
/// All verbs may be called from any thread. A timer in several pipelines tracks its event in each of them, in one
/// that stands in none its events go nowhere.
public final class DurationTimer: Processor {
    public static var isUnique: Bool { true }

    struct State {
        var table = TimerTable()
        var outlets: [EventOutlet] = []
    }

    /// One timer, told from others of the same name.
    public final class Token: Sendable {
        /// The timer's name and its event's.
        public let name: String
        let id: UInt64
        private let state: Locked<State>

        init(_ name: String, _ id: UInt64, _ state: Locked<State>) {
            self.name = name
            self.id = id
            self.state = state
        }

        deinit {
            state.withLock { $0.table.release(id) }
        }
    }

    private let measure: DurationMeasure
    private let state = Locked(State())

    /// - Parameter measure: how durations are measured and written.
    public init(_ measure: DurationMeasure = .standard) {
        self.measure = measure
    }

    // MARK: Verbs

    /// Starts a timer; one of the same name starts afresh, or runs on if its token is held.
    @discardableResult
    public func start(_ name: String) -> Token {
        let now = measure.now
        let id = state.withLock { $0.table.start(name, at: now) }
        return Token(name, id, state)
    }

    /// Stops counting until ``resume(_:)-(String)``. Without effect on a timer that is paused or was not started.
    public func pause(_ name: String) {
        update(name) { table, id, now in table.pause(id, at: now) }
    }

    /// As ``pause(_:)-(String)``, for one timer of several.
    public func pause(_ token: Token) {
        update(token) { table, id, now in table.pause(id, at: now) }
    }

    /// Goes on counting. Without effect on a timer that runs or was not started.
    public func resume(_ name: String) {
        update(name) { table, id, now in table.resume(id, at: now) }
    }

    /// As ``resume(_:)-(String)``, for one timer of several.
    public func resume(_ token: Token) {
        update(token) { table, id, now in table.resume(id, at: now) }
    }

    /// Ends a timer and tracks the event of its name with its `$event_duration`.
    ///
    /// Without such a timer, the event is tracked without a duration.
    ///
    /// - Parameters:
    ///   - name: the timer's name and the event's.
    ///   - properties: as for `track`.
    ///   - priority: as for `track`.
    public func end(_ name: String, _ properties: Properties = [:], priority: Event.Priority = .normal) {
        end(name, properties, priority) { $0.id(name) }
    }

    /// As ``end(_:_:priority:)-(String,_,_)``, for one timer of several.
    public func end(_ token: Token, _ properties: Properties = [:], priority: Event.Priority = .normal) {
        end(token.name, properties, priority) { _ in token.id }
    }

    private func end(
        _ name: String, _ properties: Properties, _ priority: Event.Priority, _ find: (TimerTable) -> UInt64?
    ) {
        let now = measure.now
        let (duration, outlets) = state.withLock { state in
            (find(state.table).flatMap { state.table.end($0, at: now) }, state.outlets)
        }
        for outlet in outlets {
            outlet.track(name, properties, priority: priority) { event in
                if let duration { measure.write(duration, to: &event) }
            }
        }
    }

    /// Forgets a timer without an event.
    public func remove(_ name: String) {
        update(name) { table, id, _ in table.remove(id) }
    }

    /// As ``remove(_:)-(String)``, for one timer of several.
    public func remove(_ token: Token) {
        update(token) { table, id, _ in table.remove(id) }
    }

    /// Forgets all timers without events.
    public func clear() {
        state.withLock { $0.table.removeAll() }
    }

    private func update(_ name: String, _ body: (inout TimerTable, UInt64, Duration) -> Void) {
        let now = measure.now
        state.withLock { state in
            if let id = state.table.id(name) { body(&state.table, id, now) }
        }
    }

    private func update(_ token: Token, _ body: (inout TimerTable, UInt64, Duration) -> Void) {
        let now = measure.now
        state.withLock { body(&$0.table, token.id, now) }
    }

    // MARK: Processor

    public func attach(to outlet: EventOutlet) throws {
        state.withLock { $0.outlets.append(outlet) }
    }

    public func process(_ event: inout Event) -> Disposition { .keep }

    public func receive(_ signal: Signal) {
        let now = measure.now
        switch signal {
        case .didEnterBackground: state.withLock { $0.table.enterBackground(at: now) }
        case .didBecomeActive: state.withLock { $0.table.becomeActive(at: now) }
        case .launched, .willResignActive, .willTerminate, .connectivity: break
        }
    }
}
