import Sluice
import SluiceTesting
import Testing

@testable import SluiceHTTP

@Suite("Limits of batches and bodies", .timeLimit(.minutes(10)))
struct LimitTests {
    /// Events, bytes of a body: what the backends document.
    static let limits: [(name: String, events: Int, bytes: Int)] = [
        ("elasticsearch", 500, 100_000_000), ("otlp", .max, 20 * 1_048_576), ("sensors", 100, .max),
        ("segment", 2_500, 500_000), ("postHog", .max, 20_000_000), ("loki", .max, 4_000_000),
        ("mixpanel", 2_000, 10_000_000), ("amplitude", 1_999, 1_000_000), ("datadog", 1_000, 5_000_000),
        ("clickHouse", 1_048_449, .max),
    ]

    @Test("those of a format are no higher than those of its backend", arguments: limits.indices)
    func documented(row: Int) throws {
        let (name, events, bytes) = Self.limits[row]
        let format = try FormatSample.named(name).format
        #expect(format.maximumBatchSize.events <= events)
        #expect(bytes == .max || format.maximumBodyBytes <= bytes)
        #expect(format.maximumBatchSize.bytes <= bytes)
        #expect(HTTPTransport(to: "https://h/", format: format).maximumBatchSize == format.maximumBatchSize)
    }

    @Test(
        "all verdicts of the largest batch fit into what is read of an answer",
        arguments: [
            ("elasticsearch", #"{"create":{"status":400}},"#),
            ("kafka", #"{"partition":999,"offset":999999999999,"error_code":null,"error":null},"#),
            (
                "kafkaV3",
                #"{"error_code":200,"cluster_id":"0123456789012345678901","topic_name":""#
                    + String(repeating: "t", count: 249)
                    + #"","partition_id":999,"offset":999999999999,"timestamp":"2026-01-01T00:00:00.000Z","#
                    + #""key":{"type":"STRING","size":1024},"value":{"type":"JSON","size":999999}}"# + "\r\n"
            ),
        ])
    func verdicts(name: String, verdict: String) throws {
        let format = try FormatSample.named(name).format
        #expect(format.maximumBatchSize.events * verdict.utf8.count + 64 <= HTTPAnswer.bodyLimit)
    }

    struct Doubling: WireFormat {
        let limit: Int
        var maximumBodyBytes: Int { limit }
        func encode(_ batch: Batch, into request: inout HTTPRequest) {
            request.body = NDJSONFormat.lines(of: batch) + NDJSONFormat.lines(of: batch)
        }
    }

    @Test("a body that turned out too long is not sent, and the batch is split")
    func tooLong() async throws {
        let server = try Server(answering: HTTPAnswer.ok)
        let exact = try openTransport(to: server.url, format: Doubling(limit: 16))
        #expect(try await exact.send(.small) == .all(.accepted))
        let transport = try openTransport(to: server.url, format: Doubling(limit: 15))
        #expect(try await transport.send(.small) == .all(.split(.tooLarge)))
        #expect(server.received.all.count == 1)
    }

    /// An event that makes a body of exactly so many bytes by itself.
    private func event(making count: Int, _ format: any WireFormat) throws -> EventLine {
        func line(_ padding: Int) throws -> EventLine {
            var event = Event.numbered(1)
            event.properties["pad"] = .string(String(repeating: "x", count: padding))
            return try EventLine(event)
        }
        func bytes(_ line: EventLine) throws -> Int {
            var request = HTTPRequest(url: "https://h")
            try format.encode(Batch(id: Batch.ID(rawValue: 1), events: [line]), into: &request)
            return request.body.count
        }
        return try line(count - bytes(line(0)))
    }

    @Test("an event that is larger than its backend takes any is not sent; it is refused beside those that are taken")
    func oversized() async throws {
        let format = SegmentFormat(writeKey: "k")
        let largest = try event(making: format.maximumEventBytes, format)
        let tooLarge = try event(making: format.maximumEventBytes + 1, format)
        let small = try EventLine(Event.numbered(2))
        let server = try Server(answering: HTTPAnswer.ok)
        let transport = try openTransport(to: server.url, format: format)
        let batch = Batch(id: Batch.ID(rawValue: 1), events: [small, tooLarge, largest, tooLarge])
        #expect(try await transport.send(batch).fates(of: 4) == [.accepted, .rejected, .accepted, .rejected])
        #expect(server.received.all.count == 1)
        #expect(try TrialServer.numbers(in: #require(server.received.all.first).body) == [2, 1])
        let alone = Batch(id: Batch.ID(rawValue: 2), events: [tooLarge])
        #expect(try await transport.send(alone).fates(of: 1) == [.rejected])
        #expect(server.received.all.count == 1)
    }

    @Test("what a server says of the rest goes for the rest", arguments: [503, 413, 400, 401])
    func oversizedAndOthers(status: Int) async throws {
        let format = SegmentFormat(writeKey: "k")
        let tooLarge = try event(making: format.maximumEventBytes + 1, format)
        let server = try Server(answering: "HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
        let transport = try openTransport(to: server.url, format: format)
        let batch = Batch(id: Batch.ID(rawValue: 1), events: try [EventLine(Event.numbered(2)), tooLarge])
        let fates = try await transport.send(batch).fates(of: 2)
        #expect(fates == [Verdicts.all(HTTPAnswer(status: status).verdict).fates(of: 1)[0], .rejected])
    }

    @Test("no event of a pipeline's default limit is too large for a backend, but for those that say so")
    func eventLimits() {
        let limited = FormatSample.all.filter { $0.format.maximumEventBytes < 1_000_000 }.map(\.name)
        #expect(limited == ["segment"])
    }

    @Test("a line that cannot be read is searched for, not tried for ever, and nothing is sent")
    func unreadable() async throws {
        let server = try Server(answering: HTTPAnswer.ok)
        let transport = try openTransport(to: server.url, format: .postHog(apiKey: "k"))
        #expect(try await transport.send(.small).fates(of: 1) == [.refused])
        #expect(server.connectionCount == 0)
    }
}

/// A client that keeps the requests, for what no server needs to see.
final class KeepingClient: HTTPClient {
    let requests = Locked<[HTTPRequest]>([])
    private let answer: HTTPAnswer

    init(answering answer: HTTPAnswer = HTTPAnswer(status: 200, body: Array(#"{"status":1}"#.utf8))) {
        self.answer = answer
    }

    func send(_ request: HTTPRequest) async throws -> HTTPAnswer {
        requests.withLock { $0.append(request) }
        return answer
    }
}

@Suite("The envelope", .timeLimit(.minutes(10)))
struct EnvelopeTests {
    @Test("tells the time of each sending by the transport's clock, and the events keep their own")
    func sendTime() async throws {
        let time = VirtualTime()
        let client = KeepingClient()
        let transport = HTTPTransport(
            to: "https://h", format: .postHog(apiKey: "k"), gzip: false, client: client, time: time)
        let batch = try Batch.allKinds()
        _ = try await transport.send(batch)
        time.advance(by: .seconds(61))
        _ = try await transport.send(batch)
        let bodies = client.requests.withLock { $0.map { String(decoding: $0.body, as: UTF8.self) } }
        #expect(bodies[0].contains(#""sent_at":"2026-01-01T00:00:00.000Z""#))
        #expect(bodies[1].contains(#""sent_at":"2026-01-01T00:01:01.000Z""#))
        #expect(
            bodies[0].replacing("2026-01-01T00:00:00.000Z\",\"batch", with: "2026-01-01T00:01:01.000Z\",\"batch")
                == bodies[1])
    }
}
