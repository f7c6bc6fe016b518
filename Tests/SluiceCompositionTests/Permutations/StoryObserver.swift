import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport

/// Knows what has happened in a random story, and checks its events. `RandomStoryTests` lists the invariants.
struct StoryObserver {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    /// The lines that all routes share, and the lines of the second route.
    let shared: [Line]
    let own: [Line]
    let routes: Int
    let whilePending: Consent.WhilePending

    // MARK: The whole story

    private var ids: [Set<EventID>]
    private var sessionIndices: [PropertyValue: PropertyValue] = [:]
    private var sessionStarts: [Set<PropertyValue>]
    private var sessionEnds: [Set<PropertyValue>]
    private var signUps: [[PropertyValue: Int]]
    /// The sessions of launches that were killed.
    private var killedSessions: Set<String> = []
    private var hasCrashed = false
    /// The user who has logged in first under an anonymous id, until a logout.
    private var joined: [String: String] = [:]
    private var known: Set<String> = []

    // MARK: The launch

    private var life = AppLife()
    private var sessions: Set<String> = []
    private var isPassive = false
    private var isTerminated = false
    /// The beginning of the activation.
    private var active: Duration?
    /// The time that timers count, and the moment since which it runs.
    private var counted = Duration.zero
    private var countsSince: Duration? = .zero
    private var activations = 0
    private var appStarts: [Int]
    /// Whether each route was open during the whole launch.
    private var wasOpen: [Bool]
    /// The phases by the times of the steps, in milliseconds.
    private var passiveAt: [Int64: Bool] = [:]
    private var activeAt: Set<Int64> = []
    /// The host's events that a route must have, or may get after a grant.
    private var expected: [[String]]
    private var held: [[String]]
    private var arrived: [[String]]
    private var counts: [Int]
    private var lastIndex: [Int]
    private var startsAndEnds: [Int]
    /// The counted time at the start of each timer; nil for a timer that was started or resumed in the background.
    private var timers: [String: Duration?] = [:]
    private var endedTimer: Duration?

    init(shared: [Line], own: [Line], routes: Int, whilePending: Consent.WhilePending) {
        (self.shared, self.own, self.routes, self.whilePending) = (shared, own, routes, whilePending)
        ids = Array(repeating: [], count: routes)
        (sessionStarts, sessionEnds) = (Array(repeating: [], count: routes), Array(repeating: [], count: routes))
        signUps = Array(repeating: [:], count: routes)
        (appStarts, counts, startsAndEnds) = (
            Array(repeating: 0, count: routes), Array(repeating: 0, count: routes), Array(repeating: 0, count: routes)
        )
        wasOpen = Array(repeating: true, count: routes)
        expected = Array(repeating: [], count: routes)
        (held, arrived) = (expected, expected)
        lastIndex = Array(repeating: 0, count: routes)
    }

    mutating func beginLaunch() {
        let former = self
        self = StoryObserver(shared: shared, own: own, routes: routes, whilePending: whilePending)
        (ids, sessionIndices, sessionStarts, sessionEnds) = (
            former.ids, former.sessionIndices, former.sessionStarts, former.sessionEnds
        )
        (signUps, killedSessions, hasCrashed, joined, known) = (
            former.signUps, former.killedSessions, former.hasCrashed, former.joined, former.known
        )
    }

    // MARK: Places

    /// Whether a route gets the events of a plugin.
    private func reaches(_ line: Line, _ route: Int) -> Bool { shared.contains(line) || route == 1 }

    /// Whether the consent concerns a route.
    private func isConcerned(_ route: Int) -> Bool { shared.contains(.consent) || own.contains(.consent) && route == 1 }

    private func isOpen(_ route: Int, _ app: AppLaunch) -> Bool {
        guard isConcerned(route) else { return true }
        return app.consent.status == .granted || app.consent.status == .pending && whilePending == .keep
    }

    /// The states that may not be stored before consent.
    private var guarded: Set<String> {
        let lines = shared.contains(.consent) ? shared + own : own.contains(.consent) ? own : []
        return Set(lines.map(\.rawValue))
    }

    // MARK: Steps

    mutating func willTrack(_ name: String, _ app: AppLaunch) {
        for route in 0..<routes {
            if isOpen(route, app) {
                expected[route].append(name)
            } else if whilePending == .hold, app.consent.status == .pending {
                held[route].append(name)
            }
        }
    }

    mutating func willSignal(_ signal: Signal, at now: Duration) {
        guard life.accept(signal) == nil else { return }
        if let launch = signal.launch {
            isPassive = launch != .foreground
            if isPassive {
                // Timers begin at zero when the app is opened.
                (counted, countsSince) = (.zero, nil)
                for name in timers.keys { timers[name] = .some(.some(.zero)) }
            }
        }
        switch signal {
        case .didBecomeActive:
            isPassive = false
            if active == nil { (active, activations) = (now, activations + 1) }
            countsSince = countsSince ?? now
        case .didEnterBackground:
            counted = countedTime(at: now)
            countsSince = nil
        case .willTerminate: isTerminated = true
        default: break
        }
    }

    private func countedTime(at now: Duration) -> Duration { counted + (countsSince.map { now - $0 } ?? .zero) }

    /// A timer that is started or resumed in the background runs there.
    private var isLoose: Bool { countsSince == nil && !isPassive }

    mutating func willStartTimer(_ name: String, at now: Duration) {
        timers[name] = .some(isLoose ? nil : countedTime(at: now))
    }

    mutating func willResumeTimer(_ name: String) {
        if isLoose, timers[name] != nil { timers[name] = .some(nil) }
    }

    mutating func willEndTimer(_ name: String, at now: Duration) {
        endedTimer = timers.removeValue(forKey: name).flatMap { $0 }.map { countedTime(at: now) - $0 }
    }

    mutating func willStartSession() { isTerminated = false }

    mutating func didLogIn(_ user: String, _ identity: Identity) {
        guard let anonymous = identity.anonymousID else { return }
        if known.insert(anonymous).inserted {
            joined[anonymous] = user
        } else if joined[anonymous] != user {
            joined[anonymous] = nil
        }
    }

    mutating func didLogOut(_ identity: Identity) { identity.anonymousID.map { joined[$0] = nil } }

    mutating func didGrant() {
        for route in 0..<routes {
            expected[route] += held[route]
            held[route] = []
        }
    }

    mutating func didDeny() { held = held.map { _ in [] } }

    // MARK: Checking

    /// Checks the events since the last call, before the time goes on.
    mutating func check(_ app: AppLaunch, _ disk: MemoryPlace, isEnd: Bool = false) throws {
        let now = app.time.wallTime().milliseconds
        passiveAt[now] = isPassive
        if active != nil { activeAt.insert(now) }
        if let id = app.sessions.id { sessions.insert(id) }
        for route in 0..<routes {
            let isOpen = isOpen(route, app)
            wasOpen[route] = wasOpen[route] && isOpen
            let events = app.stores[route].events.dropFirst(counts[route])
            counts[route] += events.count
            try require(isOpen || events.isEmpty, "an event without consent", events.first, route)
            for event in events { try check(event, route, app) }
            try checkSignUp(route, app, isOpen)
        }
        endedTimer = nil
        // The events of the signal have come.
        if [.background, .terminated].contains(life.phase) { active = nil }
        if !isOpen(own.contains(.consent) ? 1 : 0, app), !guarded.isEmpty {
            let stored = disk.states.filter { guarded.contains($0) }
            try require(stored.isEmpty, "stored without consent: \(stored)", nil, 0)
        }
    }

    /// The user who has logged in first, and not out, is known to each route that may know them.
    private func checkSignUp(_ route: Int, _ app: AppLaunch, _ isOpen: Bool) throws {
        guard isOpen, reaches(.identity, route), let anonymous = app.identity.anonymousID,
            let user = joined[anonymous], user == app.identity.loginID
        else { return }
        try require(signUps[route][.string(anonymous)] == 1, "the login of \(user) is unknown", nil, route)
    }

    private mutating func check(_ event: Event, _ route: Int, _ app: AppLaunch) throws {
        try require(ids[route].insert(event.id).inserted, "an id twice", event, route)
        if event.name.hasPrefix("Host") { arrived[route].append(event.name) }
        try checkPlace(event, route)
        try checkApp(event, route, app)
        try checkSession(event, route)
        if event.name == "$SignUp", event.properties["$switches_user"] == nil,
            let anonymous = event.properties["$original_id"]
        {
            signUps[route][anonymous, default: 0] += 1
            try require(signUps[route][anonymous] == 1, "a login twice", event, route)
        }
        if event.properties["$recovered"] == true {
            try require(hasCrashed, "recovered without a crash", event, route)
            try require(event.name == "$AppEnd" || event.name == "$SessionEnd", "recovered", event, route)
        }
        if event.name.hasPrefix("Host"), reaches(.tagger, route), whilePending != .hold {
            let isMarked = event.properties["$app_state"] == "background"
            try require(isMarked == passiveAt[event.time.milliseconds], "the mark is wrong", event, route)
        }
    }

    /// Nothing of a plugin of one route is in the other one.
    private func checkPlace(_ event: Event, _ route: Int) throws {
        guard route == 0, routes == 2 else { return }
        let traces: [Line: Bool] = [
            .lifecycle: event.name.hasPrefix("$App") && !["$AppViewScreen", "$AppPageLeave"].contains(event.name),
            .sessions: event.name.hasPrefix("$Session") || event.properties["$session_id"] != nil,
            .screens: event.name == "$AppViewScreen" || event.name == "$AppPageLeave",
            .timers: event.name.hasPrefix("Timer"),
            .identity: event.distinctID != nil,
            .tagger: event.properties["$app_state"] != nil && event.properties["$recovered"] == nil,
        ]
        for (line, isThere) in traces where isThere && own.contains(line) {
            throw Violation(description: "the first route has something of \(line): \(event)")
        }
    }

    private mutating func checkApp(_ event: Event, _ route: Int, _ app: AppLaunch) throws {
        if event.properties["$recovered"] == true { return }
        let duration = event.properties["$event_duration"]?.double
        let foreground = (active.map { app.time.suspendingTime() - $0 } ?? .zero).milliseconds
        switch event.name {
        case "$AppStart": appStarts[route] += 1
        case "$AppViewScreen":
            try require(activeAt.contains(event.time.milliseconds), "a view out of sight", event, route)
        case "$AppEnd" where whilePending != .hold:
            try require(duration == foreground, "the app was \(foreground) ms in the foreground", event, route)
        case "$AppPageLeave" where whilePending != .hold:
            try require(duration ?? 0 <= foreground, "the screen counts the background", event, route)
        case _ where event.name.hasPrefix("Timer") && whilePending != .hold:
            guard let endedTimer, let duration else { break }
            try require(duration <= endedTimer.milliseconds, "more than \(endedTimer) counts", event, route)
        default: break
        }
    }

    private mutating func checkSession(_ event: Event, _ route: Int) throws {
        let properties = event.properties
        let (id, index) = (properties["$session_id"], properties["$session_index"])
        if let id, let index {
            if let other = sessionIndices[id] {
                try require(other == index, "a session with two indices", event, route)
            }
            sessionIndices[id] = index
        }
        switch event.name {
        case "$SessionStart":
            startsAndEnds[route] += 1
            try require(id.map { sessionStarts[route].insert($0).inserted } == true, "begins twice", event, route)
        case "$SessionEnd":
            try require(id.map { sessionEnds[route].insert($0).inserted } == true, "ends twice", event, route)
            guard properties["$recovered"] == true else { return startsAndEnds[route] -= 1 }
            let isKnown = id?.string.map { killedSessions.contains($0) } == true
            try require(isKnown, "the session was not killed", event, route)
        case _ where event.name.hasPrefix("Host") && reaches(.sessions, route):
            // A held event has the state of its time only if the plugin is above the consent.
            try require(isTerminated || index != nil || whilePending == .hold, "no session", event, route)
            let number = index?.int ?? .max
            // A held event comes with events of later sessions.
            try require(whilePending == .hold || number >= lastIndex[route], "an earlier session", event, route)
            lastIndex[route] = max(lastIndex[route], index?.int ?? 0)
        default: break
        }
    }

    /// Checks the counts of the launch.
    mutating func endLaunch(isKilled: Bool) throws {
        for route in 0..<routes {
            try require(arrived[route].sorted() == expected[route].sorted(), "the host's events differ", nil, route)
            if reaches(.lifecycle, route) {
                let isRight = wasOpen[route] ? appStarts[route] == activations : appStarts[route] <= activations
                try require(isRight, "\(appStarts[route]) starts in \(activations) activations", nil, route)
            }
            let isUnended = !isKilled && wasOpen[route] && startsAndEnds[route] != 0
            try require(!isUnended, "a session has not ended", nil, route)
        }
        if isKilled {
            hasCrashed = true
            killedSessions.formUnion(sessions)
        }
    }

    private func require(_ isTrue: Bool, _ text: String, _ event: Event?, _ route: Int) throws {
        if !isTrue { throw Violation(description: "route \(route): \(text) \(event.map { "\($0)" } ?? "")") }
    }
}

extension Duration {
    fileprivate var milliseconds: Double {
        Double(components.seconds) * 1_000 + Double(components.attoseconds) / 1_000_000_000_000_000
    }
}
