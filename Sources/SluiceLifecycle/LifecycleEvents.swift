public import Sluice

/// Turns signals from the platform into events: `$AppStart`, `$AppEnd` and `$AppStartPassively`. Tracks `$AppInstall`
/// and `$AppUpdate`.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Sessions(persistedIn: .file(stateDirectory))
///     LifecycleEvents(persistedIn: .file(stateDirectory), appVersion: "2.4.1", appBuild: "1312")
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// ```
///
/// | event | when | properties |
/// |---|---|---|
/// | `$AppInstall` | at the first launch | `$app_version`, `$app_build` |
/// | `$AppUpdate` | at a launch with another version or build | the same, `$previous_version`, `$previous_build` |
/// | `$AppStart` | the app becomes active, at first or after the background | `$resume_from_background`, `$is_first_time`, `$is_first_day` |
/// | `$AppEnd` | it enters the background, or the pipeline or the process ends in the foreground | `$event_duration` |
/// | `$AppEnd` | after a crash, at the next launch | `$event_duration`, `$recovered` |
/// | `$AppStartPassively` | the system launches it into the background | `$is_first_day`; `$app_state` by `PassiveLaunchTagger` |
///
/// A notification, the control centre or the app switcher only interrupt an app, so they cause no events.
/// `$event_duration` is the time since `$AppStart` in milliseconds with three decimals, by the suspending clock.
///
/// With a persistence, it knows the first launch and its day, by the local calendar. While the app is in the
/// foreground, it regularly notes the time: after a crash or a kill, building the next pipeline causes the missing
/// `$AppEnd`, with the last noted time. A `Pipeline.shutdown` in the foreground tracks an `$AppEnd` without `$recovered`.
/// Without a persistence, `$is_first_time`, `$is_first_day` and `$recovered` are left out.
///
/// `$AppInstall` and `$AppUpdate` need a persistence and a version or a build. The first signal of a launch causes
/// them, before its own event. A lower version is an update too. The state is on disk before the event is tracked. If
/// the process ends before the event is stored, the next launch tracks it, with the id and the time of the first
/// attempt. If it ends after that and before the state is updated, the next launch tracks the event a second time, with
/// the same id. Receivers drop it as a duplicate. If the state can't be written, no event is tracked, and the next
/// signal makes another attempt.
///
/// It needs signals: from `AppSignals` on Apple's platforms, from ``ProcessSignals`` on servers, or from your own calls
/// of `pipeline.signal`. If the pipeline ends without a signal, a diagnostic says so. List it above `Screens` and below
/// ``Sessions``.
public final class LifecycleEvents: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let utcOffset: @Sendable (Timestamp) -> Int?
    private let heartbeat: Heartbeat
    private let kept: PersistedState<LifecycleFacts>
    private let version: AppVersion
    private let machine: Locked<LifecycleMachine>

    /// Creates the processor.
    ///
    /// ```swift
    /// // The app had a database before it had Sluice.
    /// let isExistingUser = FileManager.default.fileExists(atPath: "/tmp/notes.sqlite")
    /// let events = LifecycleEvents(persistedIn: .file(stateDirectory), isExistingUser: isExistingUser)
    /// ```
    ///
    /// - Parameters:
    ///   - persistence: Where the facts for the next launch are kept.
    ///   - interval: How precisely the time of a crash is known; at least 1 s. The state is written this often while
    ///     the app is in the foreground.
    ///   - appVersion: The app's version, of at most 255 bytes; nil for the bundle's version on Apple's platforms.
    ///     Without a version and a build there is no `$AppInstall` and no `$AppUpdate`.
    ///   - appBuild: The number of the build, of at most 255 bytes; nil for the bundle's on Apple's platforms.
    ///   - isExistingUser: Whether your app was installed before it had this processor, as far as you know from your
    ///     own data. The first launch with this processor then doesn't count as an installation, and its `$AppStart`
    ///     isn't the first one.
    public convenience init(
        persistedIn persistence: Persistence = .memory, notingEvery interval: Duration = .seconds(15),
        appVersion: String? = nil, appBuild: String? = nil, isExistingUser: Bool = false
    ) {
        self.init(
            persistedIn: persistence, notingEvery: interval, appVersion: appVersion, appBuild: appBuild,
            isExistingUser: isExistingUser, utcOffset: { LocalTime.utcOffset(at: $0) })
    }

    package init(
        persistedIn persistence: Persistence, notingEvery interval: Duration = .seconds(15),
        appVersion: String? = nil, appBuild: String? = nil, isExistingUser: Bool = false,
        utcOffset: @escaping @Sendable (Timestamp) -> Int?
    ) {
        self.utcOffset = utcOffset
        var known = AppVersion.ofBundle
        known.update(to: AppVersion(number: appVersion, build: appBuild))
        version = known
        heartbeat = Heartbeat(every: interval)
        let initial = isExistingUser ? LifecycleFacts.unknown : LifecycleFacts()
        kept = PersistedState(
            "lifecycle", in: persistence, initial: initial, ifDamaged: .unknown, report: context.report)
        machine = Locked(LifecycleMachine(facts: kept.isPersistent ? initial : nil, version: known))
    }

    /// Reads the facts of earlier launches, and tracks the `$AppEnd` of a launch that has crashed.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a version or a build of more than 255 bytes, with a blank at an
    ///   end or with a control character, such as the newline of a file; and an error of the place where the facts are kept.
    public func prepare() throws {
        for case let text? in [version.number, version.build] {
            let length = "is longer than \(AppVersion.maximumBytes) bytes: pass the one that users see"
            guard let flaw = text.utf8.count > AppVersion.maximumBytes ? length : text.flaw else { continue }
            throw SluiceError(.invalidArgument, "a version or a build \(flaw)")
        }
        try kept.load()
        StateGate.current?.add(self)
        // The end comes before that of its session, because the context keeps it until all processors are prepared.
        adopt()
        // After that event is stored: otherwise, each launch without a signal of the app would recover it once more.
        context.whenOpen { [weak self] in
            if let self { kept.update(note) }
        }
    }

    /// Takes over the facts of earlier launches, and tracks the `$AppEnd` of a launch that has crashed. Without the user's
    /// consent, this does nothing until the grant.
    private func adopt() {
        guard !machine.withLock(\.isLoaded) else { return }
        let end = kept.readIfLoaded { stored in machine.withLock { $0.adopt(stored) } }
        if case let end?? = end { track([end]) }
    }

    /// Keeps the event unchanged.
    public func process(_ event: inout Event) -> Disposition { .keep }

    /// Tracks the events that a signal causes.
    public func emit(for signal: Signal) {
        guard signal != .userWillChange else { return }
        let now = now
        adopt()
        keepVersions(at: now)
        track(machine.withLock { $0.receive(signal, at: now) })
        // After the events: a crash between the two repeats one, rather than losing it.
        switch signal.kind {
        case .didEnterBackground, .willTerminate:
            heartbeat.stop()
            // Immediately, because the process may be suspended or killed soon.
            kept.saveOrReport(note)
        case .didBecomeActive, .launched, .willResignActive, .connectivity, .userWillChange:
            kept.update(note)
            if signal == .didBecomeActive { startHeartbeat() }
        }
    }

    /// Forgets the first launch and the time in the foreground. The next `$AppStart` is the first one of a new user. There is
    /// no second `$AppInstall`.
    public func forget() {
        adopt()
        let now = now
        machine.withLock { $0.forgetUser(at: now) }
        kept.update(note)
    }

    /// Tracks an `$AppEnd` if the app is in the foreground, and returns when the facts for the next launch are stored.
    public func finish() async {
        heartbeat.stop()
        let now = now
        adopt()
        track(machine.withLock { $0.end(at: now) })
        if !machine.withLock(\.hasSignals) {
            context.report(
                "the life of the app is not tracked, because no signal has come: create AppSignals or ProcessSignals, or call "
                    + "pipeline.signal(.didBecomeActive)")
        }
        kept.update(note)
        await kept.finish()
    }

    private func track(_ outputs: [CausedEvent]) {
        for output in outputs {
            context.track(output.name, output.properties) { event in
                let time = output.time ?? event.time
                event = Event(
                    id: output.id ?? event.id, name: event.name, time: time, properties: event.properties)
            }
        }
    }

    /// Writes the app's new version with the event that it causes, before the event is tracked.
    private func keepVersions(at now: LifecycleMachine.Moment) {
        let new = machine.withLock { machine in
            machine.compareVersions(at: now) { context.newEventID(at: now.wall) }
        }
        guard let new else { return }
        let isKept = kept.saveOrReport { $0 = new }
        machine.withLock { $0.noteVersions(isKept ? new : nil) }
        // If the event were tracked now, every launch would track it.
        if !isKept { kept.update(note) }
    }

    private var now: LifecycleMachine.Moment {
        let time = context.time
        let wall = time.wallTime()
        let local = wall.milliseconds.addingReportingOverflow(Int64(utcOffset(wall) ?? 0) * 60_000).partialValue
        let day = local / 86_400_000 - (local % 86_400_000 < 0 ? 1 : 0)
        return LifecycleMachine.Moment(suspending: time.suspendingTime(), wall: wall, day: day)
    }

    private func startHeartbeat() {
        guard kept.isPersistent, machine.withLock(\.isActive) else { return }
        heartbeat.start(context.time) { [weak self] in
            guard let self else { return }
            let now = self.now
            self.machine.withLock { $0.beat(at: now) }
            self.kept.update(self.note)
        }
    }

    /// Copies the machine's facts into the state. Does nothing until the facts of earlier launches are loaded.
    private func note(_ facts: inout LifecycleFacts) {
        if let known = machine.withLock({ $0.isLoaded ? $0.facts : nil }) { facts = known }
    }
}

extension LifecycleEvents: KeptState {
    /// Continues the facts of earlier launches, and tracks an `$AppInstall` or an `$AppUpdate` that could not be kept
    /// without the user's consent.
    package func keep() {
        adopt()
        if machine.withLock(\.comparison) == .owed {
            keepVersions(at: now)
            track(machine.withLock { $0.takeVersionEvents() })
        }
        kept.saveOrReport(note)
    }

    /// The facts are removed as a state of their own.
    package func remove(forgetting: Bool) -> Int { 0 }
}
