import Sluice
import SluiceDuration
import SluiceTesting
import TestSupport
import Testing

@Suite("DurationTimer: in the background")
struct DurationTimerBackgroundTests {
    private let time = VirtualTime()
    private let timers: DurationTimer
    private let test: TestPipeline

    init() throws {
        let (time, timers) = (time, DurationTimer())
        self.timers = timers
        test = try TestPipeline(time: time) { timers }
    }

    /// A verb each second, and then the durations of all events.
    private func run(_ steps: [() -> Void]) async -> [PropertyValue?] {
        for step in steps {
            step()
            time.advance(by: .seconds(1))
        }
        return await test.durations()
    }

    private func signal(_ signal: Signal) -> () -> Void {
        { test.pipeline.signal(signal) }
    }

    @Test("a running timer is paused in the background, keeps its time, and continues afterwards")
    func backgroundPausesRunningTimer() async {
        let durations = await run([
            { timers.start("A") }, signal(.willResignActive), signal(.didEnterBackground), {},
            signal(.didBecomeActive), { timers.end("A") },
        ])
        #expect(durations == [3_000.0])
    }

    @Test("a timer that the host has paused stays paused")
    func hostPausedTimerStaysPaused() async {
        let durations = await run([
            { timers.start("A") }, { timers.pause("A") }, signal(.didEnterBackground), signal(.didBecomeActive),
            { timers.end("A") },
        ])
        #expect(durations == [1_000.0])
    }

    @Test("a timer that the host pauses in the background stays paused")
    func timerPausedInBackgroundStaysPaused() async {
        let durations = await run([
            { timers.start("A") }, signal(.didEnterBackground), { timers.pause("A") }, signal(.didBecomeActive),
            { timers.end("A") },
        ])
        #expect(durations == [1_000.0])
    }

    @Test("a timer that the host resumes in the background runs")
    func timerResumedInBackgroundRuns() async {
        let durations = await run([
            { timers.start("A") }, signal(.didEnterBackground), {}, { timers.resume("A") }, signal(.didBecomeActive),
            { timers.end("A") },
        ])
        #expect(durations == [3_000.0])
    }

    @Test("a timer that is started in the background runs, and is not restarted afterwards")
    func timerStartedInBackgroundRuns() async {
        let durations = await run([
            signal(.didEnterBackground), { timers.start("A") }, signal(.didBecomeActive), { timers.end("A") },
        ])
        #expect(durations == [2_000.0])
    }

    @Test("a timer that is ended in the background has the time before it")
    func timerEndedInBackgroundKeepsTime() async {
        let durations = await run([{ timers.start("A") }, signal(.didEnterBackground), {}, { timers.end("A") }])
        #expect(durations == [1_000.0])
    }

    @Test("all running timers are paused, and only those continue")
    func onlyRunningTimersContinue() async {
        let durations = await run([
            { for name in ["A", "B", "C"] { timers.start(name) } }, { timers.pause("B") },
            signal(.didEnterBackground), signal(.didBecomeActive),
            { for name in ["A", "B", "C"] { timers.end(name) } },
        ])
        #expect(durations == [3_000.0, 1_000.0, 3_000.0])
    }

    @Test("becoming active twice, or without a background, changes nothing")
    func repeatedSignalsChangeNothing() async {
        let durations = await run([
            { timers.start("A") }, signal(.didBecomeActive), signal(.didEnterBackground), signal(.didEnterBackground),
            signal(.didBecomeActive), signal(.didBecomeActive), { timers.end("A") },
        ])
        #expect(durations == [4_000.0])
    }

    @Test("a timer that runs when the app is launched into the background is paused until it becomes active")
    func passiveLaunchPauses() async {
        timers.start("A")
        test.pipeline.signal(.launched(.passive))
        time.advance(by: .seconds(3_600))
        test.pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(5))
        timers.end("A")
        #expect(await test.events().map { $0.properties["$event_duration"] } == [5_000.0])
    }

    @Test(
        "a timer that is started or resumed after a passive launch waits until the app becomes active",
        arguments: [Signal.Launch.passive, .prewarmed])
    func timerAfterPassiveLaunchWaits(launch: Signal.Launch) async {
        test.pipeline.signal(.launched(launch))
        timers.start("A")
        timers.start("B")
        timers.pause("B")
        timers.resume("B")
        timers.start("C")
        timers.pause("C")
        time.advance(by: .seconds(1_800))
        // With scenes, the system tells so a moment after the launch.
        test.pipeline.signal(.didEnterBackground)
        time.advance(by: .seconds(1_800))
        test.pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(5))
        for name in ["A", "B", "C"] { timers.end(name) }
        #expect(await test.durations() == [5_000.0, 5_000.0, 0.0])
    }

    @Test("time before a passive launch is recognized doesn't count, also that of a timer that was paused")
    func timeBeforePassiveLaunchDoesNotCount() async {
        timers.start("A")
        timers.start("B")
        time.advance(by: .seconds(2))
        timers.pause("B")
        // The process was suspended while the device was in use.
        time.advance(by: .seconds(3_600))
        test.pipeline.signal(.launched(.passive))
        time.advance(by: .seconds(3))
        test.pipeline.signal(.didBecomeActive)
        timers.resume("B")
        time.advance(by: .seconds(5))
        timers.end("A")
        timers.end("B")
        #expect(await test.events().map { $0.properties["$event_duration"] } == [5_000.0, 5_000.0])
    }

    @Test("other signals do not touch timers")
    func otherSignalsChangeNothing() async {
        let others: [Signal] = [
            .launched(.foreground), .willResignActive, .connectivity(.unavailable),
            .connectivity(.available), .willTerminate,
        ]
        let durations = await run([{ timers.start("A") }] + others.map(signal) + [{ timers.end("A") }])
        #expect(durations == [6_000.0])
    }
}
