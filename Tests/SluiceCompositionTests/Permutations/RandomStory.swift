import Sluice
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport

/// A host that does anything at any time, in several launches. Its seed decides all of it.
struct RandomStory: CustomStringConvertible {
    private var random: SeededRandom
    private var observer: StoryObserver
    private var hostEvents = 0
    private(set) var steps = 0
    /// What the host has done, for a failure.
    private(set) var log: [String] = []

    var description: String {
        "\(observer.shared.map(\.rawValue)) \(observer.own.map(\.rawValue)) \(observer.whilePending): \(log)"
    }

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let lines = Line.allCases.shuffled(using: &random)
        let routes = Int.random(in: 1...2, using: &random)
        let own = routes == 1 ? [] : lines.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        let pending: [Consent.WhilePending] = [.drop, .keep, .hold]
        let index = Int.random(in: 0..<3, using: &random)
        observer = StoryObserver(
            shared: lines.filter { !own.contains($0) }, own: own, routes: routes, whilePending: pending[index])
        self.random = random
    }

    private mutating func chance(_ part: Int, of whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }

    private mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func run() async throws {
        var disk = MemoryPlace()
        var wall = Timestamp(milliseconds: 1_767_225_600_000)
        for _ in 0..<number(1..<5) {
            let time = VirtualTime(wallTime: wall)
            let app = AppLaunch(
                disk, at: time, routes: observer.routes, whilePending: observer.whilePending, seed: random.next())
            let isKilled = chance(1, of: 2)
            log.append("LAUNCH")
            observer.beginLaunch()
            if chance(1, of: 2) { for _ in 0..<number(1..<5) { try callVerb(app) } }
            let pipeline = try app.build(observer.shared, inLastRoute: observer.own)
            log.append("build")
            try observer.check(app, disk)
            for _ in 0..<number(2..<25) {
                // Each step has a time of its own.
                time.advance(by: .milliseconds(chance(1, of: 20) ? 3_600_000 : number(1..<15_000)))
                try perform(pipeline, app)
                try observer.check(app, disk)
                steps += 1
            }
            time.advance(by: .milliseconds(1))
            if isKilled {
                log.append("kill")
                await writesAreDone(of: pipeline)
                let next = disk.copy()
                try observer.endLaunch(isKilled: true)
                await pipeline.shutdown(timeout: .seconds(600))
                disk = next
            } else {
                log.append("shutdown")
                let ledger = await pipeline.shutdown(timeout: .seconds(600))
                guard ledger.isBalanced else { throw StoryObserver.Violation(description: "not balanced") }
                try observer.check(app, disk, isEnd: true)
                try observer.endLaunch(isKilled: false)
            }
            wall = Timestamp(milliseconds: time.wallTime().milliseconds + 60_000)
        }
    }

    private mutating func perform(_ pipeline: Pipeline, _ app: AppLaunch) throws {
        switch number(0..<10) {
        case 0..<4:
            let signals: [Signal] = [
                .launched(.foreground), .launched(.passive), .launched(.prewarmed), .didBecomeActive, .didBecomeActive,
                .didBecomeActive, .willResignActive, .didEnterBackground, .didEnterBackground,
                .connectivity(.unavailable), .connectivity(.available),
                chance(1, of: 8) ? .willTerminate : .didBecomeActive,
            ]
            let signal = signals[number(0..<signals.count)]
            log.append("\(signal)")
            observer.willSignal(signal, at: app.time.suspendingTime())
            pipeline.signal(signal)
        case 4..<7:
            hostEvents += 1
            let name = "Host \(hostEvents)"
            log.append(name)
            observer.willTrack(name, app)
            pipeline.track(name)
        default: try callVerb(app)
        }
    }

    private static let verbs = [
        "login", "login", "logout", "reset", "profile", "timer", "timer", "timer", "enter", "show", "leave",
        "sessions.start", "sessions.end", "grant", "grant", "deny",
    ]

    private mutating func callVerb(_ app: AppLaunch) throws {
        let now = app.time.suspendingTime()
        let verb = number(0..<16)
        log.append(RandomStory.verbs[verb])
        switch verb {
        case 0, 1: try logIn("user \(number(0..<3))", app)
        case 2:
            observer.didLogOut(app.identity)
            try app.identity.logout()
        case 3: try app.identity.reset()
        case 4: app.identity.profile.set(["plan": "pro"])
        case 5...7: changeTimer("Timer \(number(0..<3))", app, at: now)
        case 8: app.screens.enter("Screen \(number(0..<3))")
        case 9: app.screens.show("Screen \(number(0..<3))")
        case 10: app.screens.leave("Screen \(number(0..<3))")
        case 11:
            observer.willStartSession()
            app.sessions.start()
        case 12: app.sessions.end()
        case 13, 14:
            try app.consent.grant()
            observer.didGrant()
        default:
            try app.consent.deny()
            observer.didDeny()
        }
    }

    private mutating func logIn(_ user: String, _ app: AppLaunch) throws {
        try app.identity.login(user)
        observer.didLogIn(user, app.identity)
    }

    private mutating func changeTimer(_ name: String, _ app: AppLaunch, at now: Duration) {
        switch number(0..<5) {
        case 0, 1:
            observer.willStartTimer(name, at: now)
            app.timers.start(name)
        case 2: app.timers.pause(name)
        case 3:
            observer.willResumeTimer(name)
            app.timers.resume(name)
        default:
            observer.willEndTimer(name, at: now)
            app.timers.end(name)
        }
    }
}
