import ArgumentParser
import Foundation
import Sluice
import SluiceJSONL
import Testing

@testable import Inspector
@testable import StoreFiles

@Suite("What commands print")
struct OutputTests {
    private let now = Timestamp(milliseconds: 1_767_225_600_000 + 7_200_000)
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func statistics() throws -> StoreStatistics { try StoreStatistics(of: StoreFolder(folder.path), at: now) }

    private func writeStatus() throws {
        let directory = try #require(try StoreFolder(folder.path).processes().first { $0.route == "main" }).path
        let status =
            #"{"route":"main","state":"pausing","at":1767225600000,"nextAttempt":1767225660000,"lastStatus":503,"lastFailure":"bu\"sy"}"#
        try status.write(toFile: "\(directory)/status.json", atomically: true, encoding: .utf8)
    }

    @Test("An empty folder takes one line")
    func isShortIfEmpty() throws {
        var text = ""
        StatisticsReport(statistics: try statistics(), capacity: 1, folder: "events") { text += $0 }.write()
        #expect(text == "nothing waits in events\n")
    }

    @Test("The counts have the state of each route, its last failure, and separators of thousands")
    func printsRoutes() throws {
        try folder.write((0..<1_200).map { .sample($0) })
        try folder.writeDeadLetters([.sample(2_000)], route: "vendor")
        try writeStatus()
        var text = ""
        StatisticsReport(statistics: try statistics(), capacity: 1 << 20) { text += $0 }.write()
        #expect(text.hasPrefix("waiting, sum of 2 routes  1,200 "))
        #expect(text.contains("main    ended    1,200             0\n"))
        #expect(text.contains("vendor  ended        0             1\n"))
        #expect(text.contains("main: the last failure, known since 2026-01-01T00:00:00.000Z: bu\"sy\n"))
    }

    @Test("The counts as JSON, and as metrics of Prometheus")
    func printsForPrograms() throws {
        try folder.write((0..<3).map { .sample($0) })
        try folder.writeDeadLetters([.sample(9)], route: "a\"b")
        try writeStatus()
        let json = StatisticsJSON(statistics: try statistics(), capacity: 10).text
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(object["waiting"] as? Int == 3 && object["dead_letters"] as? Int == 1)
        #expect(object["running_at_least"] as? Int == 0)
        let routes = try #require(object["routes"] as? [[String: Any]])
        #expect(routes.map { $0["route"] as? String } == ["main", "a\"b"])
        #expect(routes[0]["last_failure"] as? String == "bu\"sy")
        let metrics = StatisticsMetrics(statistics: try statistics()).text
        #expect(metrics.contains("# TYPE sluice_waiting_events gauge\nsluice_waiting_events{route=\"main\"} 3\n"))
        #expect(metrics.contains("sluice_dead_letters{route=\"a\\\"b\"} 1\n"))
        try folder.writeDeadLetters([.sample(10)], route: "c\"\u{301}")
        let marked = StatisticsMetrics(statistics: try self.statistics()).text
        #expect(marked.contains("sluice_dead_letters{route=\"c\\\"\u{301}\"} 1\n"))
        #expect(metrics.contains("sluice_route_last_status{route=\"main\"} 503\n"))
        #expect(metrics.contains("# HELP sluice_running_processes At least so many processes "))
        #expect(metrics.split(separator: "\n").allSatisfy { $0.hasPrefix("#") || $0.split(separator: " ").count == 2 })
    }

    @Test("Programs read a next attempt only while a process runs", arguments: [true, false])
    func printsNextAttempt(isRunning: Bool) throws {
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        if !isRunning { store.close() }
        try writeStatus()
        let statistics = try statistics()
        let json = StatisticsJSON(statistics: statistics, capacity: 10).text
        #expect(json.contains(#""next_attempt":1767225660000"#) == isRunning)
        let metrics = StatisticsMetrics(statistics: statistics).text
        let line = "sluice_route_next_attempt_timestamp_seconds{route=\"main\"} 1767225660\n"
        #expect(metrics.contains(line) == isRunning)
        store.close()
    }

    @Test("A store that evicts is exported while events are tracked: no run fails, and each line is a whole event")
    func exportsLivingStore() async throws {
        let store = try folder.openStore(capacity: 200_000)
        // Until the export has seen that events were evicted.
        let writer = Task.detached {
            for number in 0... {
                if Task.isCancelled { return }
                try store.append(EventLine(.sample(number, "Purchase", ["number": .int(number)])))
            }
        }
        let lines = "\(folder.path)/lines"
        var first: Set<Int> = []
        while first.count < 5 {
            #expect(try Export.events(of: nil, from: StoreFolder(folder.path), to: lines))
            let numbers = try String(contentsOfFile: lines, encoding: .utf8).split(separator: "\n").map { line in
                try EventLine(bytes: line.utf8, priority: .normal).event().properties["number"]?.int ?? -1
            }
            // In the order of the events: eviction removes the oldest.
            #expect(numbers == Array(Set(numbers)).sorted())
            first.formUnion(numbers.prefix(1))
        }
        writer.cancel()
        try await writer.value
        store.close()
    }

    @Test("Dead letters are counted by route, reason and the receiver's words, all of them")
    func groupsDeadLetters() throws {
        try folder.writeDeadLetters((0..<333).map { .sample($0) })
        try folder.writeDeadLetters((400..<402).map { .sample($0) }, reason: "HTTP 422", date: now)
        var groups = DeadLetterGroups()
        _ = DeadLetterList(of: try StoreFolder(folder.path).processes()) { groups.add($1, of: $0.route ?? "") }
        #expect(groups.largestFirst.map(\.count) == [333, 2])
        #expect(groups.newestFirst.map(\.key.reason) == ["HTTP 422", "HTTP 400"])
    }

    @Test("Different reasons are bounded, and no dead letter is left out of the counts")
    func boundsGroups() {
        var groups = DeadLetterGroups()
        for number in 0..<3_000 { groups.add(count: "reason \(number)", of: "main", nil) }
        #expect(groups.largestFirst.count == 1_001)
        #expect(groups.largestFirst.reduce(0) { $0 + $1.count } == 3_000)
        #expect(groups.largestFirst.first?.key.reason == "(others)")
    }

    @Test("A search counts an event of several routes once, and finds it in each")
    func countsOnce() throws {
        for route in ["main", "vendor"] {
            let store = JSONLStore(at: folder.path)
            try store.open(StoreObserver(route: route), in: PipelineEnvironment())
            try store.append(EventLine(.sample(1)))
            store.close()
        }
        var scan = FolderScan(EventQuery())
        var routes: [String?] = []
        try scan.read(StoreFolder(folder.path)) { _ in
            true
        } onMatch: {
            routes.append($0.place.route)
        }
        #expect(scan.tally.events == 1)
        #expect(Set(routes) == ["main", "vendor"])
    }

    @Test(
        "A search matches as the page does",
        arguments: [
            ("sku=a-3", true), ("SKU=A-3", true), ("cart.items.0.sku=b-9", true), ("a-30", false), ("total=5", true),
            ("distinct_id=ada", true), ("2026-01-01t00", true), ("properties.sku", false),
        ])
    func matches(text: String, isMatch: Bool) throws {
        var event = Event.sample(
            1, "Bought", ["sku": "A-3", "cart": .object(["total": 5, "items": .array([.object(["sku": "B-9"])])])])
        event.distinctID = "ada"
        var query = EventQuery()
        query.text = text
        query.normalize()
        let fields = try #require(EventFields(EventLine(event).bytes, withLines: true))
        #expect(query.matches(fields, in: "process") == isMatch)
    }

    @Test("The fields of a line are those of the decoded event, whatever is in it")
    func readsFields() throws {
        var event = Event.sample(
            1, "Kauf \"é\" \u{1F600}\n",
            [
                "$session_id": "s\\1", "when": .date(Timestamp(milliseconds: 0)), "big": .int(.max), "half": 0.5,
                "no": .null,
            ])
        (event.distinctID, event.anonymousID, event.loginID) = ("d\t", "a\u{2028}", "l/")
        let fields = try #require(EventFields(EventLine(event).bytes, withLines: true))
        #expect(fields.name == event.name && fields.id == event.id.description && fields.time == event.time)
        #expect(fields.users == ["d\t", "l/", "a\u{2028}"] && fields.session == "s\\1")
        for line in ["when=1970-01-01T00:00:00.000Z", "big=9223372036854775807", "half=0.5", "no=null"] {
            #expect(fields.lines.contains(line))
        }
        let deep = String(repeating: "[", count: 100_000)
        for text in [
            "", "{", "[]", "{\"event\"", #"{"event":"A","time":1,"properties":"# + deep, #"{"event":"A","time":"x"}"#,
            #"{"event":"A\"#,
        ] {
            let fields = EventFields(Array(text.utf8)[...], withLines: true)
            #expect(fields == nil || text.contains("[["))
        }
    }

    @Test("Periods get longer so that their number is bounded, at any time")
    func boundsPeriods() {
        func width(_ times: Int64...) -> Int64 {
            var buckets = TimeBuckets()
            for time in times { buckets.add(time) }
            #expect(buckets.counts.values.reduce(0, +) == times.count)
            return buckets.width
        }
        #expect(width(0, 239_999) == 1_000)
        #expect(width(0, 240_000) == 5_000)
        #expect(width(-1, 1) == 1_000)
        #expect(width(0, 86_400_000 * 30) == 10_800_000 * 4)
        #expect(width(.min, .max) > 1 << 55)
    }

    @Test("The newest events are those with the latest times, in their order")
    func ordersByTime() {
        var recent = Recent<String>(limit: 3, bytes: 1_000)
        for (text, time) in [("c", 3), ("a", 1), ("d", 4), ("b", 2), ("d2", 4)] as [(String, Int64)] {
            recent.append(text, bytes: 1, time: time)
        }
        #expect(recent.elements == ["c", "d", "d2"])
    }

    @Test("Numbers have separators of thousands")
    func separatesThousands() {
        #expect([0, 999, 1_000, -1_234_567].map(Terminal.grouped) == ["0", "999", "1,000", "-1,234,567"])
    }

    @Test("Parquet and CSV need a file, and the statement quotes its name")
    func exportsTables() throws {
        #expect(throws: (any Error).self) { try SluiceCommand.parseAsRoot(["export", "events", "--format", "csv"]) }
        let statement = DuckDB.statement("a.ndjson", to: "it's.parquet", .parquet)
        #expect(statement.hasSuffix("TO 'it''s.parquet' (FORMAT parquet)"))
        // A sign with a mark is another character of Swift, and the same one for other programs.
        let marked = DuckDB.statement("a'\u{301}.ndjson", to: "b.csv", .csv)
        #expect(marked.contains("read_json('a''\u{301}.ndjson'"))
    }
}
