public import Sluice

/// Turns what the platform reports into events: `$AppStart`, `$AppEnd` and `$AppStartPassively`.
///
/// | event | when | properties |
/// |---|---|---|
/// | `$AppStart` | the app becomes active, at first or after the background | `$resume_from_background` |
/// | `$AppEnd` | it enters the background, or is about to end in the foreground | `$event_duration` |
/// | `$AppStartPassively` | the system launched it into the background | `$app_state` by ``PassiveLaunchTagger`` |
///
/// A notification, the control centre or the app switcher make an app resign active and become active again, without a
/// background between: that is no start. `$event_duration` is the time since `$AppStart` in milliseconds with three
/// decimals, by the suspending clock.
///
/// It needs signals: those of `AppSignals` on Apple's platforms, or the host's own calls of `pipeline.signal`. It may
/// stand above or below ``PassiveLaunchTagger``.
public final class LifecycleEvents: Processor {
    public static var isUnique: Bool { true }

    private struct State {
        /// The suspending time of the last `$AppStart` that had no `$AppEnd` yet.
        var activeSince: Duration?
        var hasStarted = false
        var hasStartedPassively = false
        var outlets: [EventOutlet] = []
    }

    private let time: any TimeSource
    private let state = Locked(State())

    /// - Parameter time: its suspending clock measures the time in the foreground.
    public init(time: any TimeSource = SystemTime()) {
        self.time = time
    }

    public func attach(to outlet: EventOutlet) throws {
        state.withLock { $0.outlets.append(outlet) }
    }

    public func process(_ event: inout Event) -> Disposition { .keep }

    public func receive(_ signal: Signal) {
        let now = time.suspendingTime()
        let (event, outlets) = state.withLock { (LifecycleEvents.event(for: signal, at: now, &$0), $0.outlets) }
        guard let event else { return }
        for outlet in outlets {
            outlet.track(event.name, event.properties)
        }
    }

    private static func event(
        for signal: Signal, at now: Duration, _ state: inout State
    ) -> (name: String, properties: Properties)? {
        switch signal {
        case .launched(.passive):
            guard !state.hasStarted, !state.hasStartedPassively else { return nil }
            state.hasStartedPassively = true
            return (LifecycleEventName.startPassively, [:])
        case .didBecomeActive:
            guard state.activeSince == nil else { return nil }
            let isReturn = state.hasStarted
            state.activeSince = now
            state.hasStarted = true
            return (LifecycleEventName.start, ["$resume_from_background": .bool(isReturn)])
        case .didEnterBackground, .willTerminate:
            guard let start = state.activeSince else { return nil }
            state.activeSince = nil
            return (LifecycleEventName.end, ["$event_duration": .double((now - start).inMilliseconds)])
        case .launched(.foreground), .willResignActive, .connectivity:
            return nil
        }
    }
}

/// The names of the events that ``LifecycleEvents`` makes.
enum LifecycleEventName {
    static let start = "$AppStart"
    static let end = "$AppEnd"
    static let startPassively = "$AppStartPassively"
}
