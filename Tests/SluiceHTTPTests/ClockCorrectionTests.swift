import Sluice
import SluiceMemory
import SluiceTesting
import Testing

@testable import SluiceHTTP

@Suite("Clock correction", .timeLimit(.minutes(10)))
struct ClockCorrectionTests {
    /// A server whose clock is this many milliseconds ahead of the virtual clock.
    struct TimeServer: HTTPClient {
        let time: VirtualTime
        let ahead: Int64
        var status = 200
        /// The duration of a request.
        var delay = Duration.zero
        var date: String?

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            time.advance(by: delay / 2)
            let shown = VirtualTime().wallTime().milliseconds + ahead + Int64(time.continuousTime() / .milliseconds(1))
            time.advance(by: delay / 2)
            return HTTPResponse(
                status: status, headers: [("Date", date ?? Self.httpDate(Timestamp(milliseconds: shown)))])
        }

        /// For the days around the beginning of 2026.
        static func httpDate(_ time: Timestamp) -> String {
            let text = time.description
            let months = ["01": "Jan", "12": "Dec", "02": "Feb"]
            let month = months[String(text.dropFirst(5).prefix(2))] ?? "Jan"
            return "Thu, \(text.dropFirst(8).prefix(2)) \(month) \(text.prefix(4)) \(text.dropFirst(11).prefix(8)) GMT"
        }
    }

    private struct Bench {
        let time = VirtualTime()
        let clock: ClockCorrection
        let transport: HTTPTransport

        init(_ make: (VirtualTime) -> TimeServer) {
            clock = ClockCorrection(time: time)
            transport = HTTPTransport(
                to: "https://h", configuration: .init(client: make(time), time: time, clock: clock))
        }

        /// The error, in milliseconds, of the time of an event that is tracked now.
        func error(ahead: Int64) -> Int64 {
            var event = Event(id: EventID(high: 0, low: 0), name: "E", time: time.wallTime())
            _ = clock.process(&event)
            let passed = Int64(time.continuousTime() / .milliseconds(1))
            return event.time.milliseconds - (VirtualTime().wallTime().milliseconds + ahead + passed)
        }
    }

    @Test(
        "an event gets the server's time within half a second, and closer with every response",
        arguments: [86_400_000, -86_400_000, 3_600_500, -7_000, 2_100, -30 * 86_400_000] as [Int64])
    func eventGetsServerTime(ahead: Int64) async throws {
        let bench = Bench { TimeServer(time: $0, ahead: ahead, delay: .milliseconds(40)) }
        #expect(bench.error(ahead: ahead) == -ahead, "before the first response")
        _ = try await bench.transport.send(.small)
        #expect(abs(bench.error(ahead: ahead)) <= 540)
        for number in 0..<20 {
            bench.time.advance(by: .milliseconds(1_000 + number * 53))
            _ = try await bench.transport.send(.small)
        }
        #expect(abs(bench.error(ahead: ahead)) <= 120)
        #expect(abs(try #require(bench.transport.clockSkew) / .milliseconds(1) - Double(ahead)) <= 120)
    }

    @Test("a clock that agrees with the server changes nothing", arguments: [0, 300, -300] as [Int64])
    func plausibleClockIsKept(ahead: Int64) async throws {
        let bench = Bench { TimeServer(time: $0, ahead: ahead, delay: .milliseconds(900)) }
        _ = try await bench.transport.send(.small)
        #expect(bench.error(ahead: ahead) == -ahead)
        #expect(bench.clock.skew == .zero)
    }

    @Test("setting the wall clock afterwards changes nothing")
    func settingWallClockChangesNothing() async throws {
        let bench = Bench { TimeServer(time: $0, ahead: 5_000) }
        _ = try await bench.transport.send(.small)
        bench.time.setWallTime(Timestamp(milliseconds: 0))
        bench.time.advance(by: .seconds(100))
        #expect(abs(bench.error(ahead: 5_000)) <= 500)
    }

    @Test("an event in the past keeps its time")
    func pastEventKeepsTime() async throws {
        let bench = Bench { TimeServer(time: $0, ahead: 86_400_000) }
        _ = try await bench.transport.send(.small)
        let then = Timestamp(milliseconds: bench.time.wallTime().milliseconds - 1_001)
        var event = Event(id: EventID(high: 0, low: 0), name: "E", time: then)
        #expect(bench.clock.process(&event) == .keep)
        #expect(event.time == then)
    }

    @Test(
        "a corrected event records the correction, and is corrected once",
        arguments: [86_400_000, -7_000, 2_100] as [Int64])
    func correctedEventIsMarkedOnce(ahead: Int64) async throws {
        let bench = Bench { TimeServer(time: $0, ahead: ahead) }
        _ = try await bench.transport.send(.small)
        let shown = bench.time.wallTime()
        var event = Event(id: EventID(high: 0, low: 0), name: "E", time: shown, properties: ["a": 1])
        for _ in 1...2 { #expect(bench.clock.process(&event) == .keep) }
        let added = event.time.milliseconds - shown.milliseconds
        #expect(abs(added - ahead) <= 500 && added != 0)
        #expect(event.properties == ["a": 1, "$time_correction": .int(added)])
        // A corrected event that passes again, for example after consent, may have a time near the clock's.
        var again = Event(
            id: EventID(high: 0, low: 0), name: "E", time: shown, properties: ["$time_correction": .int(added)])
        #expect(bench.clock.process(&again) == .keep)
        #expect(again.time == shown)
    }

    @Test("an event without a correction isn't marked", arguments: [0, 300, -300] as [Int64])
    func uncorrectedEventIsNotMarked(ahead: Int64) async throws {
        let bench = Bench { TimeServer(time: $0, ahead: ahead, delay: .milliseconds(900)) }
        _ = try await bench.transport.send(.small)
        for past in [0, 5_000] as [Int64] {
            let time = Timestamp(milliseconds: bench.time.wallTime().milliseconds - past)
            var event = Event(id: EventID(high: 0, low: 0), name: "E", time: time)
            #expect(bench.clock.process(&event) == .keep)
            #expect(event.properties.isEmpty && event.time == time)
        }
    }

    @Test(
        "responses other than 2xx with a valid date are ignored",
        arguments: [(302, nil), (401, nil), (503, nil), (200, "soon"), (200, "")] as [(Int, String?)])
    func otherResponsesAreIgnored(status: Int, date: String?) async throws {
        let bench = Bench { TimeServer(time: $0, ahead: 86_400_000, status: status, date: date) }
        _ = try await bench.transport.send(.small)
        #expect(bench.clock.skew == nil)
        #expect(bench.error(ahead: 0) == 0)
    }

    @Test("bounds narrow down, and contradicting ones are replaced")
    func boundsNarrowOrAreReplaced() {
        let date = Timestamp(milliseconds: 10_000)
        let first = ClockBounds(date: date, between: .milliseconds(100), and: .milliseconds(300))
        #expect(first.lowest == 9_700)
        #expect(first.highest == 10_899)
        let second = ClockBounds(
            date: Timestamp(milliseconds: 11_000), between: .milliseconds(1_000), and: .milliseconds(1_050))
        #expect(first.narrowed(by: second).lowest == 9_950)
        #expect(first.narrowed(by: second).highest == 10_899)
        let other = ClockBounds(date: Timestamp(milliseconds: 99_000), between: .zero, and: .zero)
        #expect(first.narrowed(by: other) == other)
    }

    @Test("the transport reports the skew, and events of the pipeline are corrected")
    func transportReportsSkew() async throws {
        let time = VirtualTime()
        let clock = ClockCorrection(time: time)
        let store = FaultyStore(MemoryStore())
        let client = TimeServer(time: time, ahead: 3_600_000)
        let transport = HTTPTransport(
            to: "https://h", configuration: .init(client: client, time: time, clock: clock))
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            clock
            store
            transport
        }
        pipeline.track("Before")
        #expect(transport.clockSkew == nil)
        await pipeline.flush()
        pipeline.track("After")
        let skew = try #require(transport.clockSkew)
        #expect(abs(skew / .milliseconds(1) - 3_600_000) <= 500)
        let times = try store.stored().map { $0.time.milliseconds - VirtualTime().wallTime().milliseconds }
        #expect(times[0] == 0)
        #expect(abs(times[1] - 3_600_000) <= 500)
        let marks = try store.stored().map { $0.properties["$time_correction"] }
        #expect(marks == [nil, .int(times[1])])
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("it keeps the contract of processors")
    func keepsProcessorContract() async throws {
        try await ProcessorContract.check { ClockCorrection() }
    }
}
