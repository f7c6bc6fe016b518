public import Sluice
import SluiceFiles

/// Turns what the platform reports into events: `$AppStart`, `$AppEnd` and `$AppStartPassively`.
///
/// | event | when | properties |
/// |---|---|---|
/// | `$AppStart` | the app becomes active, at first or after the background | `$resume_from_background`, `$is_first_time`, `$is_first_day` |
/// | `$AppEnd` | it enters the background, or is about to end in the foreground | `$event_duration` |
/// | `$AppEnd` | after a crash, at the next launch | `$event_duration`, `$recovered` |
/// | `$AppStartPassively` | the system launched it into the background | `$is_first_day`; `$app_state` by ``PassiveLaunchTagger`` |
///
/// A notification, the control centre or the app switcher make an app resign active and become active again, without a
/// background between: that is no start. `$event_duration` is the time since `$AppStart` in milliseconds with three
/// decimals, by the suspending clock.
///
/// With a directory to keep it in, it knows the first launch ever, and the day of it by the device's own calendar; and
/// it notes while the app is in the foreground that it lives. A crash or a kill in the foreground so leaves an `$AppEnd`
/// that is made good at the first signal of the next launch, with the last known time as its own. Without a directory
/// nothing is said about any of that.
///
/// It needs signals: those of `AppSignals` on Apple's platforms, of ``ProcessSignals`` on servers, or the host's own
/// calls of `pipeline.signal`. It may stand above or below ``PassiveLaunchTagger``.
public final class LifecycleEvents: Processor {
    public static var isUnique: Bool { true }

    private struct State {
        var machine: LifecycleMachine?
        var written: LifecycleFacts?
        var outlets: [EventOutlet] = []
    }

    private let file: StateFile?
    private let time: any TimeSource
    private let utcOffset: @Sendable (Timestamp) -> Int?
    private let heartbeat: Heartbeat
    // Held while a change waits for the disk.
    private let changes = Locked(())
    private let state = Locked(State())

    /// - Parameters:
    ///   - persistence: where what the next launch has to know is kept.
    ///   - interval: how exactly the time of a crash is known: 15 s by default. So often a small file is written while
    ///     the app is in the foreground, if there is a directory.
    ///   - time: its suspending clock measures the time in the foreground.
    public convenience init(
        persistedIn persistence: LifecyclePersistence = .memory, notingEvery interval: Duration = .seconds(15),
        time: any TimeSource = SystemTime()
    ) {
        self.init(
            persistedIn: persistence, notingEvery: interval, time: time, utcOffset: { LocalTime.utcOffset(at: $0) })
    }

    package init(
        persistedIn persistence: LifecyclePersistence, notingEvery interval: Duration = .seconds(15),
        time: any TimeSource, utcOffset: @escaping @Sendable (Timestamp) -> Int?
    ) {
        file = persistence.file("lifecycle.json")
        self.time = time
        self.utcOffset = utcOffset
        heartbeat = Heartbeat(every: max(.seconds(1), interval), by: time)
    }

    public func attach(to outlet: EventOutlet) throws {
        state.withLock { $0.outlets.append(outlet) }
        load()
    }

    public func process(_ event: inout Event) -> Disposition { .keep }

    public func receive(_ signal: Signal) {
        let now = now
        let (outputs, outlets): ([LifecycleMachine.Output], [EventOutlet]) = state.withLock { state in
            (state.machine?.receive(signal, at: now) ?? [], state.outlets)
        }
        for output in outputs {
            for outlet in outlets {
                outlet.track(output.name, output.properties) { event in
                    if let time = output.time { event.time = time }
                }
            }
        }
        // After the events: a crash between the two makes one twice, rather than never.
        save()
        switch signal {
        case .didBecomeActive: startHeartbeat()
        case .didEnterBackground, .willTerminate: heartbeat.stop()
        case .launched, .willResignActive, .connectivity: break
        }
    }

    private var now: LifecycleMachine.Moment {
        let wall = time.wallTime()
        let local = wall.milliseconds.addingReportingOverflow(Int64(utcOffset(wall) ?? 0) * 60_000).partialValue
        let day = local / 86_400_000 - (local % 86_400_000 < 0 ? 1 : 0)
        return LifecycleMachine.Moment(suspending: time.suspendingTime(), wall: wall, day: day)
    }

    private func startHeartbeat() {
        guard file != nil, state.withLock({ $0.machine?.isActive == true }) else { return }
        heartbeat.start { [weak self] in
            guard let self else { return }
            let now = self.now
            self.state.withLock { $0.machine?.beat(at: now) }
            self.save()
        }
    }

    // MARK: Across launches

    private func load() {
        guard state.withLock({ $0.machine == nil }) else { return }
        var facts: LifecycleFacts?
        do throws(SluiceError) {
            if let file { facts = try file.readOrKeepAside { LifecycleFacts($0) } ?? LifecycleFacts() }
        } catch {
            report("what is known of earlier launches cannot be read, so nothing is said of them: \(error)")
            // Of a file that was kept aside, the next launch is to know more.
            if error.code == .malformedLine { facts = LifecycleFacts(isFirstLaunch: false) }
        }
        state.withLock { state in
            guard state.machine == nil else { return }
            state.machine = LifecycleMachine(facts: facts)
            state.written = facts
        }
    }

    private func save() {
        guard let file else { return }
        changes.withLock {
            let (facts, written) = state.withLock { ($0.machine?.facts, $0.written) }
            guard let facts, facts != written else { return }
            do throws(SluiceError) {
                try file.write(facts.object)
                state.withLock { $0.written = facts }
            } catch {
                report("what the next launch has to know cannot be kept: \(error)")
            }
        }
    }

    private func report(_ message: String) {
        for outlet in state.withLock({ $0.outlets }) { outlet.report(message) }
    }
}
