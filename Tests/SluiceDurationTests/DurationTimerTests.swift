import Sluice
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

    @Test("it measures from start to end, in milliseconds")
    func measuresFromStartToEnd() async throws {
        timers.start("Watch")
        time.advance(by: .milliseconds(1_500))
        timers.end("Watch", ["title": "A"])
        let event = try await test.event()
        #expect(event.name == "Watch")
        #expect(event.properties == ["title": "A", "$event_duration": 1_500.0])
    }

    @Test(
        "durations are rounded to three decimals",
        arguments: [
            (.zero, 0.0),
            (.microseconds(1), 0.001),
            (.microseconds(120_457), 120.457),
            (.nanoseconds(1_499), 0.001),
            (.nanoseconds(1_500), 0.002),
            (.nanoseconds(999_999_500), 1_000.0),
            (.seconds(100 * 365 * 86_400), 3_153_600_000_000.0),
            (.seconds(1 << 52), 4_503_599_627_370_496_000.0),
        ] as [(Duration, Double)])
    func durationsAreRounded(duration: Duration, milliseconds: Double) async throws {
        timers.start("Watch")
        time.advance(by: duration)
        timers.end("Watch")
        #expect(await test.durations() == [.double(milliseconds)])
    }

    @Test(
        "a timer that is older than the maximum age has no duration, however long it was paused",
        arguments: [
            (60.0, true), (60.001, false),
        ])
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

    @Test("an end without a start is an event without a duration")
    func endWithoutStartHasNoDuration() async throws {
        timers.end("Watch", ["title": "A"])
        #expect(try await test.event().properties == ["title": "A"])
    }

    @Test("a second end has no duration")
    func secondEndHasNoDuration() async throws {
        timers.start("Watch")
        timers.end("Watch")
        timers.end("Watch")
        #expect(await test.durations() == [0.0, nil])
    }

    @Test("a second start restarts a timer, even if it is paused", arguments: [false, true])
    func secondStartRestarts(isPaused: Bool) async throws {
        timers.start("Watch")
        time.advance(by: .seconds(5))
        if isPaused { timers.pause("Watch") }
        timers.start("Watch")
        time.advance(by: .seconds(1))
        timers.end("Watch")
        #expect(await test.durations() == [1_000.0])
    }

    @Test("paused time doesn't count; pausing a paused and resuming a running timer change nothing")
    func pausedTimeDoesNotCount() async throws {
        timers.start("Watch")
        time.advance(by: .seconds(1))
        timers.resume("Watch")
        time.advance(by: .seconds(1))
        timers.pause("Watch")
        time.advance(by: .seconds(10))
        timers.pause("Watch")
        time.advance(by: .seconds(10))
        timers.resume("Watch")
        time.advance(by: .seconds(1))
        timers.resume("Watch")
        time.advance(by: .seconds(1))
        timers.end("Watch")
        #expect(await test.durations() == [4_000.0])
    }

    @Test("a timer that is paused can be ended")
    func pausedTimerCanEnd() async throws {
        timers.start("Watch")
        time.advance(by: .seconds(1))
        timers.pause("Watch")
        time.advance(by: .seconds(1))
        timers.end("Watch")
        #expect(await test.durations() == [1_000.0])
    }

    @Test("pausing and resuming an unknown timer starts nothing")
    func unknownTimersAreIgnored() async throws {
        timers.pause("Watch")
        timers.resume("Watch")
        time.advance(by: .seconds(1))
        timers.end("Watch")
        #expect(await test.durations() == [nil])
    }

    @Test("only removed or cleared timers are forgotten")
    func onlyRemovedTimersAreForgotten() async throws {
        for name in ["A", "B"] { timers.start(name) }
        timers.remove("A")
        timers.end("A")
        timers.end("B")
        for name in ["C", "D"] { timers.start(name) }
        timers.clear()
        timers.end("C")
        timers.end("D")
        let events = await test.events()
        #expect(events.map(\.name) == ["A", "B", "C", "D"])
        #expect(events.map { $0.properties["$event_duration"] } == [nil, 0.0, nil, nil])
    }

    @Test("neither the machine's sleep nor setting the clock counts")
    func sleepAndClockChangesDontCount() async throws {
        timers.start("Watch")
        time.advance(by: .seconds(1))
        time.suspendMachine(for: .seconds(3_600))
        time.setWallTime(Timestamp(milliseconds: 0))
        time.advance(by: .seconds(1))
        timers.end("Watch")
        #expect(await test.durations() == [2_000.0])
    }

    @Test("a clock that goes backwards shortens no duration, and no duration is negative")
    func durationsAreNeverNegative() async throws {
        timers.start("Watch")
        time.advance(by: .seconds(-10))
        timers.end("Watch")
        timers.start("Watch")
        time.advance(by: .seconds(5))
        timers.pause("Watch")
        timers.resume("Watch")
        time.advance(by: .seconds(-10))
        timers.end("Watch")
        #expect(await test.durations() == [0.0, 5_000.0])
    }

    @Test("the host's own duration takes precedence")
    func eventKeepsItsOwnDuration() async throws {
        timers.start("Watch")
        timers.end("Watch", ["$event_duration": 7])
        #expect(await test.durations() == [7])
    }

    @Test("an event of the same name that is tracked by the pipeline leaves the timer alone")
    func trackLeavesTimerAlone() async throws {
        timers.start("Watch")
        time.advance(by: .seconds(1))
        test.pipeline.track("Watch")
        time.advance(by: .seconds(1))
        timers.end("Watch")
        #expect(await test.durations() == [nil, 2_000.0])
    }

    @Test("the priority of an end is the event's")
    func endHasPriority() async throws {
        timers.end("Watch", priority: .critical)
        #expect(try await test.event().priority == .critical)
    }

    @Test("a timer that ends before there is a pipeline is tracked by it")
    func timerEndsBeforePipeline() async throws {
        let timers = DurationTimer()
        timers.end("Early")
        let test = try TestPipeline { timers }
        timers.start("Watch")
        timers.end("Watch")
        let events = await test.events()
        #expect(events.map(\.name) == ["Early", "Watch"])
        #expect(events.map { $0.properties["$event_duration"] } == [nil, 0.0])
    }

    @Test("timers of many threads do not disturb each other")
    func timersAreThreadSafe() async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { [timers] in
                    for _ in 0..<100 {
                        timers.start("\(number)")
                        timers.pause("\(number)")
                        timers.resume("\(number)")
                        timers.end("\(number)")
                    }
                }
            }
            group.addTask { [test] in
                for _ in 0..<100 {
                    test.pipeline.signal(.didEnterBackground)
                    test.pipeline.signal(.didBecomeActive)
                }
            }
        }
        let durations = await test.durations()
        #expect(durations.count == 800)
        #expect(durations.allSatisfy { $0 == 0.0 })
    }
}
