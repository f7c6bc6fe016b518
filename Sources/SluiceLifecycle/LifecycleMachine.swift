import Sluice

/// Decides which events a signal causes. This is a pure value: each method gets the time as an argument.
struct LifecycleMachine {
    struct Moment {
        var suspending: Duration
        var wall: Timestamp
        /// The local day since 1970.
        var day: Int64
    }

    enum Comparison { case pending, owed, done }

    /// Nil if earlier launches are unknown; the properties about them are then left out.
    private(set) var facts: LifecycleFacts?
    /// The suspending time of the last `$AppStart` without an `$AppEnd`.
    private var activeSince: Duration?
    private var hasStarted = false
    /// Whether a signal has said anything about the app's life.
    private(set) var hasSignals = false
    private let version: AppVersion
    /// The facts of earlier launches are among ``facts``.
    private(set) var isLoaded = false
    /// Of the app's version with that of the earlier launches. It is owed if a signal has asked for it, but the earlier facts were
    /// unknown, or its event could not be kept.
    private(set) var comparison = Comparison.pending

    /// Creates a machine that doesn't know earlier launches yet.
    init(facts: LifecycleFacts?, version: AppVersion) {
        self.facts = facts
        self.version = version
    }

    var isActive: Bool { activeSince != nil }

    /// Takes over the facts of earlier launches, once.
    ///
    /// - Returns: The `$AppEnd` of an earlier launch that crashed, at its last known time.
    mutating func adopt(_ stored: LifecycleFacts) -> CausedEvent? {
        guard !isLoaded else { return nil }
        isLoaded = true
        guard let own = facts else { return nil }
        facts?.merge(stored: stored)
        facts?.span = own.span
        return stored.span.map { span in
            CausedEvent(
                name: "$AppEnd", properties: ["$event_duration": .double(span.duration), "$recovered": true],
                time: span.lastKnown)
        }
    }

    // MARK: Versions

    /// Compares the app's version with that of the earlier launches, once they are known.
    ///
    /// - Returns: The facts with the event of a new version, if there is one. Call ``noteVersions(_:)`` when they are on disk.
    mutating func compareVersions(at now: Moment, makeID: () -> EventID) -> LifecycleFacts? {
        guard comparison != .done, var new = facts else { return nil }
        comparison = isLoaded ? .done : .owed
        guard isLoaded else { return nil }
        let former = new
        let isUpdate = former.isInstalled && version.differs(from: former.version)
        // Without a version there is no app to install: a server or a tool.
        let isInstallation = !former.isInstalled && version.isKnown
        new.isInstalled = true
        new.version.update(to: version)
        guard isUpdate || isInstallation else {
            noteVersions(new)
            return nil
        }
        let previous = isUpdate ? former.version : AppVersion()
        let properties =
            version.properties("$app_version", "$app_build")
            + previous.properties("$previous_version", "$previous_build")
        new.versionEvents.append(
            VersionEvent(id: makeID(), time: now.wall, isUpdate: isUpdate, properties: properties))
        return new
    }

    /// Takes over the result of a comparison. Nil if its event could not be kept: the next signal repeats the comparison.
    mutating func noteVersions(_ new: LifecycleFacts?) {
        guard let new else { return comparison = .owed }
        facts?.isInstalled = new.isInstalled
        facts?.version = new.version
        facts?.versionEvents = new.versionEvents
    }

    mutating func takeVersionEvents() -> [CausedEvent] {
        defer { facts?.versionEvents = [] }
        return (facts?.versionEvents ?? []).map {
            CausedEvent(name: $0.name, properties: $0.properties, time: $0.time, id: $0.id)
        }
    }

    /// Forgets the user of the app, and the time in the foreground until now. The installation and its version stay.
    mutating func forgetUser(at now: Moment) {
        activeSince = activeSince.map { _ in now.suspending }
        guard let former = facts else { return }
        facts = LifecycleFacts()
        noteVersions(former)
    }

    // MARK: Signals

    mutating func receive(_ signal: Signal, at now: Moment) -> [CausedEvent] {
        var outputs = takeVersionEvents()
        switch signal.kind {
        case .launched(.passive):
            outputs.append(CausedEvent(name: "$AppStartPassively", properties: launchFlags(now)))
        case .didBecomeActive:
            guard activeSince == nil else { break }
            outputs.append(start(now))
        case .didEnterBackground, .willTerminate:
            outputs += end(at: now)
        case .launched, .willResignActive: break
        case .connectivity, .userWillChange: return outputs
        }
        hasSignals = true
        return outputs
    }

    mutating func end(at now: Moment) -> [CausedEvent] {
        guard let start = activeSince else { return [] }
        activeSince = nil
        facts?.span = nil
        let duration = (now.suspending - start).inMilliseconds
        return [CausedEvent(name: "$AppEnd", properties: ["$event_duration": .double(duration)])]
    }

    /// Records that the app is running, for the next launch in case this one crashes.
    mutating func beat(at now: Moment) {
        guard let activeSince, facts != nil else { return }
        facts?.span = LifecycleFacts.ForegroundSpan(
            lastKnown: now.wall, duration: (now.suspending - activeSince).inMilliseconds)
    }

    private mutating func start(_ now: Moment) -> CausedEvent {
        var properties: Properties = ["$resume_from_background": .bool(hasStarted)]
        if let facts {
            properties["$is_first_time"] = .bool(!facts.hasStarted)
            properties.addDefaults(launchFlags(now))
            self.facts?.hasStarted = true
        }
        activeSince = now.suspending
        hasStarted = true
        beat(at: now)
        return CausedEvent(name: "$AppStart", properties: properties)
    }

    private mutating func launchFlags(_ now: Moment) -> Properties {
        guard facts != nil else { return [:] }
        let firstDay = facts?.firstDay ?? now.day
        facts?.firstDay = firstDay
        return ["$is_first_day": .bool(firstDay == now.day)]
    }
}
