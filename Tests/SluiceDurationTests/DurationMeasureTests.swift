import SluiceDuration
import SluiceTesting
import TestSupport
import Testing

/// The options of a duration: clock and limit.
@Suite struct DurationMeasureTests {
    private let time = VirtualTime()

    @Test("by the continuous clock the machine's sleep counts, and setting the clock doesn't")
    func continuousClockCountsSleep() async throws {
        let timers = DurationTimer(countsSleep: true)
        let test = try TestPipeline(time: time) { timers }
        timers.start("Watch")
        time.advance(by: .seconds(1))
        time.suspendMachine(for: .seconds(10))
        time.setWallTime(Timestamp(milliseconds: 0))
        timers.end("Watch")
        #expect(await test.durations() == [11_000.0])
    }

    @Test(
        "a duration above the limit, which is a day by default, is left out and counted, one at the limit is not",
        arguments: [(DurationTimer(limit: .seconds(10)), 10), (DurationTimer(), 86_400)])
    func overlongDurationIsLeftOut(timers: DurationTimer, limit: Int) async throws {
        let test = try TestPipeline(time: time) { timers }
        for length in [limit, limit + 1] {
            timers.start("Watch")
            time.advance(by: .seconds(length))
            timers.end("Watch", ["length": .int(length)])
        }
        #expect(await test.durations() == [.double(Double(limit) * 1_000), nil])
        #expect(test.pipeline.ledger.sanitized == [.overlongDuration: 1])
    }

    @Test("a time that leaves no durations is an error when the pipeline is built")
    func invalidArgumentsThrow() {
        for time in [Duration.zero, .seconds(-1)] {
            let plugins: [any Processor] = [
                DurationTimer(limit: time), DurationTimer(maximumAge: time), Screens(limit: time),
            ]
            for plugin in plugins {
                let error = #expect(throws: SluiceError.self) { try TestPipeline { plugin } }
                #expect(error?.code == .invalidArgument)
            }
        }
    }
}
