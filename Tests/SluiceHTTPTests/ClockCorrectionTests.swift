import HTTPTestSupport
import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite("Clock correction", .serialized)
struct ClockCorrectionTests {
    /// A server whose clock is this many milliseconds ahead of the virtual clock.
    struct TimeServer: HTTPClient {
        let time: VirtualTime
        let ahead: Int64
        var status = 200
        /// The duration of a request.
        var delay = Duration.zero
        var date: String?
        let received = Arrivals<HTTPRequest>()

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            received.add(request)
            time.advance(by: delay / 2)
            let shown = Timestamp(milliseconds: now)
            time.advance(by: delay / 2)
            return HTTPResponse(status: status, headers: [("Date", date ?? Self.httpDate(shown))])
        }

        /// The server's time, which nobody sets.
        var now: Int64 {
            VirtualTime().wallTime().milliseconds + ahead + Int64(time.continuousTime() / .milliseconds(1))
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
        let time: VirtualTime
        let server: TimeServer
        let transport: HTTPTransport

        init(
            _ format: HTTPFormat = .ndjson, persistedIn persistence: Persistence = .memory,
            _ make: (VirtualTime) -> TimeServer
        ) throws {
            time = VirtualTime()
            server = make(time)
            transport = server.transport(format, clockCorrection: .learned(keptIn: persistence))
            try transport.open(in: .virtual(time))
        }

        /// An event that is tracked now, by the wall clock.
        func event(_ properties: Properties = [:]) -> Event {
            Event(id: EventID(high: 0, low: 1), name: "E", time: time.wallTime(), properties: properties)
        }

        /// Sends an event, and returns it as the server got it.
        func sent(_ event: Event) async throws -> Event {
            _ = try await transport.send(Batch(id: 1, events: [EventLine(event)]))
            let body = try #require(server.received.all.last?.body)
            return try EventLine(bytes: body.dropLast(), priority: .normal).event()
        }

        /// The error, in milliseconds, of the sent time of an event that is tracked now.
        func error() async throws -> Int64 {
            let now = server.now
            return try await sent(event()).time.milliseconds - now
        }
    }

    @Test(
        "an event is sent with the server's time within half a second, and closer with every response",
        arguments: [86_400_000, -86_400_000, 3_600_500, -7_000, 2_100, -30 * 86_400_000] as [Int64])
    func eventGetsServerTime(ahead: Int64) async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: ahead, delay: .milliseconds(40)) }
        #expect(try await bench.error() == -ahead, "before the first response")
        #expect(abs(try await bench.error()) <= 540)
        for number in 0..<20 {
            bench.time.advance(by: .milliseconds(1_000 + number * 53))
            #expect(abs(try await bench.error()) <= 540)
        }
        #expect(abs(try #require(bench.transport.clockSkew) / .milliseconds(1) - Double(ahead)) <= 540)
    }

    @Test("an event from before the first response, and one from an earlier launch, are corrected")
    func earlierEventsAreCorrected() async throws {
        let persistence = MemoryPlace().persistence
        let first = try Bench(persistedIn: persistence) { TimeServer(time: $0, ahead: 86_400_000) }
        let early = first.event()
        let now = first.server.now
        _ = try await first.error()
        #expect(abs(try await first.sent(early).time.milliseconds - now) <= 540)

        let second = try Bench(persistedIn: persistence) { TimeServer(time: $0, ahead: 86_400_000) }
        #expect(second.transport.clockSkew == first.transport.clockSkew)
        #expect(abs(try await second.sent(early).time.milliseconds - now) <= 540, "before the first response")
        #expect(second.transport.clockSkew == first.transport.clockSkew)
    }

    @Test(
        "damaged state is reported, and counts as no state",
        arguments: ["{", "{}", #"{"clock":{"skew":5},"checksum":"0"}"#])
    func damagedStateIsIgnored(text: String) async throws {
        let persistence = Persistence(named: text, read: { _ in Array(text.utf8) }, write: { _, _ in })
        let told = Arrivals<Diagnostic>()
        let transport = HTTPTransport(
            to: "https://h", configuration: .init(clockCorrection: .learned(keptIn: persistence)))
        _ = try Pipeline(onDiagnostic: told.add) {
            MemoryStore()
            transport
        }
        #expect(told.all.map(\.kind) == [.note])
        #expect(told.all.first?.message.hasPrefix("clock correction: clock in \(text) is damaged") == true)
        let bench = try Bench(persistedIn: persistence) { TimeServer(time: $0, ahead: 86_400_000) }
        #expect(bench.transport.clockSkew == nil)
        #expect(try await bench.error() == -86_400_000)
        #expect(abs(try await bench.error()) <= 540)
    }

    @Test(
        "retries have the same bytes, unless a response contradicts the skew",
        arguments: [86_400_123, -2_100] as [Int64])
    func retriesHaveSameBytes(ahead: Int64) async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: ahead, delay: .milliseconds(8)) }
        let event = bench.event()
        for number in 0..<500 {
            _ = try await bench.sent(event)
            bench.time.advance(by: .milliseconds(1 + number * 137 % 5_000))
        }
        // Bounds with a first width of a second are narrowed down to 200 ms.
        let bodies = bench.server.received.all.map(\.body)
        #expect(Set(bodies).count <= 5)
        #expect(Set(bodies.suffix(300)).count == 1)
    }

    @Test("a clock that agrees with the server changes nothing", arguments: [0, 300, -300] as [Int64])
    func plausibleClockIsKept(ahead: Int64) async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: ahead, delay: .milliseconds(900)) }
        for _ in 0..<2 {
            let event = bench.event()
            #expect(try await bench.sent(event) == event)
        }
        #expect(bench.transport.clockSkew == .zero)
    }

    @Test("an event that is tracked after the wall clock was set is corrected")
    func settingWallClockIsNoticed() async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: 5_000) }
        _ = try await bench.error()
        for time in [Timestamp(milliseconds: 0), Timestamp(milliseconds: 4_000_000_000_000)] {
            bench.time.setWallTime(time)
            #expect(abs(try await bench.error()) <= 500)
            bench.time.advance(by: .seconds(100))
            #expect(abs(try await bench.error()) <= 500)
        }
    }

    @Test(
        "a corrected event records the correction, and an event that records one isn't corrected",
        arguments: [86_400_000, -7_000, 2_100] as [Int64])
    func correctedEventIsMarkedOnce(ahead: Int64) async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: ahead) }
        _ = try await bench.error()
        let event = bench.event(["a": 1])
        let sent = try await bench.sent(event)
        let added = sent.time.milliseconds - event.time.milliseconds
        #expect(abs(added - ahead) <= 500 && added != 0)
        #expect(sent.properties == ["a": 1, "$time_correction": .int(added)])
        #expect(try await bench.sent(sent) == sent)
        let foreign = bench.event(["$time_correction": 0])
        #expect(try await bench.sent(foreign) == foreign)
    }

    /// The `$session_id` of an event, the index that a stage may have removed, and whether its time is by the event's clock.
    static let sessions: [(id: PropertyValue, index: PropertyValue?, isMoved: Bool)] = [
        (.string("019b76da-a800-7abc-8123-456789abcdef"), 1, true),
        (.string("019B76DA-A800-7ABC-8123-456789ABCDEF"), 7, true),
        (.string("019b76da-a800-7000-8000-000000000000"), .int(.max), true),
        (.string("019b76da-a800-7abc-8123-456789abcdef"), nil, true),
        (.string("019b76da-abe8-7fff-bfff-ffffffffffff"), nil, true),
        (.string("0199a200-0000-7abc-8123-456789abcdef"), nil, true),
        // Later than its event.
        (.string("019b76da-abe9-7abc-8123-456789abcdef"), 1, false),
        (.string("019b80da-a800-7abc-8123-456789abcdef"), nil, false),
        (.string("0e8400e2-29b4-41d4-a716-446655440000"), 1, false), (.string("1767225600000"), 1, false),
        (.int(1_767_225_600_000), 1, false), (.string(""), 1, false), (.string("visit-7"), 1, false),
        (.string("019b76daa8007abc8123456789abcdef"), 1, false), (.null, 1, false), (.array([]), 1, false),
    ]

    @Test(
        "the start of a session is moved with its events, and an id that isn't a time of their clock stays",
        arguments: sessions, [-172_800_000, 86_400_000, -7_000] as [Int64])
    func sessionIsMovedWithEvents(
        row: (id: PropertyValue, index: PropertyValue?, isMoved: Bool), ahead: Int64
    ) async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: ahead) }
        _ = try await bench.error()
        var properties: Properties = ["$session_id": row.id]
        properties["$session_index"] = row.index
        let event = bench.event(properties)
        let sent = try await bench.sent(event)
        let added = sent.time.milliseconds - event.time.milliseconds
        guard row.isMoved else { return #expect(sent.properties["$session_id"] == row.id) }
        let old = try #require(row.id.string.flatMap { EventID($0) })
        let new = try #require(sent.properties["$session_id"]?.string.flatMap { EventID($0) })
        #expect(try #require(new.time).milliseconds - #require(old.time).milliseconds == added)
        #expect(new.low == old.low && new.high & 0xFFFF == old.high & 0xFFFF)
    }

    @Test("the time of sending is corrected like the events")
    func sendTimeIsCorrected() async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: 86_400_000) }
        for expected in [0, 86_400_000] as [Int64] {
            _ = try await bench.error()
            let request = try #require(bench.server.received.all.last)
            let ahead = request.sendTime.milliseconds - bench.time.wallTime().milliseconds
            #expect(abs(ahead - expected) <= 500)
            #expect(request.header("X-Sent-At") == request.sendTime.description)
        }
    }

    @Test("a line that can't be read, and a time that would leave the calendar, are sent as they are")
    func otherLinesAreSentAsTheyAre() async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: 86_400_000) }
        _ = try await bench.error()
        _ = try await bench.transport.send(.of(#"{"n":1}"#))
        #expect(bench.server.received.all.last.map { String(decoding: $0.body, as: UTF8.self) } == "{\"n\":1}\n")
        var event = bench.event()
        event.time = Timestamp.writable.upperBound
        #expect(try await bench.sent(event) == event)
    }

    @Test(
        "responses other than 2xx with a plausible date are ignored",
        arguments: [
            (302, nil), (401, nil), (503, nil), (200, "soon"), (200, ""), (200, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (200, "Sat, 01 Jan 0000 00:00:00 GMT"), (200, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (200, "Tue, 31 Dec 2024 23:59:59 GMT"), (200, "Fri, 01 Jan 2100 00:00:00 GMT"),
        ] as [(Int, String?)])
    func otherResponsesAreIgnored(status: Int, date: String?) async throws {
        let bench = try Bench { TimeServer(time: $0, ahead: 86_400_000, status: status, date: date) }
        let event = bench.event()
        for _ in 0..<2 { #expect(try await bench.sent(event) == event) }
        #expect(bench.transport.clockSkew == nil)
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
        let barelyCommon = ClockBounds(
            date: Timestamp(milliseconds: 11_000), between: .milliseconds(100), and: .milliseconds(300))
        #expect(first.narrowed(by: barelyCommon) == first, "less than 200 ms wide")
        let other = ClockBounds(date: Timestamp(milliseconds: 99_000), between: .zero, and: .zero)
        #expect(first.narrowed(by: other) == other)
        #expect(first.skew(from: 0, keeping: nil) == 10_299)
        #expect(first.skew(from: 0, keeping: 9_699) == 10_299)
        #expect(first.skew(from: 0, keeping: 9_700) == 9_700)
        #expect(first.skew(from: 0, keeping: 10_899) == 10_899)
        #expect(first.skew(from: 10_400, keeping: 600) == 0)
    }
}
