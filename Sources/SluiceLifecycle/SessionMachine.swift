import Sluice

/// Decides when sessions begin and end. This is a pure value: each method gets the current time.
struct SessionMachine {
    /// A time by two clocks. The continuous clock measures sessions, and the wall clock dates them.
    struct Moment: Equatable {
        var continuous: Duration
        var wall: Timestamp

        /// The same time, or `limit` if that is earlier.
        func limited(to limit: Duration) -> Moment {
            continuous > limit ? Moment(continuous: limit, wall: wallTime(at: limit)) : self
        }

        /// The time that this wall clock shows or has shown at a time of the continuous clock.
        func wallTime(at other: Duration) -> Timestamp {
            let (seconds, attoseconds) = (continuous - other).components
            return Timestamp(milliseconds: wall.milliseconds - seconds * 1_000 - attoseconds / 1_000_000_000_000_000)
        }
    }

    struct Session: Equatable {
        let id: String
        var index: Int64 { didSet { properties["$session_index"] = .int(index) } }
        let start: Moment
        /// The last known time of the session.
        var last: Moment
        /// Its end has been tracked. It still marks the last events of other plugins.
        var isOver = false
        /// Built when it begins, and not for each event.
        private(set) var properties: Properties

        init(_ id: String, _ index: Int64, at start: Moment) {
            (self.id, self.index, self.start, last) = (id, index, start, start)
            properties = ["$session_id": .string(id), "$session_index": .int(index)]
        }

        /// Milliseconds.
        var duration: Double { (last.continuous - start.continuous).inMilliseconds }
    }

    /// The launches before this one.
    private enum Earlier {
        case unknown
        /// No session of theirs has to be ended.
        case ended
        /// A session was open when its launch crashed. Its last events may still come, also after its end was tracked.
        case crashed(SessionRecord, isEndTracked: Bool)
    }

    private enum Leaving { case user, process }

    let mode: Sessions.Mode
    /// Nil for sessions that the host begins and ends.
    private let maximumLength: Duration?
    private let makeID: @Sendable (Timestamp) -> String
    private(set) var lastIndex: Int64 = 0
    /// The indices of the sessions that began before the facts of earlier launches were known, by their ids. The first ones.
    private(set) var earlyIndices: [String: Int64] = [:]
    private static let maximumEarlyIndices = 1_000
    private var earlier = Earlier.unknown
    private(set) var current: Session?
    /// The user is about to change, or the process is about to end: the last events of other plugins begin no session. Before the
    /// end of the process, only ``start(at:)`` does.
    private var leaving: Leaving?
    private var lastEvent = Duration.zero
    /// Nil in the foreground, and without signals.
    private var backgroundSince: Duration?
    /// The app was launched passively, and has not become active.
    private(set) var isPassive = false
    /// The user has changed in a session, so the next event begins another one, also a manual one.
    private var isRenewing = false

    init(_ mode: Sessions.Mode, maximumLength: Duration, makeID: @escaping @Sendable (Timestamp) -> String) {
        self.mode = mode
        self.maximumLength = mode == .manual ? nil : maximumLength
        self.makeID = makeID
    }

    /// Whether the facts of earlier launches are known.
    var hasAdopted: Bool { if case .unknown = earlier { false } else { true } }

    /// The session of an earlier launch that crashed.
    var recovered: SessionRecord? { if case .crashed(let session, _) = earlier { session } else { nil } }

    /// The facts for the next launch; nil until the ones of earlier launches are known.
    var facts: SessionFacts? {
        guard hasAdopted else { return nil }
        var facts = SessionFacts()
        facts.lastIndex = lastIndex
        if case .crashed(let session, isEndTracked: false) = earlier {
            // After a grant, its end can still be due. It comes first, because its events were tracked.
            facts.session = session
        } else if let current, !current.isOver {
            facts.session = SessionRecord(current, isPassive: isPassive)
        }
        return facts
    }

    /// Adds the facts of earlier launches, once. A session that has begun already stays, and is counted after the earlier ones.
    mutating func adopt(_ facts: SessionFacts) {
        guard !hasAdopted else { return }
        earlier = facts.session.map { .crashed($0, isEndTracked: false) } ?? .ended
        lastIndex += facts.lastIndex
        earlyIndices = earlyIndices.mapValues { $0 + facts.lastIndex }
        current?.index += facts.lastIndex
    }

    /// Forgets the session whose end was tracked, because another pipeline begins.
    mutating func reopen() {
        if leaving == .process { leaving = nil }
        if current?.isOver != false { forget() }
    }

    /// Forgets the session, because the user changes.
    mutating func renew() {
        if leaving == .user { leaving = nil }
        forget(thenRenews: current != nil || isRenewing)
    }

    /// Forgets the user, also of earlier launches, without an event.
    mutating func forgetUser() {
        renew()
        (lastIndex, earlyIndices) = (0, [:])
        if hasAdopted { earlier = .ended }
    }

    /// Call this before an event of this time is marked.
    mutating func event(of time: Timestamp, at now: Moment) -> [CausedEvent] {
        let outputs = isDue(at: now) ? start(at: now, firstEvent: time) : recoverUnfinished()
        lastEvent = now.continuous
        lasts(until: now)
        return outputs
    }

    mutating func receive(_ signal: Signal, at now: Moment) -> [CausedEvent] {
        switch signal.kind {
        case .launched(let launch):
            isPassive = launch.isPassive
            if isPassive { backgroundSince = now.continuous }
            return launch == .prewarmed ? [] : renewIfNeeded(at: now)
        case .didBecomeActive:
            isPassive = false
            let outputs = renewIfNeeded(at: now)
            backgroundSince = nil
            lasts(until: now)
            return outputs
        case .didEnterBackground:
            beat(at: now)
            backgroundSince = backgroundSince ?? now.continuous
            return []
        case .willTerminate, .userWillChange:
            // The last events of other plugins still have the session.
            if leaving != .process { leaving = signal == .willTerminate ? .process : .user }
            beat(at: now)
            return recoverUnfinished() + end()
        case .willResignActive, .connectivity:
            return []
        }
    }

    /// Records that the app is running. That doesn't extend a session with an idle limit.
    mutating func beat(at now: Moment) {
        if case .idle = mode { return }
        if backgroundSince == nil { lasts(until: now) }
    }

    /// Begins a session, for an event of a time that was tracked a little earlier, or now.
    mutating func start(at now: Moment, firstEvent: Timestamp? = nil) -> [CausedEvent] {
        let outputs = recoverUnfinished() + end()
        lastIndex += 1
        // Backends read the start from the id, and refuse an event before it.
        let time = min(now.wall, firstEvent ?? now.wall)
        let session = Session(makeID(time), lastIndex, at: now)
        current = session
        if !hasAdopted, earlyIndices.count < SessionMachine.maximumEarlyIndices { earlyIndices[session.id] = lastIndex }
        if leaving == .process { leaving = nil }
        isRenewing = false
        lastEvent = now.continuous
        return outputs + [CausedEvent(name: "$SessionStart", properties: session.properties, time: time)]
    }

    /// Ends the session for later events too.
    mutating func endManually(at now: Moment) -> [CausedEvent] {
        lasts(until: now)
        let outputs = end()
        forget()
        return outputs
    }

    /// Forgets the session, whose end was tracked.
    mutating func forget(thenRenews isRenewing: Bool = false) {
        (current, self.isRenewing) = (nil, isRenewing)
    }

    private mutating func end() -> [CausedEvent] {
        guard let session = current, !session.isOver else { return [] }
        current?.isOver = true
        return [SessionRecord(session).end(isRecovered: false)]
    }

    private mutating func lasts(until now: Moment) {
        guard let session = current, !session.isOver, !hasJumped(since: session, at: now) else { return }
        let end = maximumLength.map { now.limited(to: session.start.continuous + $0) } ?? now
        if end.continuous >= session.last.continuous { current?.last = end }
    }

    private mutating func recoverUnfinished() -> [CausedEvent] {
        guard case .crashed(let session, isEndTracked: false) = earlier else { return [] }
        earlier = .crashed(session, isEndTracked: true)
        return [session.end(isRecovered: true)]
    }

    private mutating func renewIfNeeded(at now: Moment) -> [CausedEvent] {
        isDue(at: now) ? start(at: now) : recoverUnfinished()
    }

    /// Whether an event at this time begins a session.
    func isDue(at now: Moment) -> Bool {
        if leaving != nil { return false }
        guard let current else { return mode != .manual || isRenewing }
        if let maximumLength, now.continuous - current.start.continuous >= maximumLength { return true }
        if hasJumped(since: current, at: now) { return true }
        switch mode {
        case .automatic(let limit):
            guard let backgroundSince else { return false }
            return now.continuous - backgroundSince >= limit && now.continuous - lastEvent >= limit
        case .idle(let limit):
            return now.continuous - current.last.continuous >= limit
        case .manual:
            return false
        }
    }

    /// Whether the wall clock was set forth or back by more than the limit of a session, or to more than a second before it. The
    /// times of later events have nothing to do with the time in the session's id.
    private func hasJumped(since session: Session, at now: Moment) -> Bool {
        let start = session.start.wall.milliseconds
        let change = abs(now.wallTime(at: session.start.continuous).milliseconds - start)
        switch mode {
        case .automatic(let limit), .idle(let limit):
            return now.wall.milliseconds < start - Sessions.tolerance || Double(change) > limit.inMilliseconds
        case .manual: return false
        }
    }
}

/// A session as the next launch needs it after a crash.
struct SessionRecord: Sendable, Equatable {
    var id: String
    var index: Int64
    /// The last known time of the session.
    var lastTime: Timestamp
    /// Milliseconds.
    var duration: Double
    /// Whether the app was launched passively, and never opened.
    var isPassive: Bool

    init(_ session: SessionMachine.Session, isPassive: Bool = false) {
        (id, index, self.isPassive) = (session.id, session.index, isPassive)
        (duration, lastTime) = (session.duration, session.last.wall)
    }

    init?(_ object: Properties) {
        guard case .string(let id) = object["id"], case .int(let index) = object["index"],
            case .date(let lastTime) = object["last_known"], case .double(let duration) = object["duration"],
            duration >= 0
        else { return nil }
        (self.id, self.index, self.lastTime, self.duration) = (id, index, lastTime, duration)
        // Earlier releases didn't write this member.
        isPassive = object["is_passive"] == true
    }

    var object: Properties {
        [
            "id": .string(id), "index": .int(index), "last_known": .date(lastTime), "duration": .double(duration),
            "is_passive": .bool(isPassive),
        ]
    }

    var properties: Properties { ["$session_id": .string(id), "$session_index": .int(index)] }

    /// The `$SessionEnd`. A recovered one is of an earlier launch that crashed.
    func end(isRecovered: Bool) -> CausedEvent {
        var properties = properties + ["$event_duration": .double(duration)]
        if isRecovered { properties["$recovered"] = true }
        if isRecovered, isPassive { properties["$app_state"] = "background" }
        return CausedEvent(name: "$SessionEnd", properties: properties, time: lastTime)
    }
}

/// The facts that ``Sessions`` keeps for the next launch.
struct SessionFacts: PersistedValue {
    var lastIndex: Int64 = 0
    var session: SessionRecord?

    init() {}

    init?(_ object: Properties) {
        guard case .int(let lastIndex) = object["last_index"], (0..<Int64.max / 2).contains(lastIndex) else {
            return nil
        }
        self.lastIndex = lastIndex
        if let value = object["session"] {
            guard let session = value.object.flatMap(SessionRecord.init) else { return nil }
            self.session = session
        }
    }

    /// Adds the facts of earlier launches: the sessions of this launch are counted after the stored ones.
    mutating func merge(stored: SessionFacts) {
        lastIndex += stored.lastIndex
        session?.index += stored.lastIndex
        session = session ?? stored.session
    }

    var object: Properties { Properties(known: ["last_index": lastIndex, "session": session?.object]) }
}
