import Sluice
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport

/// One story with one order of the lines. Compares the events of each step with the table.
struct CompositionTrial: CustomStringConvertible {
    enum Place: CaseIterable {
        case oneRoute, twoRoutes
        /// The last line stands in the second route, and the other ones above both.
        case secondRoute
    }

    /// The order in which the events of a step come.
    private enum Order {
        /// That of the table.
        case table
        /// The same, but a plugin of a route tracks its events after the plugins that all routes share.
        case chains
        /// On entering, that of the lines.
        case lines
        /// On leaving, the reverse one.
        case reversed
        case any
    }

    struct Mismatch: Error, CustomStringConvertible {
        let description: String
    }

    let story: Story
    let lines: [Line]
    let place: Place
    let hasConsent: Bool
    /// Whether the verbs are called before the pipeline is built.
    let isEarly: Bool

    var description: String {
        "\(story.name): \(lines.map(\.rawValue)) \(place)\(hasConsent ? "" : ", no consent")\(isEarly ? ", early" : "")"
    }

    private var own: Line? { place == .secondRoute ? lines.last : nil }
    /// The routes that get nothing until the grant.
    private var closedRoutes: Range<Int> {
        hasConsent ? 0..<0 : own == .consent ? 1..<2 : 0..<(place == .oneRoute ? 1 : 2)
    }
    /// Whether the plugins may keep nothing until the grant.
    private var isForgetful: Bool { !hasConsent && own != .consent }

    // MARK: Running

    func run() async throws {
        var disk = MemoryPlace()
        var sessionIDs: [Int64: PropertyValue] = [:]
        var start = Timestamp(milliseconds: 1_767_225_600_000)
        for (number, launch) in story.launches.enumerated() {
            let isLast = number == story.launches.count - 1
            let time = VirtualTime(wallTime: start)
            let app = AppLaunch(disk, at: time, routes: place == .oneRoute ? 1 : 2, launch: launch.kind)
            var part = Part(self, launch, app, isFirst: number == 0)
            if !isForgetful { part.sessionIDs = sessionIDs }
            try await part.run(disk, isLast: isLast)
            (disk, sessionIDs) = (part.disk, part.sessionIDs)
            start = Timestamp(milliseconds: time.wallTime().milliseconds + 3_600_000)
        }
    }

    /// One launch of a trial.
    private struct Part {
        let trial: CompositionTrial
        let launch: Launch
        let app: AppLaunch
        let isFirst: Bool
        var disk = MemoryPlace()
        var isLoggedIn: Bool
        var closed: Range<Int>
        /// The events so far, by routes.
        var counts: [Int]
        /// The ids of the sessions by their numbers.
        var sessionIDs: [Int64: PropertyValue] = [:]

        init(_ trial: CompositionTrial, _ launch: Launch, _ app: AppLaunch, isFirst: Bool) {
            (self.trial, self.launch, self.app, self.isFirst) = (trial, launch, app, isFirst)
            isLoggedIn = !isFirst && !trial.isForgetful
            closed = trial.closedRoutes
            counts = app.stores.map { _ in 0 }
        }

        /// Without consent, each launch is the first one.
        private var base: Int64 {
            trial.isForgetful ? (launch.sessions.last?.session ?? 1) - 1 : 0
        }

        mutating func run(_ former: MemoryPlace, isLast: Bool) async throws {
            disk = former
            if trial.hasConsent, isFirst { try app.consent.grant() }
            if trial.isEarly { try callVerbs() }
            let shared = trial.own == nil ? trial.lines : Array(trial.lines.dropLast())
            let pipeline = try app.build(shared, inLastRoute: trial.own.map { [$0] } ?? [])
            try check(launch.recovered + (trial.isEarly ? launch.sessions + launch.verbs : []), .chains)
            pipeline.signal(.launched(launch.kind))
            try check((trial.isEarly ? [] : launch.sessions) + launch.app, .lines)
            if !trial.isEarly {
                try callVerbs()
                try check(launch.verbs, .table)
            }
            for step in launch.steps { try perform(step, pipeline) }
            switch launch.end {
            case .shutdown(let rows):
                let ledger = await pipeline.shutdown(timeout: .seconds(600))
                guard ledger.isBalanced else { throw Mismatch(description: "the ledger isn't balanced") }
                try check(rows, trial.own == nil ? .reversed : .any)
            case .kill:
                await writesAreDone(of: pipeline)
                disk = former.copy()
                // The rest of this launch reaches neither the disk nor the events.
                await pipeline.shutdown(timeout: .seconds(600))
            }
            if !isLast, trial.isForgetful, !former.states.isEmpty {
                throw Mismatch(description: "stored without consent: \(former.states)")
            }
        }

        private mutating func callVerbs() throws {
            if trial.isEarly { app.sessions.start() }
            try app.identity.login("customer-42")
            app.timers.start("Timer")
            app.timers.start("Warmup")
            app.timers.end("Warmup")
            app.identity.profile.set(["plan": "pro"])
            app.screens.enter("Home")
            isLoggedIn = true
        }

        private mutating func perform(_ step: Step, _ pipeline: Pipeline) throws {
            switch step.action {
            case .signal(let signal):
                pipeline.signal(signal)
                try check(step.rows, signal.isLeaving ? .reversed : .lines)
            case .wait(let seconds): app.time.advance(by: .seconds(seconds))
            case .track(let name):
                if name == "Late", !trial.hasConsent { try grant() }
                pipeline.track(name)
                try check(step.rows, .table)
            case .endTimer:
                app.timers.end("Timer")
                try check(step.rows, .table)
            }
        }

        /// The user agrees. Their backend gets the events that it has missed and needs, and no other.
        private mutating func grant() throws {
            if trial.isForgetful, !disk.states.isEmpty {
                throw Mismatch(description: "stored without consent: \(disk.states)")
            }
            try app.consent.grant()
            let granted = closed
            closed = 0..<0
            var signUp = Expected.user("$SignUp", launch.signUpSession)
            var install = Expected.app("$AppInstall", launch.steps.last?.rows.last?.session)
            if !trial.isForgetful {
                // The other route has both, as they happened. A login of an earlier launch has none of this launch's sessions.
                signUp = launch.verbs.first { $0.name == "$SignUp" } ?? .user("$SignUp", nil)
                guard let missed = launch.app.first else { return try check([signUp], .any, in: granted) }
                install = missed
                install.isBeforeLogin = !trial.isEarly
            }
            let rows = [signUp, install]
            try check(rows, .any, in: granted)
        }

        // MARK: Comparing

        private mutating func check(_ rows: [Expected], _ order: Order, in routes: Range<Int>? = nil) throws {
            var ids: [Set<EventID>] = []
            defer { counts = app.stores.map(\.events.count) }
            for route in app.stores.indices {
                let events = Array(app.stores[route].events.dropFirst(counts[route]))
                ids.append(Set(events.map(\.id)))
                let isReached = routes?.contains(route) != false && !closed.contains(route)
                var rows = isReached ? sorted(rows, order).filter { reaches($0, route) } : []
                if order == .any {
                    // Of the names in a step, only $SessionEnd could be twice, and these differ in nothing.
                    rows =
                        events.compactMap { event in rows.first { $0.name == event.name } }
                        + rows.filter { row in !events.contains { $0.name == row.name } }
                }
                guard events.map(\.name) == rows.map(\.name) else {
                    throw Mismatch(
                        description: "route \(route) has \(events.map(\.name)) instead of \(rows.map(\.name))")
                }
                for (event, row) in zip(events, rows) { try check(event, row, route) }
            }
            // An event has the same id in both routes, so the first route has none that the second one lacks.
            guard ids.count == 2, closed.isEmpty, routes == nil || ids.allSatisfy({ !$0.isEmpty }) else { return }
            if !ids[0].isSubset(of: ids[1]) { throw Mismatch(description: "the ids of the routes differ") }
        }

        private func sorted(_ rows: [Expected], _ order: Order) -> [Expected] {
            func position(_ row: Expected) -> Int {
                let index = row.line.flatMap { trial.lines.firstIndex(of: $0) } ?? -1
                return switch order {
                case .table: 0
                case .chains: row.line != nil && row.line == trial.own ? 1 : 0
                case .lines: index
                case .reversed: -index
                case .any: 0
                }
            }
            // The sort is stable: a plugin's own events stay in the order of the table.
            return rows.enumerated()
                .sorted { (position($0.element), $0.offset) < (position($1.element), $1.offset) }.map(\.element)
        }

        /// Whether a route gets an event: that of a plugin in the second route stays there.
        private func reaches(_ row: Expected, _ route: Int) -> Bool {
            row.line == nil || row.line != trial.own || route == 1
        }

        /// Whether an event passes a plugin on its way to a route.
        private func passes(_ row: Expected, _ line: Line, _ route: Int) -> Bool {
            line == trial.own ? route == 1 : row.line == nil || row.line != trial.own
        }

        private mutating func check(_ event: Event, _ row: Expected, _ route: Int) throws {
            func require(_ isTrue: Bool, _ what: String) throws {
                if !isTrue { throw Mismatch(description: "route \(route), \(row.name): \(what), \(event)") }
            }
            let properties = event.properties
            let isMarked = row.mark == .own || row.mark == .tagger && passes(row, .tagger, route)
            try require(properties["$app_state"] == (isMarked ? "background" : nil), "the mark is wrong")
            try require(properties["$recovered"] == (row.isRecovered ? true : nil), "$recovered is wrong")
            try require(properties["$event_duration"] == row.milliseconds.map { .double($0) }, "the duration is wrong")
            var session = row.session.map { $0 - base }
            if row.line != .sessions, !passes(row, .sessions, route) { session = nil }
            try require(properties["$session_index"] == session.map { .int($0) }, "the session isn't \(session ?? 0)")
            let id = properties["$session_id"]
            try require((id == nil) == (session == nil), "the session's id is wrong")
            if let session, let id {
                if let known = sessionIDs[session] { try require(known == id, "the session has two ids") }
                sessionIDs[session] = id
            }
            let isUser = row.name == "$SignUp" || isLoggedIn && !row.isBeforeLogin && passes(row, .identity, route)
            try require(event.loginID == (isUser ? "customer-42" : nil), "the login id is wrong")
            let hasID = isUser || passes(row, .identity, route)
            try require(event.anonymousID == (hasID ? app.identity.anonymousID : nil), "the anonymous id is wrong")
        }
    }
}
