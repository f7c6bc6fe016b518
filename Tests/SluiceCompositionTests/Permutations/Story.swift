import Sluice

/// An event that a story expects.
struct Expected: Sendable {
    /// The origin of `$app_state`.
    enum Mark: Sendable {
        case none
        /// The launch is passive, so the tagger marks the event.
        case tagger
        /// The event brings its own, because it belongs to an earlier launch.
        case own
    }

    let name: String
    /// The plugin that tracks it; nil for the host.
    let line: Line?
    /// The number of its session since the installation; nil if it belongs to no session.
    var session: Int64?
    /// `$event_duration`.
    var milliseconds: Double?
    var mark = Mark.none
    var isRecovered = false
    /// It has happened before the login.
    var isBeforeLogin = false

    var passive: Expected {
        var row = self
        if row.mark == .none { row.mark = .tagger }
        return row
    }

    static func host(_ name: String, _ session: Int64) -> Expected {
        Expected(name: name, line: nil, session: session)
    }

    static func sessionStart(_ session: Int64) -> Expected {
        Expected(name: "$SessionStart", line: .sessions, session: session)
    }

    static func sessionEnd(_ session: Int64, _ milliseconds: Double) -> Expected {
        Expected(name: "$SessionEnd", line: .sessions, session: session, milliseconds: milliseconds)
    }

    static func app(_ name: String, _ session: Int64?, _ milliseconds: Double? = nil) -> Expected {
        Expected(name: name, line: .lifecycle, session: session, milliseconds: milliseconds)
    }

    static func view(_ session: Int64) -> Expected {
        Expected(name: "$AppViewScreen", line: .screens, session: session)
    }

    static func leave(_ session: Int64, _ milliseconds: Double) -> Expected {
        Expected(name: "$AppPageLeave", line: .screens, session: session, milliseconds: milliseconds)
    }

    static func timer(_ name: String, _ session: Int64, _ milliseconds: Double) -> Expected {
        Expected(name: name, line: .timers, session: session, milliseconds: milliseconds)
    }

    static func user(_ name: String, _ session: Int64?) -> Expected {
        Expected(name: name, line: .identity, session: session)
    }

    func recovered(_ mark: Mark = .none) -> Expected {
        var row = self
        (row.isRecovered, row.mark) = (true, mark)
        return row
    }
}

/// A step of an app, and the events that it causes.
struct Step: Sendable {
    enum Action: Sendable {
        case signal(Signal)
        case track(String)
        case wait(Int)
        case endTimer
    }

    let action: Action
    var rows: [Expected] = []

    static func signal(_ signal: Signal, _ rows: Expected...) -> Step { Step(action: .signal(signal), rows: rows) }
    static func wait(_ seconds: Int) -> Step { Step(action: .wait(seconds)) }
    static func track(_ row: Expected) -> Step { Step(action: .track(row.name), rows: [row]) }
    static func endTimer(_ row: Expected) -> Step { Step(action: .endTimer, rows: [row]) }
}

/// A launch of an app. After its first signal, or with early verbs before its pipeline is built, it starts and ends a
/// timer `Warmup`, starts a timer `Timer`, logs in, sets a property of the profile, and enters a screen.
struct Launch: Sendable {
    enum End: Sendable {
        case kill
        case shutdown([Expected])
    }

    var kind = Signal.Launch.foreground
    /// The end of the app in an earlier launch, when the pipeline is built.
    var recovered: [Expected] = []
    /// The sessions that begin and end with the first signal, or with an early `sessions.start()`.
    let sessions: [Expected]
    /// The app's events at the first signal.
    var app: [Expected] = []
    let verbs: [Expected]
    let steps: [Step]
    /// The session of the `$SignUp` if the user agrees at the end of the launch: that of the login, if it is not over.
    var signUpSession: Int64?
    let end: End
}

struct Story: Sendable {
    let name: String
    let launches: [Launch]
}
