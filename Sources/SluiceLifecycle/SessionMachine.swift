import Sluice

/// When sessions begin and end: a pure value, to which the time is told by the continuous clock.
struct SessionMachine {
    struct Session: Equatable {
        var id: String
        var index: Int64
        var start: Duration
        /// Until when it is known to have lasted.
        var last: Duration

        var properties: Properties { ["$session_id": .string(id), "$session_index": .int(index)] }

        /// Milliseconds.
        var duration: Double { (last - start).inMilliseconds }

        mutating func lasts(until now: Duration) {
            last = max(last, now)
        }
    }

    enum Output: Equatable {
        case started(Session)
        case ended(Session)
        /// The one that an earlier launch could not end.
        case recovered(SessionRecord)
    }

    private let mode: Sessions.Mode
    private let makeID: @Sendable () -> String
    private(set) var lastIndex: Int64
    /// What an earlier launch left open; its last events may still come.
    let recovered: SessionRecord?
    /// ``recovered`` has not been told to be over.
    private(set) var owesRecovered: Bool
    private(set) var current: Session?
    /// The properties of ``current``, joined when it begins.
    private(set) var properties: Properties = [:]
    /// ``current`` still marks events, but has been told to be over.
    private(set) var isOver = false
    private var lastEvent = Duration.zero
    /// Nil in the foreground, and where nobody reports what the app does.
    private var backgroundSince: Duration?

    init(
        _ mode: Sessions.Mode, lastIndex: Int64 = 0, recovered: SessionRecord? = nil,
        makeID: @escaping @Sendable () -> String
    ) {
        self.mode = mode
        self.lastIndex = lastIndex
        self.recovered = recovered
        owesRecovered = recovered != nil
        self.makeID = makeID
    }

    /// An event is about to be marked.
    mutating func event(at now: Duration) -> [Output] {
        let outputs = renewIfNeeded(at: now)
        lastEvent = now
        lasts(until: now)
        return outputs
    }

    mutating func receive(_ signal: Signal, at now: Duration) -> [Output] {
        switch signal {
        case .launched(let launch):
            if launch == .passive { backgroundSince = backgroundSince ?? now }
            return renewIfNeeded(at: now)
        case .didBecomeActive:
            let outputs = renewIfNeeded(at: now)
            backgroundSince = nil
            lasts(until: now)
            return outputs
        case .didEnterBackground:
            beat(at: now)
            backgroundSince = backgroundSince ?? now
            return []
        case .willTerminate:
            beat(at: now)
            return end()
        case .willResignActive, .connectivity:
            return []
        }
    }

    /// The app lives. Whether it is used, an idle limit cannot tell by that.
    mutating func beat(at now: Duration) {
        if case .idle = mode { return }
        if backgroundSince == nil { lasts(until: now) }
    }

    mutating func start(at now: Duration) -> [Output] {
        let outputs = makeGood() + end()
        lastIndex += 1
        let session = Session(id: makeID(), index: lastIndex, start: now, last: now)
        current = session
        properties = session.properties
        isOver = false
        lastEvent = now
        return outputs + [.started(session)]
    }

    /// It is over for later events too.
    mutating func endManually(at now: Duration) -> [Output] {
        lasts(until: now)
        let outputs = end()
        current = nil
        properties = [:]
        return outputs
    }

    private mutating func end() -> [Output] {
        guard let current, !isOver else { return [] }
        isOver = true
        return [.ended(current)]
    }

    private mutating func lasts(until now: Duration) {
        if !isOver { current?.lasts(until: now) }
    }

    private mutating func makeGood() -> [Output] {
        guard let recovered, owesRecovered else { return [] }
        owesRecovered = false
        return [.recovered(recovered)]
    }

    private mutating func renewIfNeeded(at now: Duration) -> [Output] {
        guard let current else { return mode == .manual ? makeGood() : start(at: now) }
        switch mode {
        case .automatic(let limit):
            guard let backgroundSince, now - backgroundSince >= limit, now - lastEvent >= limit else { return [] }
            return start(at: now)
        case .idle(let limit):
            return now - current.last >= limit ? start(at: now) : []
        case .manual:
            return []
        }
    }
}

/// What is kept of a session while it goes on, for when nobody can end it.
struct SessionRecord: Equatable {
    var id: String
    var index: Int64
    /// Until when it is known to have lasted.
    var lastTime: Timestamp
    /// Milliseconds.
    var duration: Double

    init(_ session: SessionMachine.Session, lastTime: Timestamp) {
        id = session.id
        index = session.index
        duration = session.duration
        self.lastTime = lastTime
    }

    init?(_ object: Properties) {
        guard case .string(let id) = object["id"], case .int(let index) = object["index"],
            case .date(let lastTime) = object["last_known"], case .double(let duration) = object["duration"],
            duration >= 0
        else { return nil }
        self.id = id
        self.index = index
        self.lastTime = lastTime
        self.duration = duration
    }

    var object: Properties {
        ["id": .string(id), "index": .int(index), "last_known": .date(lastTime), "duration": .double(duration)]
    }

    var properties: Properties { ["$session_id": .string(id), "$session_index": .int(index)] }
}
