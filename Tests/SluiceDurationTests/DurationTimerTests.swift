import SluiceDuration
import SluiceTesting
import TestSupport
import Testing

@Suite("DurationTimer: measured durations")
struct DurationTimerTests {
    private let time = VirtualTime()
    private let timers: DurationTimer
    private let test: TestPipeline

    init() throws {
        let (time, timers) = (time, DurationTimer(limit: .seconds(Int64.max)))
        self.timers = timers
        test = try TestPipeline(time: time) { timers }
    }

    // MARK: Steps

    /// What a host or its system does. Each step takes a second.
    enum Step: Sendable {
        case start(_ name: String = "A")
        case pause(_ name: String = "A")
        case resume(_ name: String = "A")
        case end(_ name: String = "A")
        case remove(_ name: String)
        case clear
        /// Starts a timer `A`, and keeps its token under this name.
        case keep(String)
        case use(String, @Sendable (DurationTimer, DurationToken) -> Void)
        case release(String)
        case track(_ name: String)
        case signal(Signal)
        /// Waits longer.
        case wait(Double)
        case sleep(Double)
        case setClock
    }

    struct Use: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Of all events, in milliseconds.
        let durations: [Double?]
        let steps: [Step]

        init(_ description: String, _ durations: [Double?], _ steps: Step...) {
            (testDescription, self.durations, self.steps) = (description, durations, steps)
        }
    }

    private func perform(_ step: Step, _ tokens: inout [String: DurationToken]) {
        switch step {
        case .keep(let key): tokens[key] = timers.start("A")
        case .use(let key, let verb): tokens[key].map { verb(timers, $0) }
        case .release(let key): tokens[key] = nil
        case .start(let name): timers.start(name)
        case .pause(let name): timers.pause(name)
        case .resume(let name): timers.resume(name)
        case .end(let name): timers.end(name)
        case .remove(let name): timers.remove(name)
        case .clear: timers.clear()
        case .track(let name): test.pipeline.track(name)
        case .signal(let signal): test.pipeline.signal(signal)
        case .wait(let seconds): time.advance(by: .seconds(seconds))
        case .sleep(let seconds): time.suspendMachine(for: .seconds(seconds))
        case .setClock: time.setWallTime(Timestamp(milliseconds: 0))
        }
        time.advance(by: .seconds(1))
    }

    static let uses = [
        Use("an end without a start has no duration", [nil], .end()),
        Use("a second end has no duration", [1_000, nil], .start(), .end(), .end()),
        Use("a second start restarts a timer", [1_000], .start(), .start(), .end()),
        Use("a second start restarts a paused timer", [1_000], .start(), .pause(), .start(), .end()),
        Use(
            "paused time doesn't count; pausing a paused and resuming a running timer change nothing", [4_000],
            .start(), .resume(), .pause(), .wait(10), .pause(), .resume(), .resume(), .end()),
        Use("a timer that is paused can be ended", [1_000], .start(), .pause(), .end()),
        Use("pausing and resuming an unknown timer starts nothing", [nil], .pause(), .resume(), .end()),
        Use("a removed timer is forgotten", [nil, 3_000], .start(), .start("B"), .remove("A"), .end(), .end("B")),
        Use("cleared timers are forgotten", [nil, nil], .start(), .start("B"), .clear, .end(), .end("B")),
        Use("neither sleep nor setting the clock counts", [3_000], .start(), .sleep(3_600), .setClock, .end()),
        Use("no duration is negative", [0], .start(), .wait(-10), .end()),
        Use(
            "a clock that goes backwards shortens no duration", [7_000], .start(), .wait(5), .pause(), .resume(),
            .wait(-10), .end()),
        Use("an event of the same name leaves the timer alone", [nil, 2_000], .start(), .track("A"), .end()),
    ]

    static let background = [
        Use(
            "a running timer is paused in the background, keeps its time, and continues afterwards", [3_000],
            .start(), .signal(.willResignActive), .signal(.didEnterBackground), .wait(100), .signal(.didBecomeActive),
            .end()),
        Use(
            "a timer that the host has paused stays paused", [1_000], .start(), .pause(), .signal(.didEnterBackground),
            .signal(.didBecomeActive), .end()),
        Use(
            "a timer that the host pauses in the background stays paused", [1_000], .start(),
            .signal(.didEnterBackground), .pause(), .signal(.didBecomeActive), .end()),
        Use(
            "a timer that the host resumes in the background runs", [3_000], .start(), .signal(.didEnterBackground),
            .wait(7), .resume(), .signal(.didBecomeActive), .end()),
        Use(
            "a timer that is started in the background runs, and is not restarted afterwards", [2_000],
            .signal(.didEnterBackground), .start(), .signal(.didBecomeActive), .end()),
        Use(
            "a timer that is ended in the background has the time before it", [1_000], .start(),
            .signal(.didEnterBackground), .wait(7), .end()),
        Use(
            "all running timers are paused, and only those continue", [5_000, 2_000, 5_000], .start(), .start("B"),
            .start("C"), .pause("B"), .signal(.didEnterBackground), .signal(.didBecomeActive), .end(), .end("B"),
            .end("C")),
        Use(
            "becoming active twice, or without a background, changes nothing", [4_000], .start(),
            .signal(.didBecomeActive), .signal(.didEnterBackground), .signal(.didEnterBackground),
            .signal(.didBecomeActive), .signal(.didBecomeActive), .end()),
        Use(
            "other signals do not touch timers", [6_000], .start(), .signal(.launched(.foreground)),
            .signal(.willResignActive), .signal(.connectivity(.unavailable)), .signal(.connectivity(.available)),
            .signal(.willTerminate), .end()),
        Use(
            "a timer that runs when the app is launched into the background is paused until it becomes active", [7_000],
            .start(), .signal(.launched(.passive)), .wait(3_600), .signal(.didBecomeActive), .wait(5), .end()),
        Use(
            "time before a passive launch is recognized doesn't count, also that of a timer that was paused",
            [8_000, 8_000], .start(), .start("B"), .wait(2), .pause("B"), .wait(3_600), .signal(.launched(.passive)),
            .wait(3), .signal(.didBecomeActive), .resume("B"), .wait(5), .end(), .end("B")),
    ]

    static let tokens = [
        Use(
            "two timers of one name run beside each other", [2_000, 2_000], .keep("1"), .keep("2"),
            .use("1") { $0.end($1) }, .use("2") { $0.end($1) }),
        Use(
            "each timer is paused, resumed and removed by its token", [4_000, 6_000, nil], .keep("1"), .keep("2"),
            .keep("3"), .use("1") { $0.pause($1) }, .use("3") { $0.remove($1) }, .use("1") { $0.resume($1) },
            .use("1") { $0.end($1) }, .use("2") { $0.end($1) }, .use("3") { $0.end($1) }),
        Use(
            "a name refers to the timer that was started last", [1_000, nil, 4_000], .keep("1"), .start(), .end(),
            .end(), .use("1") { $0.end($1) }),
        Use(
            "a timer that ended by its token has ended by its name too", [1_000, nil], .keep("1"),
            .use("1") { $0.end($1) }, .end()),
        Use(
            "a timer ends with its token once another one has its name", [2_000], .keep("1"), .start(), .release("1"),
            .end()),
        Use(
            "the background pauses each timer, and the foreground resumes it", [2_000, 4_000], .keep("1"), .keep("2"),
            .use("1") { $0.pause($1) }, .signal(.didEnterBackground), .wait(7), .signal(.didBecomeActive),
            .use("1") { $0.end($1) }, .use("2") { $0.end($1) }),
    ]

    /// With scenes, the system tells of the background a moment after the launch.
    static let launches = [Signal.Launch.passive, .prewarmed].map { launch in
        Use(
            "a timer that is started or resumed after a \(launch) launch waits until the app becomes active",
            [7_000, 8_000, 0], .signal(.launched(launch)), .start(), .start("B"), .pause("B"), .resume("B"),
            .start("C"), .pause("C"), .wait(1_800), .signal(.didEnterBackground), .wait(1_800),
            .signal(.didBecomeActive), .wait(5), .end(), .end("B"), .end("C"))
    }

    @Test("a host's use of timers gives these durations", arguments: uses + background + tokens + launches)
    func useGivesDurations(use: Use) async {
        var tokens: [String: DurationToken] = [:]
        for step in use.steps { perform(step, &tokens) }
        #expect(await test.durations() == use.durations.map { $0.map { .double($0) } })
    }

    @Test("a token of another set of timers ends no timer, and neither does that of a screen")
    func foreignTokenEndsNothing() async {
        let (other, screens) = (DurationTimer(), Screens())
        let (screen, foreign) = (screens.enter("Download"), other.start("Download"))
        let own = timers.start("Download")
        #expect(own.name == "Download")
        time.advance(by: .seconds(1))
        for token in [screen, foreign] {
            timers.pause(token)
            timers.end(token)
            timers.remove(token)
        }
        time.advance(by: .seconds(1))
        timers.end(own)
        #expect(await test.durations() == [nil, nil, 2_000.0])
    }

    @Test("after a thousand timers the oldest is forgotten, and the first and each thousandth loss is reported")
    func timersAreBounded() async {
        let tokens = (0...1_000).map { timers.start("\($0)") }
        #expect(
            test.diagnostics.map(\.message) == [
                "DurationTimer: more than 1,000 timers run, so the oldest is forgotten (1 so far): end your timers"
            ])
        let more = (0..<1_000).map { timers.start("More \($0)") }
        #expect(test.diagnostics.count == 2)
        timers.end(tokens[0])
        timers.end(more[999])
        #expect(await test.durations() == [nil, 0.0])
    }

    // MARK: Values

    @Test("it measures from start to end, in milliseconds, and the event has its own properties and priority")
    func measuresFromStartToEnd() async throws {
        timers.start("Watch")
        time.advance(by: .milliseconds(1_500))
        timers.end("Watch", ["title": "A"], priority: .critical)
        let event = try await test.event()
        #expect(event.name == "Watch" && event.priority == .critical)
        #expect(event.properties == ["title": "A", "$event_duration": 1_500.0])
    }

    @Test(
        "durations are rounded to three decimals",
        arguments: [
            (.zero, 0.0), (.microseconds(1), 0.001), (.microseconds(120_457), 120.457), (.nanoseconds(1_499), 0.001),
            (.nanoseconds(1_500), 0.002), (.nanoseconds(999_999_500), 1_000.0),
            (.seconds(100 * 365 * 86_400), 3_153_600_000_000.0), (.seconds(1 << 52), 4_503_599_627_370_496_000.0),
        ] as [(Duration, Double)])
    func durationsAreRounded(duration: Duration, milliseconds: Double) async throws {
        timers.start("Watch")
        time.advance(by: duration)
        timers.end("Watch")
        #expect(await test.durations() == [.double(milliseconds)])
    }

    @Test(
        "a timer that is older than the maximum age has no duration, however long it was paused",
        arguments: [(60.0, true), (60.001, false)])
    func oldTimerHasNoDuration(seconds: Double, hasDuration: Bool) async throws {
        let timers = DurationTimer(maximumAge: .seconds(60))
        let test = try TestPipeline(time: time) { timers }
        timers.start("Watch")
        time.advance(by: .seconds(10))
        timers.pause("Watch")
        time.advance(by: .seconds(seconds - 10))
        timers.end("Watch")
        timers.end("Watch")
        #expect(await test.durations() == [hasDuration ? 10_000.0 : nil, nil])
        #expect(test.pipeline.ledger.sanitized == (hasDuration ? [:] : [.overlongDuration: 1]))
    }

    @Test("the host's own duration takes precedence")
    func eventKeepsItsOwnDuration() async throws {
        timers.start("Watch")
        timers.end("Watch", ["$event_duration": 7])
        #expect(await test.durations() == [7])
    }

    @Test("a change of all timers changes each of them once, even if other threads start, pause and remove others")
    func allTimersChangeTogether() async throws {
        let running = (0..<100).map { "Running \($0)" }
        let paused = (0..<100).map { "Paused \($0)" }
        for name in running + paused { timers.start(name) }
        time.advance(by: .seconds(1))
        for name in paused { timers.pause(name) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [test] in
                for _ in 0..<50 {
                    test.pipeline.signal(.didEnterBackground)
                    test.pipeline.signal(.didBecomeActive)
                }
            }
            for thread in 0..<4 {
                group.addTask { [timers] in
                    for number in 0..<100 {
                        timers.start("\(thread) \(number)")
                        timers.pause("\(thread) \(number / 2)")
                        timers.remove("\(thread) \(number - 25)")
                    }
                }
            }
        }
        time.advance(by: .seconds(2))
        test.pipeline.signal(.didEnterBackground)
        time.advance(by: .seconds(100))
        // A timer that runs in the background, or is paused in the foreground, was skipped.
        test.pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(4))
        for name in running + paused { timers.end(name) }
        #expect(await test.durations() == running.map { _ in 7_000.0 } + paused.map { _ in 1_000.0 })
    }
}
