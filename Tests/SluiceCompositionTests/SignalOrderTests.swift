import Sluice
import SluiceDuration
import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing

/// The order of the events that signals cause, for every order of the lines.
@Suite struct SignalOrderTests {
    enum Line: String, CaseIterable, Sendable {
        case lifecycle, tagger, sessions, screens, timers
    }

    /// A step of a host, and the events that each line tracks in it.
    struct Step: Sendable {
        enum Action: Sendable {
            case signal(Signal)
            case enter(String)
            case wait(Int)
        }

        let action: Action
        let events: [Line: [String]]

        static func signal(_ signal: Signal, _ events: [Line: [String]] = [:]) -> Step {
            Step(action: .signal(signal), events: events)
        }

        static func enter(_ name: String, _ events: [Line: [String]] = [:]) -> Step {
            Step(action: .enter(name), events: events)
        }

        static func wait(_ seconds: Int) -> Step { Step(action: .wait(seconds), events: [:]) }

        func expected(_ lines: [Line]) -> [String] {
            var lines = lines
            if case .signal(let signal) = action, signal.isLeaving { lines.reverse() }
            return lines.flatMap { events[$0] ?? [] }
        }
    }

    struct Scenario: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        /// The number of events at the beginning that happen without a user.
        var passiveEvents = 0
        /// The duration of a timer that runs from before the first step to after the last one.
        let seconds: Int
        /// The order with ``SignalOrderTests/documented`` lines.
        let documented: [String]
    }

    static let documented: [Line] = [.sessions, .tagger, .lifecycle, .screens, .timers]

    private static let launch: [Step] = [
        .signal(.launched(.foreground), [.sessions: ["$SessionStart"]]),
        .signal(.didBecomeActive, [.lifecycle: ["$AppStart"]]),
        .enter("Home", [.screens: ["$AppViewScreen"]]),
        .wait(5),
    ]
    private static let background: [Step] = [
        .signal(.willResignActive),
        .signal(.didEnterBackground, [.lifecycle: ["$AppEnd"], .screens: ["$AppPageLeave"]]),
    ]

    static let scenarios: [Scenario] = [
        Scenario(
            testDescription: "foreground launch", steps: launch, seconds: 5,
            documented: ["$SessionStart", "$AppStart", "$AppViewScreen"]),
        Scenario(
            testDescription: "passive launch, then opened",
            steps: [
                .signal(
                    .launched(.passive), [.sessions: ["$SessionStart"], .lifecycle: ["$AppStartPassively"]]),
                .enter("Home"),
                .wait(3_600),
                .signal(
                    .didBecomeActive,
                    [
                        .sessions: ["$SessionEnd", "$SessionStart"], .lifecycle: ["$AppStart"],
                        .screens: ["$AppViewScreen"],
                    ]),
                .wait(5),
            ],
            passiveEvents: 2, seconds: 5,
            documented: [
                "$SessionStart", "$AppStartPassively", "$SessionEnd", "$SessionStart", "$AppStart", "$AppViewScreen",
            ]),
        Scenario(
            testDescription: "opened, then background", steps: launch + background + [.wait(10)], seconds: 5,
            documented: ["$SessionStart", "$AppStart", "$AppViewScreen", "$AppPageLeave", "$AppEnd"]),
        Scenario(
            testDescription: "background, then opened again",
            steps: launch + background + [
                .wait(19), .signal(.didBecomeActive, [.lifecycle: ["$AppStart"]]), .wait(7),
            ] + background + [
                .wait(20),
                .signal(
                    .didBecomeActive, [.sessions: ["$SessionEnd", "$SessionStart"], .lifecycle: ["$AppStart"]]),
            ],
            seconds: 12,
            documented: [
                "$SessionStart", "$AppStart", "$AppViewScreen", "$AppPageLeave", "$AppEnd", "$AppStart",
                "$AppPageLeave", "$AppEnd", "$SessionEnd", "$SessionStart", "$AppStart",
            ]),
        Scenario(
            testDescription: "interruption without background",
            steps: launch + [.signal(.willResignActive), .wait(60), .signal(.didBecomeActive)], seconds: 65,
            documented: ["$SessionStart", "$AppStart", "$AppViewScreen"]),
        Scenario(
            testDescription: "termination",
            steps: launch + [
                .signal(
                    .willTerminate,
                    [.lifecycle: ["$AppEnd"], .screens: ["$AppPageLeave"], .sessions: ["$SessionEnd"]])
            ],
            seconds: 5,
            documented: [
                "$SessionStart", "$AppStart", "$AppViewScreen", "$AppPageLeave", "$AppEnd", "$SessionEnd",
            ]),
    ]

    private static func permutations(_ lines: [Line]) -> [[Line]] {
        guard lines.count > 1 else { return [lines] }
        return lines.flatMap { first in permutations(lines.filter { $0 != first }).map { [first] + $0 } }
    }

    @Test(
        "events of a signal come in the order of the lines on entering and in reverse on leaving, in every order of lines",
        arguments: scenarios)
    func everyOrderOfLines(scenario: Scenario) async throws {
        let all = Self.permutations(Line.allCases)
        #expect(all.count == 120)
        for lines in all { try await run(scenario, lines, scenario.steps.flatMap { $0.expected(lines) }) }
    }

    @Test("with the documented lines, sessions enclose the app, and the app its screens", arguments: scenarios)
    func documentedOrder(scenario: Scenario) async throws {
        try await run(scenario, Self.documented, scenario.documented)
    }

    private func run(_ scenario: Scenario, _ lines: [Line], _ expected: [String]) async throws {
        let time = VirtualTime()
        let (screens, timers) = (Screens(), DurationTimer())
        let test = try TestPipeline(time: time) {
            for line in lines {
                switch line {
                case .lifecycle: LifecycleEvents()
                case .tagger: PassiveLaunchTagger()
                case .sessions: Sessions()
                case .screens: screens
                case .timers: timers
                }
            }
        }
        timers.start("Timer")
        for step in scenario.steps {
            switch step.action {
            case .signal(let signal): test.pipeline.signal(signal)
            case .enter(let name): screens.enter(name)
            case .wait(let seconds): time.advance(by: .seconds(seconds))
            }
        }
        timers.end("Timer")
        var events = await test.events()
        let last = events.popLast()
        let timer = try #require(last)
        let comment = Comment(rawValue: "\(lines)")
        #expect(timer.properties["$event_duration"] == .double(Double(scenario.seconds) * 1_000), comment)
        #expect(events.map(\.name) == expected, comment)
        // No event carries the state of another phase.
        #expect(
            events.map { $0.properties["$app_state"] == "background" }
                == events.indices.map { $0 < scenario.passiveEvents }, comment)
        var session: Int64 = 0
        for event in events where event.name != "$SessionEnd" {
            if event.name == "$SessionStart" { session += 1 }
            guard case .int(let index) = event.properties["$session_index"] else {
                Issue.record("no session: \(event.name) \(lines)")
                continue
            }
            // An event of a line above Sessions comes before the start of its session, and belongs to it nevertheless.
            #expect((session...session + 1).contains(index), comment)
        }
    }
}
