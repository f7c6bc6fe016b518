import SluiceDuration
import SluiceTesting
import TestSupport
import Testing

/// The options of a duration: clock and limit.
@Suite struct DurationMeasureTests {
    private let time = VirtualTime()

    private func duration(_ timers: DurationTimer, _ pass: (VirtualTime) -> Void) async throws -> PropertyValue? {
        let test = try TestPipeline(time: time) { timers }
        timers.start("Watch")
        pass(time)
        timers.end("Watch")
        return try await test.event().properties["$event_duration"]
    }

    @Test("by the continuous clock the machine's sleep counts, and setting the clock doesn't")
    func continuousClockCountsSleep() async throws {
        let timers = DurationTimer(countsSleep: true)
        let result = try await duration(timers) { time in
            time.advance(by: .seconds(1))
            time.suspendMachine(for: .seconds(10))
            time.setWallTime(Timestamp(milliseconds: 0))
        }
        #expect(result == 11_000.0)
    }

    @Test("a duration above the limit is left out and counted, one at the limit is not")
    func overlongDurationIsLeftOut() async throws {
        let timers = DurationTimer(limit: .seconds(10))
        let test = try TestPipeline(time: time) { timers }
        for length in [10, 11] {
            timers.start("Watch")
            time.advance(by: .seconds(length))
            timers.end("Watch", ["length": .int(length)])
        }
        let events = await test.events()
        #expect(events.map { $0.properties["$event_duration"] } == [10_000.0, nil])
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

    @Test("by default no duration is longer than a day")
    func defaultLimitIsADay() async throws {
        let result = try await duration(DurationTimer()) { $0.advance(by: .seconds(86_401)) }
        #expect(result == nil)
    }
}
