import HTTPTestSupport
import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

extension ClockCorrectionTests {
    /// The clocks of a machine that has run for a while, with a wall clock that is wrong.
    private struct WrongClock: TimeSource {
        var base: any TimeSource = SystemTime()
        /// The true time at which the continuous clock was 0.
        let origin: Int64
        /// Whether the wall clock is right by now.
        var isSet = Locked(false)
        var ahead: Int64 = 0

        var now: Int64 { origin + Int64(continuousTime() / .milliseconds(1)) }
        func wallTime() -> Timestamp { Timestamp(milliseconds: now + (isSet.withLock(\.self) ? 0 : ahead)) }
        func suspendingTime() -> Duration { base.suspendingTime() }
        func continuousTime() -> Duration { base.continuousTime() }
        func sleep(until deadline: Duration) async throws { try await base.sleep(until: deadline) }

        /// Sends events, and ends without a shutdown. Returns the error of each sent time, in milliseconds. `next` is called
        /// after each event.
        func launch(
            keptIn persistence: Persistence, events: Int, hasDate: Bool = true, _ next: () -> Void = {}
        ) async throws -> [Int64] {
            let client = KeepingClient { _, _ in
                let date = TimeServer.httpDate(Timestamp(milliseconds: now))
                return HTTPResponse(status: 200, headers: hasDate ? [("Date", date)] : [])
            }
            let transport = client.transport(.ndjson, clockCorrection: .learned(keptIn: persistence))
            try transport.open(in: PipelineEnvironment(time: self))
            var errors: [Int64] = []
            for _ in 0..<events {
                let now = now
                let event = Event(id: EventID(high: 0, low: 1), name: "E", time: wallTime())
                _ = try await transport.send(Batch(id: 1, events: [EventLine(event)]))
                let body = try #require(client.requests.last?.body)
                errors.append(try EventLine(bytes: body.dropLast(), priority: .normal).event().time.milliseconds - now)
                next()
            }
            return errors
        }
    }

    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)
    /// The system's clocks go on during the test.
    private static let tolerance: Int64 = 600_000

    /// How far the clock is ahead in a launch, in the next one, and the error of its first event after a restart of the machine.
    static let launches: [(first: Int64, second: Int64, restarted: Int64)] = [
        (2 * day, 0, 0), (-1_767_000_000_000, 0, 0), (-hour, hour, hour), (-2 * day, 0, 0), (0, 2 * day, 2 * day),
        (2 * day, 2 * day, 2 * day), (0, 0, 0),
        // The clock shows a time that was over.
        (-2 * day, -2 * day, 0), (-hour, -hour, 0), (-hour, -1_767_000_000_000, 0), (0, -day, 0),
        (day, -1_700_000_000_000, 0),
    ]

    @Test("in the same run of the machine, a clock that was set between two launches is noticed", arguments: launches)
    func setClockIsNoticed(row: (first: Int64, second: Int64, restarted: Int64)) async throws {
        let place = MemoryPlace().persistence
        let origin = VirtualTime().wallTime().milliseconds - Int64(SystemTime().continuousTime() / .milliseconds(1))
        let before = try await WrongClock(origin: origin, ahead: row.first).launch(keptIn: place, events: 2)
        #expect(before[0] == row.first && abs(before[1]) <= Self.tolerance)
        let after = try await WrongClock(origin: origin, ahead: row.second).launch(keptIn: place, events: 2)
        #expect(after.allSatisfy { abs($0) <= Self.tolerance }, "\(after)")
    }

    @Test("after a restart of the machine, the clock is believed unless its time was over", arguments: launches)
    func restartedClockIsBelieved(row: (first: Int64, second: Int64, restarted: Int64)) async throws {
        let place = MemoryPlace().persistence
        let origin = VirtualTime().wallTime().milliseconds
        let first = WrongClock(base: VirtualTime(), origin: origin, ahead: row.first)
        _ = try await first.launch(keptIn: place, events: 2)
        let second = WrongClock(base: VirtualTime(), origin: origin + 60_000, ahead: row.second)
        let after = try await second.launch(keptIn: place, events: 2)
        #expect(abs(after[0] - row.restarted) <= Self.tolerance, "\(after)")
        #expect(abs(after[1]) <= Self.tolerance, "after a response")
    }

    /// How far the clock is ahead before and after a restart, and how long no response comes then, in hours.
    static let silences: [(first: Int64, second: Int64, hours: Int)] = [
        (-2 * hour, -2 * hour, 3), (-2 * day, -2 * day, 100), (-3 * hour, -4 * hour, 5), (0, -1_767_000_000_000, 48),
        (-hour, -1_700_000_000_000, 9), (day, day - 30 * day, 24),
    ]

    @Test("a clock that was found to be wrong after a restart isn't believed later", arguments: silences)
    func decisionStays(row: (first: Int64, second: Int64, hours: Int)) async throws {
        let place = MemoryPlace().persistence
        let origin = VirtualTime().wallTime().milliseconds
        _ = try await WrongClock(base: VirtualTime(), origin: origin, ahead: row.first).launch(keptIn: place, events: 2)
        let time = VirtualTime()
        let second = WrongClock(base: time, origin: origin + 60_000, ahead: row.second)
        let errors = try await second.launch(keptIn: place, events: 5, hasDate: false) {
            time.advance(by: .seconds(row.hours * 900))
        }
        #expect(errors.allSatisfy { abs($0) <= Self.tolerance }, "\(errors)")
    }

    @Test(
        "a clock that had lost the time, and is set before a response comes, is believed",
        arguments: [
            (0, -1_767_000_000_000), (0, -30 * day), (0, -8 * hour), (-1_767_000_000_000, -1_767_000_000_000),
            (day, -2 * day),
        ] as [(Int64, Int64)])
    func setClockIsBelieved(first: Int64, ahead: Int64) async throws {
        let place = MemoryPlace().persistence
        let (time, origin) = (VirtualTime(), VirtualTime().wallTime().milliseconds)
        _ = try await WrongClock(base: VirtualTime(), origin: origin, ahead: first).launch(keptIn: place, events: 2)
        // The machine was off for three days.
        let wrong = WrongClock(
            base: time, origin: origin + 3 * Self.day, isSet: Locked(false), ahead: ahead - 3 * Self.day)
        let errors = try await wrong.launch(keptIn: place, events: 3, hasDate: false) {
            wrong.isSet.withLock { $0 = true }
        }
        #expect(abs(errors[0] + 3 * Self.day) <= Self.tolerance, "no earlier than the last response")
        #expect(errors.dropFirst().allSatisfy { abs($0) <= Self.tolerance }, "\(errors)")
    }
}
