import Sluice

/// Which events signals make: a pure value, to which the time is told.
struct LifecycleMachine {
    struct Moment {
        var suspending: Duration
        var wall: Timestamp
        /// The local day since 1970.
        var day: Int64
    }

    struct Output: Equatable {
        var name: String
        var properties: Properties
        /// Nil for now.
        var time: Timestamp?
    }

    /// Nil where nothing is known of earlier launches, and so nothing is said of them.
    private(set) var facts: LifecycleFacts?
    /// The suspending time of the last `$AppStart` that had no `$AppEnd` yet.
    private var activeSince: Duration?
    private var hasStarted = false
    private var hasStartedPassively = false
    /// The stay of an earlier launch that nobody ended.
    private var unended: LifecycleFacts.Stay?

    init(facts: LifecycleFacts?) {
        self.facts = facts
        unended = facts?.stay
    }

    var isActive: Bool { activeSince != nil }

    mutating func receive(_ signal: Signal, at now: Moment) -> [Output] {
        var outputs = makeGood()
        switch signal {
        case .launched(.passive):
            guard !hasStarted, !hasStartedPassively else { break }
            hasStartedPassively = true
            outputs.append(Output(name: LifecycleEventName.startPassively, properties: launchFlags(now)))
        case .didBecomeActive:
            guard activeSince == nil else { break }
            outputs.append(start(now))
        case .didEnterBackground, .willTerminate:
            guard let start = activeSince else { break }
            activeSince = nil
            facts?.stay = nil
            let duration = (now.suspending - start).inMilliseconds
            outputs.append(Output(name: LifecycleEventName.end, properties: ["$event_duration": .double(duration)]))
        case .launched(.foreground), .willResignActive, .connectivity:
            break
        }
        return outputs
    }

    /// The app lives: what is known now is what a crash would leave.
    mutating func beat(at now: Moment) {
        guard let activeSince, facts != nil else { return }
        facts?.stay = LifecycleFacts.Stay(
            lastKnown: now.wall, duration: (now.suspending - activeSince).inMilliseconds)
    }

    private mutating func start(_ now: Moment) -> Output {
        var properties: Properties = ["$resume_from_background": .bool(hasStarted)]
        if let facts {
            properties["$is_first_time"] = .bool(!facts.hasStarted)
            properties.addDefaults(launchFlags(now))
            self.facts?.hasStarted = true
        }
        activeSince = now.suspending
        hasStarted = true
        beat(at: now)
        return Output(name: LifecycleEventName.start, properties: properties)
    }

    private mutating func launchFlags(_ now: Moment) -> Properties {
        guard facts != nil else { return [:] }
        let firstDay = facts?.firstDay ?? now.day
        facts?.firstDay = firstDay
        return ["$is_first_day": .bool(firstDay == now.day)]
    }

    /// The end that an earlier launch could not tell, at the last time that it was known to live.
    private mutating func makeGood() -> [Output] {
        guard let stay = unended else { return [] }
        unended = nil
        facts?.stay = nil
        return [
            Output(
                name: LifecycleEventName.end,
                properties: ["$event_duration": .double(stay.duration), "$recovered": true], time: stay.lastKnown)
        ]
    }
}

/// The names of the events that ``LifecycleEvents`` makes.
enum LifecycleEventName {
    static let start = "$AppStart"
    static let end = "$AppEnd"
    static let startPassively = "$AppStartPassively"
}
