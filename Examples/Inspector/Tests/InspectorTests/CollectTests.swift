import ArgumentParser
import Foundation
import Sluice
import SluiceHTTP
import SluiceJSONL
import SluiceMemory
import SluiceVendors
import StoreFiles
import Synchronization
import Testing

@testable import Inspector
@testable import StoreFiles

/// What a receiver has printed, and how long it has slept.
private final class Recorder: Sendable {
    private let state = Mutex<(lines: [String], slept: [Duration])>(([], []))

    var lines: [String] { state.withLock { $0.lines } }
    var slept: [Duration] { state.withLock { $0.slept } }

    func print(_ line: String) { state.withLock { $0.lines.append(line) } }
    func sleep(_ time: Duration) { state.withLock { $0.slept.append(time) } }
}

@Suite("Collecting events", .serialized)
struct CollectTests {
    private let folder: TestFolder
    private let recorder = Recorder()

    init() throws {
        folder = try TestFolder()
    }

    private func receiver(_ answers: Receiver.Answers = Receiver.Answers()) throws -> Receiver {
        let recorder = recorder
        return Receiver(
            try CollectedFiles(at: folder.path, name: "a.ndjson"), answers,
            now: { Timestamp(milliseconds: 1_767_225_600_000) }, sleep: { recorder.sleep($0) },
            print: { recorder.print($0) })
    }

    private func request(_ body: String, headers: [String] = []) throws -> Inspector.HTTPRequest {
        let head = (["POST /events HTTP/1.1", "Host: 127.0.0.1"] + headers).joined(separator: "\r\n")
        var request = try Inspector.HTTPRequest(head: Array(head.utf8))
        request.body = Array(body.utf8)
        return request
    }

    private func line(_ event: Event) throws -> String { String(decoding: try EventLine(event).bytes, as: UTF8.self) }

    private func contents(of day: String) throws -> String {
        try String(contentsOfFile: "\(folder.path)/date=\(day)/a.ndjson", encoding: .utf8)
    }

    @Test("Events are kept byte for byte in the file of their day, and printed with their own properties")
    func keepsEvents() async throws {
        var event = Event.sample(
            1, "Purchase", ["sku": "A-7", "$app_version": "1.0", "$os": "Linux"], priority: .critical)
        event.distinctID = "ada"
        let last = Timestamp(milliseconds: 1_767_225_600_000 - 1)
        let lines = [try line(event), try line(.sample(2, time: last))]
        let response = try await receiver().respond(to: request(lines.joined(separator: "\n") + "\n"))
        #expect(response.status == 200)
        #expect(try contents(of: "2026-01-01") == lines[0] + "\n")
        #expect(try contents(of: "2025-12-31") == lines[1] + "\n")
        #expect(recorder.lines[0].hasSuffix(" Purchase critical ada sku=\"A-7\" +2 automatic\n"))
        // Events can wait for days before they arrive.
        let today = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970) * 1_000)
        _ = try await receiver().respond(to: request(line(.sample(3, "Today", [:], time: today))))
        let day = /202[56]-(12|01)-(31|01) [0-9]{2}:[0-9]{2}:[0-9]{2}\.(000|999) Purchase.*\n/
        #expect(recorder.lines[..<2].allSatisfy { $0.wholeMatch(of: day) != nil })
        #expect(recorder.lines[2].wholeMatch(of: /[0-9]{2}:[0-9]{2}:[0-9]{2}\.000 Today\n/) != nil)
    }

    @Test("An array, and the batches of other senders, are events too")
    func takesOtherBodies() async throws {
        let receiver = try receiver()
        let array = "[\(try line(.sample(1))),\(try line(.sample(2)))]"
        #expect(try await receiver.respond(to: request(array)).status == 200)
        #expect(try contents(of: "2026-01-01") == (try line(.sample(1))) + "\n" + (try line(.sample(2))) + "\n")
        let batch = """
            {"batch":[{"type":"track","event":"Order","messageId":"0192b1a4-6f2e-7c1d-8a53-2f0e9b1c7d44","userId":"bob",\
            "timestamp":"2026-02-03T04:05:06.000Z","properties":{"a":1},"context":{"os":"x"}}],"writeKey":"secret"}
            """
        #expect(try await receiver.respond(to: request(batch)).status == 200)
        let kept = try contents(of: "2026-02-03")
        #expect(
            kept == """
                {"id":"0192b1a4-6f2e-7c1d-8a53-2f0e9b1c7d44","event":"Order","time":1770091506000,"distinct_id":"bob",\
                "properties":{"a":1,"type":"track","context":{"os":"x"}}}

                """)
    }

    @Test(
        "A body without events gets a sentence, and nothing of it is kept",
        arguments: [
            ("", "the body has no event"), ("[]", "the body has no event"),
            ("[1]", "element 1 is no event: it isn't an object"),
            (#"{"a":1}"#, #"line 1 is no event: it has no "event""#), (#"{"batch":1}"#, #""batch" is no array"#),
            (#"{"event":""}"#, #"line 1 is no event: it has no "event""#),
            (
                #"{"id":"0192b1a4-6f2e-7c1d-8a53-2f0e9b1c7d44","event":"","time":1,"properties":{}}"#,
                #"line 1 is no event: it has no "event""#
            ),
            ("\n" + #"{"event":"A"}"# + "\r\n\njunk", "line 4 is not JSON that can be read: no digit at byte 0"),
            (#"{"event":"A","n":12345678901234567890}"#, "line 1 is not JSON that can be read: an integer beyond"),
            ("{\n\"event\":\n", "the body is not JSON that can be read"), ("[\n]", "the body has no event"),
            ("event=A", "the body is not JSON that can be read"),
            (
                #"{"id":"0192b1a4-6f2e-7c1d-8a53-2f0e9b1c7d44","event":"A","time":1,"properties":1}"#,
                "line 1 is no event"
            ),
        ])
    func explainsBodies(body: String, reason: String) async throws {
        let receiver = try receiver()
        let response = try await receiver.respond(to: request(body))
        #expect(response.status == 400)
        guard case .bytes(let bytes) = response.body else { return }
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix(reason))
        #expect(try folder.snapshot().isEmpty)
        #expect(await receiver.refusals.map(\.status) == [400])
    }

    @Test(
        "A body over several lines can be one value",
        arguments: [
            ("{\n  \"event\": \"A\",\n  \"user\": {\n    \"n\": 1\n  }\n}\n", 1),
            ("{\r\n\"batch\": [{\"event\": \"A\"},\r\n{\"event\": \"A\"}]}", 2),
            (" [{\"event\":\"A\"}\n,{\"event\":\"A\"}\n]", 2),
            ("\n{\"event\":\"A\"} \n\n {\"event\":\"A\",\"userId\":\"\"}", 2),
        ])
    func takesSpreadBodies(body: String, events: Int) async throws {
        #expect(try await receiver().respond(to: request(body)).status == 200)
        var scan = FolderScan(EventQuery())
        try scan.read(StoreFolder(folder.path), onProgress: { _ in true }, onMatch: { #expect($0.event.name == "A") })
        #expect(scan.tally.events == events && scan.unreadable == 0 && scan.tally.users.distinct == 0)
    }

    @Test("Bodies in an encoding other than gzip, damaged ones and requests of web pages are refused")
    func refusesPages() async throws {
        let receiver = try receiver()
        let body = try line(.sample(1))
        #expect(try await receiver.respond(to: request(body, headers: ["Origin: http://127.0.0.1"])).status == 403)
        for encoding in ["gzip", "br"] {
            let response = try await receiver.respond(to: request(body, headers: ["Content-Encoding: \(encoding)"]))
            #expect(response.status == 415)
        }
        #expect(try folder.snapshot().isEmpty)
    }

    @Test("A request that is too large, or no HTTP, is printed, counted and shown as refused")
    func showsUnreadRequests() async throws {
        let receiver = try receiver()
        let server = InspectorServer(
            folder: try StoreFolder(folder.path), destination: nil, port: 0, rules: .random(), receiver: receiver)
        try await withServer {
            try await server.run(onReady: $0)
        } _: { port in
            let client = RawClient(port: port)
            let start = "POST /events HTTP/1.1\r\n"
            _ = await client.send(raw: start + "Content-Length: 70000000\r\n\r\n", endsRequest: true)
            let header = String(repeating: "x", count: 20_000)
            _ = await client.send(raw: start + "X-Header: \(header)\r\n\r\n", endsRequest: true)
            _ = await client.send(raw: start + "Transfer-Encoding: chunked\r\n\r\n", endsRequest: true)
        }
        #expect(await receiver.refusals.map(\.status) == [413, 431, 400])
        let report = await receiver.report
        #expect(report.requests == 3 && report.refusedRequests == 3)
        #expect(recorder.lines.count == 3)
        #expect(recorder.lines.first?.hasSuffix("refused 413 the body is too large\n") == true)
    }

    @Test("An event that is sent again is counted, and kept once")
    func noticesRepetition() async throws {
        let receiver = try receiver()
        let lines = [try line(.sample(1)), try line(.sample(1)), try line(.sample(2))]
        for _ in 0..<2 {
            #expect(try await receiver.respond(to: request(lines.joined(separator: "\n"))).status == 200)
        }
        #expect(try contents(of: "2026-01-01").split(separator: "\n").count == 2)
        let report = await receiver.report
        #expect(report.requests == 2 && report.events == 2 && report.repeated == 4)
        #expect(recorder.lines.count { $0.contains(" again ") } == 4)
    }

    @Test("Answers can be a status, nothing, late, or 400 for a property")
    func answersAsAsked() async throws {
        let body = try line(.sample(1, "Purchase", ["sku": "A-3", "note": "A-30"]))
        let down = try await receiver(Receiver.Answers(status: 503)).respond(to: request(body))
        #expect(down.status == 503)
        await #expect(throws: NoResponse.self) {
            _ = try await receiver(Receiver.Answers(status: nil)).respond(to: request(body))
        }
        let refusing = Receiver.Answers(refused: ["sku=A-3"])
        #expect(try await receiver(refusing).respond(to: request(body)).status == 400)
        #expect(recorder.lines.last?.hasSuffix("refused 400 sku=A-3 is refused (1 Purchase)\n") == true)
        let other = Receiver.Answers(refused: ["sku=A-", "sku=A-30", "A-4"])
        #expect(try folder.snapshot().isEmpty)
        #expect(try await receiver(other).respond(to: request(body)).status == 200)
        #expect(try await receiver(Receiver.Answers(refused: ["-30"])).respond(to: request(body)).status == 400)
        #expect(try await receiver(Receiver.Answers(delay: .seconds(40))).respond(to: request(body)).status == 200)
        #expect(recorder.slept == [.seconds(40)])
    }

    @Test("Events that can't be kept get 503, and leave no half line")
    func reportsFullDisk() async throws {
        let receiver = try receiver()
        // A file is where the folder of the day should be.
        try Data().write(to: URL(fileURLWithPath: "\(folder.path)/date=2026-01-01"))
        let response = try await receiver.respond(to: request(line(.sample(1))))
        #expect(response.status == 503)
        #expect(await receiver.refusals.first?.reason.contains("can't be written") == true)
        try FileManager.default.removeItem(atPath: "\(folder.path)/date=2026-01-01")
        #expect(try await receiver.respond(to: request(line(.sample(1)))).status == 200)
        // The developer wants to begin with an empty folder.
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(try await receiver.respond(to: request(line(.sample(2)))).status == 200)
        #expect(try contents(of: "2026-01-01") == (try line(.sample(2))) + "\n")
    }

    @Test("A pipeline's events arrive, and the page shows them, the refused ones, and the counts")
    func collectsFromPipeline() async throws {
        let receiver = try receiver(Receiver.Answers(refused: ["sku=A-3"]))
        let rules = AccessRules.random()
        let server = InspectorServer(
            folder: try StoreFolder(folder.path), destination: nil, port: 0, rules: rules, receiver: receiver)
        try await withServer {
            try await server.run(onReady: $0)
        } _: { port in
            let policy = DeliveryPolicy(batch: BatchSize(events: 1, bytes: 100_000))
            let pipeline = try Pipeline(delivery: policy) {
                MemoryStore()
                HTTPTransport(to: "http://127.0.0.1:\(port)/events", format: .ndjson)
            }
            pipeline.track("Search") { $0.distinctID = "ada" }
            pipeline.track("Purchase", ["sku": "A-7", "$session_id": "s-1"]) { $0.distinctID = "ada" }
            let result = await pipeline.flush()
            #expect(result.delivered == 2)
            pipeline.track("Purchase", ["sku": "A-3"])
            await pipeline.shutdown()
            let client = RawClient(port: port)
            #expect(await client.send("GET", "/").contains("403"))
            let isEnough: @Sendable (String) -> Bool = {
                $0.contains("sku=A-3 is refused") && $0.contains(#""arrived":2"#)
            }
            let page = await client.send("GET", "/events?token=\(rules.token)", until: isEnough)
            #expect(page.contains(#""receives":true"#) && page.contains(#""event":"Search""#))
            #expect(page.contains(#""names":"1 Purchase""#))
            let counts = await client.send("GET", "/scan?token=\(rules.token)")
            #expect(counts.contains(#""users":{"distinct":1,"others":0,"top":[{"text":"ada","count":2}]}"#))
            #expect(counts.contains(#""sessions":{"distinct":1,"others":0,"top":[{"text":"s-1","count":1}]}"#))
        }
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: Timestamp(milliseconds: 0))
        var text = ""
        StatisticsReport(statistics: statistics, capacity: 1) { text += $0 }.write()
        #expect(text.hasPrefix("events ") && !text.contains("waiting"))
        #expect(statistics.waiting == 2)
    }

    @Test("The name of an encoding may have any case", arguments: ["gzip", "GZIP", "GZip"])
    func ignoresCaseOfEncoding(name: String) async throws {
        var request = try request("", headers: ["Content-Encoding: \(name)"])
        request.body = try TestFolder.gzip(Array(line(.sample(1)).utf8))
        #expect(try await receiver().respond(to: request).status == 200)
    }

    @Test("A compressed body is bounded when it is decompressed")
    func boundsCompressedBodies() throws {
        let bomb = try GzipProgram.contents(
            of: TestFolder.gzip([UInt8](repeating: 0x20, count: 1_000_000)), limit: 1_000_000)
        #expect(bomb.count == 1_000_000)
        #expect(throws: LakeProblem.self) {
            try GzipProgram.contents(of: TestFolder.gzip([UInt8](repeating: 0x20, count: 1_000_001)), limit: 1_000_000)
        }
    }

    @Test(
        "The bodies of analytics services arrive with name, time and user, compressed or not", arguments: [true, false])
    func takesServices(gzip: Bool) async throws {
        let receiver = try receiver()
        try await withServer { ready in
            try await LocalServer(port: 0) { request, _ in try await receiver.respond(to: request) }.run(onReady: ready)
        } _: { port in
            let formats: [HTTPFormat] = [
                .segment(writeKey: "secret"), .rudderStack(writeKey: "secret"), .postHog(apiKey: "secret"),
            ]
            for format in formats {
                let pipeline = try Pipeline {
                    MemoryStore()
                    HTTPTransport(
                        to: "http://127.0.0.1:\(port)/v1/batch", format: format, configuration: .init(gzip: gzip))
                }
                pipeline.track("Order", ["note": .string(String(repeating: "x", count: 5_000))]) {
                    $0.distinctID = "ada"
                }
                let result = await pipeline.flush()
                #expect(result.delivered == 1)
                await pipeline.shutdown()
            }
        }
        var scan = FolderScan(EventQuery())
        var lines: [String] = []
        try scan.read(StoreFolder(folder.path)) { _ in
            true
        } onMatch: { found in
            lines.append(String(decoding: found.place.line?.bytes ?? [], as: UTF8.self))
        }
        #expect(scan.tally.names.top(9).map(\.text) == ["Order"] && scan.tally.users.top(9).map(\.count) == [3])
        #expect(!lines.joined().contains("secret"))
    }

    @Test("Collected events are no store: they aren't replayed, and a store is no place for them")
    func separatesStores() async throws {
        _ = try await receiver().respond(to: request(line(.sample(1))))
        let before = try folder.snapshot()
        let arguments = ["replay", folder.path, "--to", "http://127.0.0.1:9/", "--format", "ndjson"]
        var command = try #require(try SluiceCommand.parseAsRoot(arguments) as? any AsyncParsableCommand)
        let error = await #expect(throws: NotAStore.self) { try await command.run() }
        #expect(error?.description.contains("has collected events, which belong to no route") == true)
        #expect(try folder.snapshot() == before)
        let (store, other) = (try TestFolder(), try TestFolder())
        try store.write([.sample(1)])
        try Data().write(to: URL(fileURLWithPath: "\(other.path)/README"))
        for path in [store.path, other.path, "\(other.path)/README"] {
            let collect = try #require(try SluiceCommand.parseAsRoot(["collect", path, "--port", "0"]) as? Collect)
            let error = await #expect(throws: NotAStore.self) { try await collect.run() }
            #expect(error?.description == "\(path) is no folder of collected events: pass a new or an empty one")
        }
    }

    @Test(
        "Options of another form get a sentence",
        arguments: [
            ["--answer", "no"], ["--answer", "99"], ["--port", "70000"], ["--delay", "-1"],
        ])
    func checksOptions(options: [String]) {
        #expect(throws: (any Error).self) { try SluiceCommand.parseAsRoot(["collect"] + options) }
    }
}
