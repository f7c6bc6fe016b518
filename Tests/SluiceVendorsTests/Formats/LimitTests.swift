import HTTPTestSupport
import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

@Suite("Limits of batches and bodies")
struct LimitTests {
    /// The documented limits: events, and bytes of a body.
    static let limits: [(name: String, events: Int, bytes: Int)] = [
        ("elasticsearch", 500, 100_000_000), ("otlp", .max, 20 * 1_048_576), ("sensors", 100, .max),
        ("segment", 2_500, 500_000), ("postHog", .max, 20_000_000), ("postHogBatch", .max, 20_000_000),
        ("loki", .max, 4_000_000), ("mixpanel", 2_000, 10_000_000), ("amplitude", 1_999, 1_000_000),
        ("datadog", 1_000, 5_000_000), ("clickHouse", 1_048_449, .max), ("influxDBV1", .max, 25_000_000),
        ("influxDB", 10_000, 50_000_000), ("googleAnalytics", 25, 130_000), ("matomo", 200, 8_388_608),
        ("snowplow", .max, 1_000_000), ("kinesis", 500, 5_242_880), ("firehose", 500, 4_194_304),
    ]

    @Test("a format's limits don't exceed those of its backend", arguments: limits.indices)
    func limitsAreWithinBackend(row: Int) throws {
        let (name, events, bytes) = Self.limits[row]
        let format = try FormatSample.named(name).wire
        #expect(format.maximumBatchSize.events <= events)
        #expect(bytes == .max || format.maximumBodyBytes <= bytes)
        #expect(format.maximumBatchSize.bytes <= bytes)
        #expect(HTTPTransport(to: "https://h/", format: HTTPFormat(format)).maximumBatchSize == format.maximumBatchSize)
    }

    @Test(
        "the results of the largest batch fit into the part of a response that is read",
        arguments: [
            ("elasticsearch", #"{"create":{"status":400}},"#),
            (
                "postHog",
                #""019b7705-8c00-7000-8000-0000ffff0001":{"result":"drop","details":"person_processing_disabled"},"#
            ),
            (
                "kinesis",
                #"{"ErrorCode":"ProvisionedThroughputExceededException","ErrorMessage":"Rate exceeded for shard "#
                    + "shardId-000000000000 in stream " + String(repeating: "s", count: 128)
                    + #" under account 111111111111."},"#
            ),
            ("kafka", #"{"partition":999,"offset":999999999999,"error_code":null,"error":null},"#),
            (
                "kafkaV3",
                #"{"error_code":200,"cluster_id":"0123456789012345678901","topic_name":""#
                    + String(repeating: "t", count: 249)
                    + #"","partition_id":999,"offset":999999999999,"timestamp":"2026-01-01T00:00:00.000Z","#
                    + #""key":{"type":"STRING","size":1024},"value":{"type":"JSON","size":999999}}"# + "\r\n"
            ),
        ])
    func resultsFitIntoBodyLimit(name: String, verdict: String) throws {
        let format = try FormatSample.named(name).wire
        #expect(format.maximumBatchSize.events * verdict.utf8.count + 64 <= HTTPResponse.bodyLimit)
    }

    private static let success = HTTPResponse(200, "{}")

    /// An event whose body without other events has this number of bytes.
    private func event(making count: Int, _ format: any WireFormat) throws -> EventLine {
        func line(_ padding: Int) throws -> EventLine {
            var event = Event.numbered(1)
            event.properties["pad"] = .string(String(repeating: "x", count: padding))
            return try EventLine(event)
        }
        func bytes(_ line: EventLine) throws -> Int {
            var request = HTTPRequest(url: "https://h")
            try format.encode(Batch(id: 1, events: [line]), into: &request)
            return request.body.count
        }
        return try line(count - bytes(line(0)))
    }

    @Test("an event of exactly the format's limit is sent, a larger one is unsendable")
    func largestEventIsSent() async throws {
        let format = SegmentFormat(writeKey: "k")
        let largest = try event(making: format.maximumEventBytes, format)
        let tooLarge = try event(making: format.maximumEventBytes + 1, format)
        let small = try EventLine(Event.numbered(2))
        let client = KeepingClient(responding: Self.success)
        let transport = client.transport(HTTPFormat(format))
        let batch = Batch(id: 1, events: [small, tooLarge, largest, tooLarge])
        #expect(try await transport.send(batch).fates(of: 4) == [.accepted, .unsendable, .accepted, .unsendable])
        #expect(client.bodies.count == 1)
        #expect(client.bodies[0].split(separator: #""number":"#).dropFirst().map { $0.first } == ["2", "1"])
    }

    @Test(
        "RudderStack takes what its servers accept: up to 4,000 KiB, in an event and in a batch",
        arguments: [
            [40_000], [4_050_000], Array(repeating: 30_000, count: 40), [900_000, 900_000],
            Array(repeating: 300_000, count: 13),
        ])
    func rudderStackTakesLargeEvents(sizes: [Int]) async throws {
        let client = KeepingClient(responding: Self.success)
        let events = try sizes.enumerated().map { number, size in
            var event = Event.numbered(number)
            // A longer text is cut.
            for start in stride(from: 0, to: size, by: 900_000) {
                let pad = String(repeating: "x", count: min(size - start, 900_000))
                event.properties["pad\(start)"] = .string(pad)
            }
            return try EventLine(event)
        }
        let transport = client.transport(.rudderStack(writeKey: "k"))
        let verdicts = try await transport.send(Batch(id: 1, events: events))
        #expect(verdicts.fates(of: sizes.count).allSatisfy { $0 == .accepted })
        #expect(client.requests.count == 1)
        #expect(HTTPFormat.rudderStack(writeKey: "k").maximumBodyBytes == 4_096_000)
        #expect(HTTPFormat.segment(writeKey: "k").maximumBodyBytes == 500_000)
    }

    @Test("only Segment's limit is below a pipeline's default for one event")
    func onlySegmentLimitsDefaultEvents() {
        let limited = FormatSample.all.filter { $0.wire.maximumEventBytes < 1_000_000 }.map(\.name)
        #expect(limited == ["segment"])
    }
}
