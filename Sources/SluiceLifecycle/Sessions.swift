public import Sluice
import SluiceFiles

/// Marks every event with the session that it belongs to, and tracks where sessions begin and end.
///
/// ```swift
/// Sessions(persistedIn: .file(stateDirectory))             // 20 s in the background end one
/// Sessions(.idle(.seconds(1_800)))                         // half an hour without an event ends one
/// let sessions = Sessions(.manual)                         // sessions.start(), sessions.end()
/// ```
///
/// | event | when | properties |
/// |---|---|---|
/// | `$SessionStart` | a session begins | `$session_id`, `$session_index` |
/// | `$SessionEnd` | it has ended | `$session_id`, `$session_index`, `$event_duration` |
/// | `$SessionEnd` | after a crash, at the next launch | the same, and `$recovered` |
///
/// Every event gets `$session_id`, a random UUID, and `$session_index`, which counts the sessions of the installation,
/// or of the process without a directory to keep it in. An event that brings a `$session_id` keeps its own. Each launch
/// is a new session.
///
/// The time of a `$SessionEnd` is that at which the session is known to have been used last, even if that is found out
/// later; `$event_duration` is the time from its start to there, in milliseconds, by the continuous clock.
///
/// An automatic session also begins anew at an event in the background, if the app has been there for the limit and
/// nothing was tracked for the limit. Without signals, as in a tool, an automatic session lasts as long as the process.
///
/// All verbs may be called from any thread. Let it stand above filters that sample or limit, so that the two events of
/// a session are treated alike.
public final class Sessions: Processor {
    public static var isUnique: Bool { true }

    /// What ends a session, and begins the next.
    public enum Mode: Sendable, Hashable {
        /// So long in the background without an event; a second at least.
        case automatic(Duration)
        /// So long without an event; a second at least.
        case idle(Duration)
        /// Only the host; before its first ``Sessions/start()`` events belong to no session.
        case manual

        /// 20 s in the background.
        public static let automatic = Mode.automatic(.seconds(20))

        /// By a shorter limit, each event would be a session.
        fileprivate func validate() throws(SluiceError) {
            switch self {
            case .automatic(let limit), .idle(let limit):
                guard limit < .seconds(1) else { return }
                throw SluiceError(
                    .invalidArgument, "Sessions with a limit of \(limit): pass one second at least, or .manual")
            case .manual: return
            }
        }
    }

    /// What was last written to the file.
    private struct Saved: Equatable {
        var lastIndex: Int64
        var open: SessionMachine.Session?
        var owesRecovered: Bool
    }

    private struct State {
        var machine: SessionMachine
        var saved: Saved?
        var isLoaded = false
        /// What could not be read is not to be written over.
        var canSave = true
        var outlets: [EventOutlet] = []
    }

    private let mode: Mode
    private let file: StateFile?
    private let time: any TimeSource
    private let heartbeat: Heartbeat
    private let changes = Locked(())
    private let state: Locked<State>
    private let makeID: @Sendable () -> String

    /// - Parameters:
    ///   - mode: what ends a session.
    ///   - persistence: where what the next launch has to know is kept.
    ///   - interval: how exactly the time of a crash is known: 15 s by default. So often a small file is written while
    ///     the app is in the foreground, if there is a directory and anything has changed.
    ///   - time: its continuous clock measures.
    ///   - random: 64 uniformly distributed bits a call, of which session ids are made.
    public init(
        _ mode: Mode = .automatic, persistedIn persistence: LifecyclePersistence = .memory,
        notingEvery interval: Duration = .seconds(15), time: any TimeSource = SystemTime(),
        random: @escaping @Sendable () -> UInt64 = PipelineEnvironment.systemRandom
    ) {
        self.mode = mode
        file = persistence.file("sessions.json")
        self.time = time
        makeID = { EventID.random(random).description }
        heartbeat = Heartbeat(every: max(.seconds(1), interval), by: time)
        state = Locked(State(machine: SessionMachine(mode, makeID: makeID)))
    }

    /// The id of the session that events belong to now; nil before the first one.
    public var id: String? { state.withLock { $0.machine.current?.id } }

    /// Begins a session, which ends the one before.
    public func start() {
        act { $0.start(at: $1) }
    }

    /// Ends the session. Later events belong to none until ``start()``, or by themselves begin another one, as the mode
    /// says.
    public func end() {
        act { $0.endManually(at: $1) }
    }

    // MARK: Processor

    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a limit of less than a second.
    public func attach(to outlet: EventOutlet) throws {
        try mode.validate()
        state.withLock { $0.outlets.append(outlet) }
        load()
    }

    public func process(_ event: inout Event) -> Disposition {
        let now = time.continuousTime()
        let (outputs, outlets): ([SessionMachine.Output], [EventOutlet]) = state.withLock { state in
            // The events of a session have theirs, so these make no further ones.
            guard event.properties["$session_id"] == nil else { return ([], []) }
            if let recovered = state.machine.recovered, event.properties["$recovered"] == true {
                event.properties.addDefaults(recovered.properties)
                return ([], [])
            }
            let outputs = state.machine.event(at: now)
            if !state.machine.properties.isEmpty { event.properties.addDefaults(state.machine.properties) }
            return outputs.isEmpty ? ([], []) : (outputs, state.outlets)
        }
        if !outputs.isEmpty { finish(outputs, outlets, at: now) }
        return .keep
    }

    public func receive(_ signal: Signal) {
        act { $0.receive(signal, at: $1) }
        switch signal {
        case .didBecomeActive: startHeartbeat()
        case .didEnterBackground, .willTerminate: heartbeat.stop()
        case .launched, .willResignActive, .connectivity: break
        }
    }

    private func act(_ body: (inout SessionMachine, Duration) -> [SessionMachine.Output]) {
        let now = time.continuousTime()
        let (outputs, outlets) = state.withLock { (body(&$0.machine, now), $0.outlets) }
        finish(outputs, outlets, at: now)
    }

    private func finish(_ outputs: [SessionMachine.Output], _ outlets: [EventOutlet], at now: Duration) {
        for output in outputs {
            for outlet in outlets { track(output, outlet, at: now) }
            if case .started = output { startHeartbeat() }
        }
        // After the events: a crash between the two makes one twice, rather than never.
        save()
    }

    private func track(_ output: SessionMachine.Output, _ outlet: EventOutlet, at now: Duration) {
        switch output {
        case .started(let session):
            outlet.track("$SessionStart", session.properties)
        case .ended(let session):
            let end = SessionRecord(session, lastTime: wallTime(at: session.last))
            outlet.track("$SessionEnd", end.ending) { $0.time = end.lastTime }
        case .recovered(let end):
            var properties = end.ending
            properties["$recovered"] = true
            outlet.track("$SessionEnd", properties) { $0.time = end.lastTime }
        }
    }

    /// What the wall clock would have shown at an earlier moment, by what it shows now.
    private func wallTime(at moment: Duration) -> Timestamp {
        let (seconds, attoseconds) = (time.continuousTime() - moment).components
        let passed = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return Timestamp(milliseconds: time.wallTime().milliseconds - passed)
    }

    private func startHeartbeat() {
        guard file != nil else { return }
        heartbeat.start { [weak self] in
            guard let self else { return }
            let now = self.time.continuousTime()
            self.state.withLock { $0.machine.beat(at: now) }
            self.save()
        }
    }

    // MARK: Across launches

    private func load() {
        guard let file else { return }
        let isFirst = state.withLock { state in
            defer { state.isLoaded = true }
            return !state.isLoaded
        }
        guard isFirst else { return }
        do throws(SluiceError) {
            guard let (lastIndex, recovered) = try file.readOrKeepAside(Sessions.decode) else { return }
            state.withLock { state in
                state.machine = SessionMachine(mode, lastIndex: lastIndex, recovered: recovered, makeID: makeID)
            }
        } catch {
            if error.code != .malformedLine { state.withLock { $0.canSave = false } }
            report("the sessions of earlier launches cannot be read, so they are counted from 1: \(error)")
        }
    }

    /// Nil if it is not what ``save()`` writes.
    private static func decode(_ object: Properties) -> (lastIndex: Int64, session: SessionRecord?)? {
        guard case .int(let lastIndex) = object["last_index"], (0..<Int64.max / 2).contains(lastIndex) else {
            return nil
        }
        switch object["session"] {
        case .object(let session): return SessionRecord(session).map { (lastIndex, $0) }
        case nil: return (lastIndex, nil)
        default: return nil
        }
    }

    private func save() {
        guard let file else { return }
        changes.withLock {
            let (machine, saved, canSave) = state.withLock { ($0.machine, $0.saved, $0.canSave) }
            guard canSave else { return }
            let open = machine.isOver ? nil : machine.current
            let current = Saved(lastIndex: machine.lastIndex, open: open, owesRecovered: machine.owesRecovered)
            guard current != saved else { return }
            var object: Properties = ["last_index": .int(machine.lastIndex)]
            let record =
                open.map { SessionRecord($0, lastTime: wallTime(at: $0.last)) }
                ?? (machine.owesRecovered ? machine.recovered : nil)
            object["session"] = record.map { .object($0.object) }
            do throws(SluiceError) {
                try file.write(object)
                state.withLock { $0.saved = current }
            } catch {
                report("the session cannot be kept for the next launch: \(error)")
            }
        }
    }

    private func report(_ message: String) {
        for outlet in state.withLock({ $0.outlets }) { outlet.report(message) }
    }
}

extension SessionRecord {
    fileprivate var ending: Properties {
        var properties = properties
        properties["$event_duration"] = .double(duration)
        return properties
    }
}
