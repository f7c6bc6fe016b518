import SluiceDuration
import SluiceTesting
import TestSupport
import Testing

/// Several timers of one name, distinguished by their tokens.
@Suite struct CrossTimerTests {
    private let time = VirtualTime()
    private let timers: DurationTimer
    private let test: TestPipeline

    init() throws {
        let (time, timers) = (time, DurationTimer())
        self.timers = timers
        test = try TestPipeline(time: time) { timers }
    }

    @Test("two timers of one name run beside each other")
    func timersOfOneNameRunTogether() async {
        let first = timers.start("Download")
        time.advance(by: .seconds(1))
        let second = timers.start("Download")
        time.advance(by: .seconds(1))
        timers.end(first)
        time.advance(by: .seconds(1))
        timers.end(second)
        #expect(await test.durations() == [2_000.0, 2_000.0])
    }

    @Test("each timer is paused, resumed and removed by its token")
    func tokensControlTheirTimers() async {
        let tokens = (0..<3).map { _ in timers.start("Download") }
        timers.pause(tokens[0])
        timers.remove(tokens[2])
        time.advance(by: .seconds(1))
        timers.resume(tokens[0])
        time.advance(by: .seconds(1))
        for token in tokens { timers.end(token) }
        #expect(await test.durations() == [1_000.0, 2_000.0, nil])
    }

    @Test("a name refers to the timer that was started last")
    func nameMeansLatestTimer() async {
        let first = timers.start("Download")
        time.advance(by: .seconds(1))
        timers.start("Download")
        time.advance(by: .seconds(1))
        timers.end("Download")
        timers.end("Download")
        timers.end(first)
        #expect(await test.durations() == [1_000.0, nil, 2_000.0])
    }

    @Test("a timer that ended by its token has ended by its name too")
    func endByTokenEndsName() async {
        let token = timers.start("Download")
        timers.end(token)
        timers.end("Download")
        #expect(await test.durations() == [0.0, nil])
    }

    @Test("a timer ends with its token once another one has its name")
    func timerEndsWithReleasedToken() async {
        var token: DurationToken? = timers.start("Download")
        timers.start("Download")
        #expect(token?.name == "Download")
        token = nil
        time.advance(by: .seconds(1))
        timers.end("Download")
        #expect(await test.durations() == [1_000.0])
    }

    @Test("the background pauses each timer, and the foreground resumes it")
    func backgroundPausesEachTimer() async {
        let tokens = (0..<2).map { _ in timers.start("Download") }
        timers.pause(tokens[0])
        test.pipeline.signal(.didEnterBackground)
        time.advance(by: .seconds(1))
        test.pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(1))
        for token in tokens { timers.end(token) }
        #expect(await test.durations() == [0.0, 1_000.0])
    }

    @Test("a token of another set of timers ends no timer, and neither does that of a screen")
    func foreignTokenEndsNothing() async {
        let (other, screens) = (DurationTimer(), Screens())
        let (screen, foreign) = (screens.enter("Download"), other.start("Download"))
        let own = timers.start("Download")
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
}
