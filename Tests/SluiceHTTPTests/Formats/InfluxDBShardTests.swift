import HTTPTestSupport
import Sluice
import SluiceMemory
import SluiceTesting
import Testing

@testable import SluiceHTTP

@Suite("Shards of InfluxDB")
struct InfluxDBShardTests {
    /// Answers like InfluxDB 1.6: `n` has a type in each shard, the points of all shards are written, and the answer is about one
    /// shard.
    private struct Shards {
        let hours: Int64
        /// The shards in which `n` is a text.
        let texts: Set<Int64>
        let written = Locked<Set<String>>([])

        func answer(_ request: HTTPRequest) -> HTTPResponse {
            var dropped: [Int64: (isText: Bool, count: Int)] = [:]
            for point in String(decoding: request.body, as: UTF8.self).split(separator: "\n") {
                let words = point.split(separator: " ")
                let shard = (Int64(words[2]) ?? 0) / 3_600_000_000_000 / hours
                let isText = words[1].contains("n=\"")
                if texts.contains(shard) == isText {
                    written.withLock { _ = $0.insert(String(words[1])) }
                } else {
                    dropped[shard] = (isText, dropped[shard, default: (isText, 0)].count + 1)
                }
            }
            guard let one = dropped.max(by: { $0.key < $1.key })?.value else { return HTTPResponse(status: 204) }
            let types = one.isText ? "string, already exists as type float" : "float, already exists as type string"
            let words =
                "partial write: field type conflict: input field \"n\" on measurement \"Cart\" is type "
                + "\(types) dropped=\(one.count)"
            return HTTPResponse(400, PropertyValue.object(["error": .string(words)]).text)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        /// The length of a shard.
        let shard: Int64
        /// The hours with a text among the events, one event for each hour.
        let texts: Set<Int64>
        var events: Range<Int64> = 0..<40
        /// The distance of the events, in hours.
        var distance: Int64 = 1
        /// The hours of shards in which the field is a text.
        var textShards: Set<Int64> = []
        let requests: Int

        var testDescription: String { "\(shard) h: \(texts.sorted()), every \(distance) h" }
    }

    static let rows = [
        Row(shard: 168, texts: [5], requests: 2), Row(shard: 168, texts: [3, 9], requests: 4),
        Row(shard: 168, texts: [2, 7, 11, 30], requests: 6), Row(shard: 24, texts: [2, 30], requests: 4),
        Row(shard: 168, texts: [1, 2], events: 0..<6, distance: 192, requests: 4),
        Row(shard: 168, texts: [0, 1, 2, 3], events: 0..<8, distance: 192, requests: 6),
        Row(shard: 1, texts: [4, 20], requests: 4),
        // Sixteen hours at a time.
        Row(shard: 168, texts: Set(0..<40), events: 0..<41, requests: 44),
        // Of two texts and two numbers, one of each is right in its shard.
        Row(shard: 1, texts: [4, 20], textShards: [20], requests: 4),
        Row(shard: 168, texts: [0, 3], events: 0..<5, distance: 192, textShards: [576], requests: 4),
    ]

    /// The requests that are answered about the events, and the answer to the others. Of seven events, the last one is right.
    static let receivers: [(answered: Int, answer: HTTPResponse?, fates: String)] = [
        (1, HTTPResponse(status: 429, headers: [("Retry-After", "60")]), "ttttttt"),
        (1, HTTPResponse(status: 503), "ttttttt"), (1, HTTPResponse(status: 401), "hhhhhhh"), (1, nil, "ttttttt"),
        (2, HTTPResponse(status: 429, headers: [("Retry-After", "60")]), "xtttttt"),
        (4, HTTPResponse(status: 404), "xxxhhht"), (3, nil, "xxttttt"), (6, HTTPResponse(status: 500), "xxxxxtt"),
    ]

    @Test("an answer that isn't about events ends the requests for single hours", arguments: receivers)
    func receiverEndsRequests(row: (answered: Int, answer: HTTPResponse?, fates: String)) async throws {
        let shards = Shards(hours: 168, texts: [])
        let client = KeepingClient { request, number in
            guard number > row.answered else { return shards.answer(request) }
            guard let answer = row.answer else { throw SluiceError(.inputOutput, "reset") }
            return answer
        }
        let events = try (0..<7).map { number in
            let time = Timestamp(milliseconds: (490_560 + Int64(number)) * 3_600_000)
            return try EventLine(
                Event(id: .make(at: time), name: "Cart", time: time, properties: ["n": number < 6 ? "x" : 1.5]))
        }
        let verdicts = try await client.transport(.influxDBV1(database: "d"), to: "https://h").send(
            Batch(id: 1, events: events))
        #expect(verdicts.fates(of: 7) == row.fates.map { ["x": .rejected, "h": .hold][$0] ?? .retry })
        #expect(client.requests.count == row.answered + 1)
        if row.answered == 1, case .each = verdicts.kind { Issue.record("the answer counts for the whole batch") }
    }

    @Test(
        "each text in the place of a number is found by the answers about its hour, and no event by a search",
        arguments: rows)
    func conflictsAreDecidedByHour(row: Row) async throws {
        // A Thursday, at which shards of 1, 24 and 168 hours begin.
        let first: Int64 = 490_560
        let textShards = Set(row.textShards.map { (first + $0) / row.shard })
        let shards = Shards(hours: row.shard, texts: textShards)
        let client = KeepingClient { request, _ in shards.answer(request) }
        let told = Arrivals<Diagnostic>()
        let time = VirtualTime()
        let pipeline = try Pipeline(isDeliveryPaused: true, environment: .virtual(time), onDiagnostic: told.add) {
            MemoryStore()
            client.transport(.influxDBV1(database: "d"), to: "https://h")
        }
        for number in row.events {
            let isText = row.texts.contains(number)
            pipeline.track("Cart", ["n": isText ? "x" : 1.5, "number": .int(number)]) {
                $0.time = Timestamp(milliseconds: (first + number * row.distance) * 3_600_000)
            }
        }
        pipeline.resumeDelivery()
        await pipeline.flush()
        let bad = row.events.filter { number in
            row.texts.contains(number) != textShards.contains((first + number * row.distance) / row.shard)
        }
        let letters = try await pipeline.deadLetters().map { try $0.event().properties["number"] }
        #expect(Set(letters) == Set(bad.map { .int($0) }))
        #expect(shards.written.withLock(\.count) == row.events.count - bad.count)
        #expect(client.requests.count <= row.requests, "\(client.requests.count)")
        #expect(!told.all.contains { [.searching, .paused].contains($0.kind) })
        let ledger = await pipeline.shutdown(timeout: .zero)
        #expect(ledger.isBalanced && ledger.routes[0].waiting == 0)
    }
}
