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
/// `$event_duration` is in milliseconds with three decimals. It is measured by the suspending clock, so neither the
/// machine's sleep nor a clock that is set counts, and never negative. A `$event_duration` that the host passes itself
/// takes precedence.
///
/// Only ``end(_:_:priority:)`` ends a timer. An event of the same name that is tracked by `pipeline.track` is an event
/// like any other: whether it has a duration never depends on what another part of the host has started.
///
/// When the app enters the background, exactly the timers that run are paused, and when it becomes active exactly those
/// go on. A timer that the host has paused, before or meanwhile, stays paused; one that it starts or resumes in the
/// background runs.
///
/// All verbs may be called from any thread. A timer in several pipelines tracks its event in each of them, in one
/// that stands in none its events go nowhere.
public final class DurationTimer: Processor {
    public static var isUnique: Bool { true }

    private struct State {
        var table = TimerTable()
        var outlets: [EventOutlet] = []
    }

    private let time: any TimeSource
    private let state = Locked(State())

    /// - Parameter time: its suspending clock measures.
    public init(time: any TimeSource = SystemTime()) {
        self.time = time
    }

    // MARK: Verbs

    /// Starts a timer; one of the same name starts afresh.
    public func start(_ name: String) {
        update { table, now in table.start(name, at: now) }
    }

    /// Stops counting until ``resume(_:)``. Without effect on a timer that is paused or was not started.
    public func pause(_ name: String) {
        update { table, now in table.pause(name, at: now) }
    }

    /// Goes on counting. Without effect on a timer that runs or was not started.
    public func resume(_ name: String) {
        update { table, now in table.resume(name, at: now) }
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
        let now = time.suspendingTime()
        let (duration, outlets) = state.withLock { ($0.table.end(name, at: now), $0.outlets) }
        var properties = properties
        if let duration {
            properties.fill(from: ["$event_duration": .double(duration.inMilliseconds)])
        }
        for outlet in outlets {
            outlet.track(name, properties, priority: priority)
        }
    }

    /// Forgets a timer without an event.
    public func remove(_ name: String) {
        update { table, _ in table.remove(name) }
    }

    /// Forgets all timers without events.
    public func clear() {
        update { table, _ in table = TimerTable() }
    }

    private func update(_ body: (inout TimerTable, Duration) -> Void) {
        let now = time.suspendingTime()
        state.withLock { body(&$0.table, now) }
    }

    // MARK: Processor

    public func attach(to outlet: EventOutlet) throws {
        state.withLock { $0.outlets.append(outlet) }
    }

    public func process(_ event: inout Event) -> Disposition { .keep }

    public func receive(_ signal: Signal) {
        switch signal {
        case .didEnterBackground: update { table, now in table.enterBackground(at: now) }
        case .didBecomeActive: update { table, now in table.becomeActive(at: now) }
        case .launched, .willResignActive, .willTerminate, .connectivity: break
        }
    }
}
