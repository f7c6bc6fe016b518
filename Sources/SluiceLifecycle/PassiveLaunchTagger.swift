public import Sluice

/// Marks what happens while nobody looks: after a launch into the background, every event gets
/// `$app_state = "background"`, until the app becomes active.
///
/// An app that is launched by a push message, a location or a fetch tracks events without a user; reports that count
/// users have to leave them out. An event that brings `$app_state` keeps its own, and one that makes good what an earlier
/// launch could not tell (`$recovered`) has none: it says nothing of the present one.
///
/// It may stand above or below ``LifecycleEvents``: `$AppStartPassively` always gets the mark and `$AppStart` never,
/// whichever of the two stages hears of the signal first. ``Sessions`` are to stand below it.
public final class PassiveLaunchTagger: Processor {
    public static var isUnique: Bool { true }

    private let isPassive = Locked(false)

    public init() {}

    public func process(_ event: inout Event) -> Disposition {
        guard isPassive.withLock({ $0 }) || event.name == LifecycleEventName.startPassively,
            event.name != LifecycleEventName.start, event.properties["$recovered"] != true
        else { return .keep }
        event.properties.addDefaults(["$app_state": "background"])
        return .keep
    }

    public func receive(_ signal: Signal) {
        switch signal {
        case .launched(.passive): isPassive.withLock { $0 = true }
        case .launched(.foreground), .didBecomeActive: isPassive.withLock { $0 = false }
        case .willResignActive, .didEnterBackground, .willTerminate, .connectivity: break
        }
    }
}
