public import Sluice

/// Marks events that happen without a user: after a launch into the background, every event gets
/// `$app_state = "background"`, until the app becomes active.
///
/// ```swift
/// let pipeline = try Pipeline {
///     PassiveLaunchTagger()
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// pipeline.signal(.launched(.passive))
/// pipeline.track("LocationChanged")      // has $app_state
/// pipeline.signal(.didBecomeActive)
/// pipeline.track("OpenMap")              // has no $app_state
/// ```
///
/// A push message, a location or a fetch can launch an app, and the system can prewarm it. Reports about users must leave
/// out the events of such a launch. An event with an `$app_state` of its own keeps it. An event that is recovered from an
/// earlier launch (`$recovered`) is not marked, because it says nothing about this one.
///
/// An event can come before the first signal, such as one of a plugin that you use before the pipeline is built. Pass the
/// way of the launch for that, on Apple's platforms `PassiveLaunchTagger(launch: AppSignals.launch)`.
///
/// It needs the signals of the app: `AppSignals` of SluiceLifecycle reports them, or you call
/// ``Sluice/Pipeline/signal(_:)``. You can list it above or below `LifecycleEvents` and `Screens`. List `Sessions`
/// above it.
public final class PassiveLaunchTagger: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    private let isPassive: Locked<Bool>

    /// Creates the processor.
    ///
    /// - Parameter launch: The way in which the process was started, for events before the first signal.
    public init(launch: Signal.Launch = .foreground) { isPassive = Locked(launch.isPassive) }

    /// Marks the event after a passive launch.
    public func process(_ event: inout Event) -> Disposition {
        if isPassive.withLock(\.self), event.properties["$recovered"] != true {
            event.properties.addDefaults(["$app_state": "background"])
        }
        return .keep
    }

    /// Remembers whether the launch was passive, until the app becomes active.
    public func update(for signal: Signal) {
        switch signal.kind {
        case .launched(let launch): isPassive.withLock { $0 = launch.isPassive }
        case .didBecomeActive: isPassive.withLock { $0 = false }
        case .willResignActive, .didEnterBackground, .willTerminate, .connectivity, .userWillChange: break
        }
    }
}
