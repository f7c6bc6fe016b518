import ArgumentParser
import Foundation
import SluiceJSONL
import StoreFiles
import Testing

@testable import Inspector

extension TestFolder {
    /// Stores events, rejects them, and ends the host.
    func writeDeadLetters(
        _ events: [Event], reason: String = "HTTP 400", date: Timestamp = Timestamp(milliseconds: 1_767_225_600_000),
        route: String = "main"
    ) throws {
        let store = JSONLStore(at: path, capacity: 1 << 30)
        try store.open(StoreObserver(route: route), in: PipelineEnvironment())
        for event in events { try store.append(EventLine(event)) }
        while let batch = try store.nextBatch(BatchSize(events: 500, bytes: 1_000_000)) {
            store.reject(batch.events.map { DeadLetter(line: $0, reason: reason, date: date) }, in: batch.id)
            try store.settle(batch.id)
        }
        store.close()
    }

    /// Waiting events and dead letters.
    func counts() throws -> [Int] {
        let now = Timestamp(milliseconds: 1_767_225_600_000)
        let statistics = try StoreStatistics(of: StoreFolder(path), at: now)
        return [statistics.waiting, statistics.deadLetters]
    }

    func replayer(to url: String) throws -> Replayer {
        let destination = try Destination(url: url, format: "ndjson", headers: ["X-Key: 1"])
        return Replayer(folder: try StoreFolder(path), destination: destination) { _ in }
    }
}

@Suite("Replay", .serialized)
struct ReplayTests {
    private func lines(_ events: [Event]) throws -> Set<String> {
        Set(try events.map { String(decoding: try EventLine($0).bytes, as: UTF8.self) })
    }

    @Test("A whole folder is sent, byte for byte, and is empty afterwards")
    func replaysFolder() async throws {
        let folder = try TestFolder()
        let events = (0..<1_200).map { Event.sample($0, priority: $0 % 7 == 0 ? .critical : .normal) }
        try folder.writeDeadLetters(Array(events[..<3]))
        try folder.write(Array(events[3...]))
        try await withCollector(status: { _ in 200 }) { url, collector in
            let result = try await folder.replayer(to: url).replayAll()
            #expect(result.delivered == 1_200)
            #expect(result.remaining == 0)
            #expect(Set(await collector.lines) == (try lines(events)))
            #expect(await collector.lines.count == 1_200)
        }
        #expect(try folder.counts() == [0, 0])
    }

    @Test("The directories of all processes are sent")
    func replaysAllProcesses() async throws {
        let folder = try TestFolder()
        let events = try writeEightProcesses(in: folder)
        #expect(try StoreFolder(folder.path).processes().count == 8)
        #expect(try folder.counts() == [8, 8])
        try await withCollector(status: { _ in 200 }) { url, collector in
            let result = try await folder.replayer(to: url).replayAll()
            #expect(result.remaining == 0)
            #expect(Set(await collector.lines) == (try lines(events)))
        }
    }

    /// Leaves a dead letter and a waiting event of each of eight processes.
    private func writeEightProcesses(in folder: TestFolder) throws -> [Event] {
        let events = (0..<16).map { Event.sample($0) }
        let stores = try (0..<8).map { _ in try folder.openStore() }
        for (number, store) in stores.enumerated() {
            try store.append(EventLine(events[number * 2]))
            let batch = try #require(try store.nextBatch(BatchSize(events: 10, bytes: 10_000)))
            let letter = DeadLetter(line: batch.events[0], reason: "HTTP 400", date: Timestamp(milliseconds: 1))
            store.reject([letter], in: batch.id)
            try store.settle(batch.id)
            try store.append(EventLine(events[number * 2 + 1]))
        }
        for store in stores { store.close() }
        return events
    }

    @Test("Dead letters that the store doesn't take over count as remaining")
    func countsUnreachedDeadLetters() async throws {
        let folder = try TestFolder()
        _ = try writeEightProcesses(in: folder)
        try await withCollector(status: { _ in 200 }) { url, _ in
            let result = try await folder.replayer(to: url).replayDeadLetters { _ in true }
            #expect((1..<8).contains(result.delivered))
            #expect(result.remaining == 8 - result.delivered)
            #expect(result.unreached == result.remaining)
            #expect(result.description.contains("remain. Not tried: \(result.unreached), because a store takes over"))
            #expect(result.description.contains("without --dead-letters"))
        }
    }

    @Test("Dead letters are sent without the waiting events")
    func replaysDeadLetters() async throws {
        let folder = try TestFolder()
        let letters = (0..<120).map { Event.sample($0, priority: $0 % 7 == 0 ? .critical : .normal) }
        try folder.writeDeadLetters(letters)
        try folder.writeDeadLetters([.sample(2_000)], reason: "HTTP 413")
        try folder.write([.sample(1_000)])
        try await withCollector(status: { _ in 200 }) { url, collector in
            let result = try await folder.replayer(to: url).replayDeadLetters { $0.reason.contains("400") }
            #expect(result.delivered == 120)
            #expect(result.remaining == 0)
            #expect(Set(await collector.lines) == (try lines(letters)))
        }
        #expect(try folder.counts() == [1, 1])
    }

    @Test(
        "A dead letter that the backend still refuses stays, and the others are delivered",
        arguments: [(3, [1], 400), (40, [0, 7, 8, 20, 39], 500), (600, Array(3..<60), 403)], [false, true])
    func keepsRejectedAgain(_ letters: (count: Int, bad: [Int], status: Int), isWholeFolder: Bool) async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters(
            (0..<letters.count).map { .sample($0, letters.bad.contains($0) ? "Bad" : "Good") })
        try await withCollector(status: { $0.contains("Bad") ? letters.status : 200 }) { url, _ in
            let replayer = try folder.replayer(to: url)
            let result =
                isWholeFolder
                ? try await replayer.replayAll() : try await replayer.replayDeadLetters { _ in true }
            #expect(result.delivered == letters.count - letters.bad.count)
            #expect(result.remaining == letters.bad.count)
        }
        #expect(try folder.counts() == [0, letters.bad.count])
    }

    @Test("Waiting events that the backend refuses delay no others")
    func refusedWaitingEvents() async throws {
        let folder = try TestFolder()
        try folder.write((0..<150).map { .sample($0, $0 % 10 == 3 ? "Bad" : "Good") })
        try await withCollector(status: { $0.contains("Bad") ? 403 : 200 }) { url, _ in
            let result = try await folder.replayer(to: url).replayAll()
            #expect(result.delivered == 135)
            #expect(result.remaining == 15)
        }
    }

    @Test("Nothing is lost if the backend fails", arguments: [true, false])
    func keepsEventsOfFailure(isWholeFolder: Bool) async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)])
        try folder.write([.sample(2)])
        try await withCollector(status: { _ in 500 }) { url, _ in
            let replayer = try folder.replayer(to: url)
            let result =
                isWholeFolder
                ? try await replayer.replayAll() : try await replayer.replayDeadLetters { _ in true }
            #expect(result.delivered == 0)
            #expect(result.remaining == (isWholeFolder ? 2 : 1))
        }
        #expect(try folder.counts().reduce(0, +) == 2)
    }

    @Test("Dead letters are sent byte for byte, also those that track would drop or change")
    func replaysUnusualDeadLetters() async throws {
        let folder = try TestFolder()
        let long = String(repeating: "x", count: 3_000)
        var events: [Event] = [.sample(1, ""), .sample(2, long), .sample(3), .sample(4), .sample(5)]
        events[2].loginID = long
        events[3].time = Timestamp(milliseconds: .max)
        events[4].properties = Properties([Property(long, .string("value"))])
        try folder.writeDeadLetters(events)
        try await withCollector(status: { _ in 200 }) { url, collector in
            let result = try await folder.replayer(to: url).replayDeadLetters { _ in true }
            #expect(result.delivered == events.count)
            #expect(Set(await collector.lines) == (try lines(events)))
        }
        #expect(try folder.counts() == [0, 0])
    }

    @Test("Dead letters stay dead letters, with their reasons, if the backend fails", arguments: [true, false])
    func keepsDeadLettersOfFailure(hasWaiting: Bool) async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)])
        if hasWaiting { try folder.write([.sample(2)]) }
        try await withCollector(status: { _ in 500 }) { url, _ in
            let result = try await folder.replayer(to: url).replayAll()
            #expect(!result.isComplete)
        }
        #expect(try folder.counts() == [hasWaiting ? 1 : 0, 1])
        var reasons: [String] = []
        _ = DeadLetterList(of: try StoreFolder(folder.path).processes()) { reasons.append($1?.reason ?? "encrypted") }
        #expect(reasons == ["HTTP 400"])
    }

    @Test("Each dead letter of a whole folder is sent once, whatever its date is")
    func replaysDeadLettersOfFuture() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)], date: Timestamp(milliseconds: 32_503_680_000_000))
        try folder.writeDeadLetters([.sample(2, "Bad")])
        try folder.write([.sample(3, "Bad")])
        try await withCollector(status: { $0.contains("Bad") ? 400 : 200 }) { url, _ in
            let result = try await folder.replayer(to: url).replayAll()
            #expect(result.delivered == 1)
            #expect(result.remaining == 2)
        }
    }

    @Test("Damaged lines of a whole folder count as lost")
    func countsDamagedLines() async throws {
        let folder = try TestFolder()
        try folder.write([.sample(1), .sample(2)])
        try edit(try #require(try folder.process().segments.first).path) { $0[20] ^= 1 }
        try await withCollector(status: { _ in 200 }) { url, _ in
            let result = try await folder.replayer(to: url).replayAll()
            #expect(result.description == "1 delivered, 0 rejected, 0 remain, 1 lost (corrupt)")
            #expect(!result.isComplete)
        }
    }

    @Test(
        "A damaged dead letter counts as lost, once",
        arguments: [(0, 200), (3, 200), (3, 500)], [true, false])
    func countsDamagedLetters(_ good: (count: Int, status: Int), isWholeFolder: Bool) async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters((0...good.count).map { .sample($0) })
        try edit(try #require(try folder.process().deadLetterFiles.first)) { $0[20] ^= 1 }
        try await withCollector(status: { _ in good.status }) { url, _ in
            let replayer = try folder.replayer(to: url)
            let result =
                isWholeFolder
                ? try await replayer.replayAll() : try await replayer.replayDeadLetters { _ in true }
            let (delivered, remaining) = good.status == 200 ? (good.count, 0) : (0, good.count)
            let counts = "\(delivered) delivered, 0 rejected, \(remaining) remain, 1 lost (corrupt)"
            #expect(result.description.hasPrefix(counts))
            #expect(!result.isComplete)
        }
    }

    @Test("A folder that a running process uses is refused")
    func refusesRunningProcess() async throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        let before = try folder.snapshot()
        let replayer = try folder.replayer(to: "http://127.0.0.1:9/")
        await #expect(throws: FolderInUse.self) { try await replayer.replayAll() }
        await #expect(throws: FolderInUse.self) { try await replayer.replayDeadLetters { _ in true } }
        #expect(try folder.snapshot() == before)
        store.close()
    }

    @Test("Formats are recognized by name")
    func parsesFormats() throws {
        for format in Destination.formats {
            // An index of Elasticsearch has no capitals.
            let parts = format.split(separator: ":")
            let example = [String(parts[0])] + parts.dropFirst().map { $0.lowercased() }
            _ = try Destination(url: "http://127.0.0.1/", format: example.joined(separator: ":"), headers: [])
        }
        for format in Destination.formatsWithKey {
            _ = try Destination(url: "http://127.0.0.1/", format: format, key: "k", headers: [])
            for (name, key) in [(format, nil), (format, ""), ("\(format):k", nil), ("\(format):k", "k")] {
                #expect(throws: (any Error).self) {
                    try Destination(url: "http://127.0.0.1/", format: name, key: key, headers: [])
                }
            }
        }
        for format in ["", "xml", "ndjson:x", "clickhouse", "kafka:"] {
            #expect(throws: (any Error).self) { try Destination(url: "http://[::1]/", format: format, headers: []) }
        }
        #expect(
            try Destination(url: "http://[::1]/", format: "segment", key: "secret", headers: []).formatName == "segment"
        )
    }

    @Test(
        "A URL that no request can have gets one sentence without it, before anything is opened",
        arguments: [
            "", " ", "\n", "collector.example", "collector.example:443", "//collector.example/",
            "https:/collector.example", "ftp://collector.example/", "file:///tmp/events", "https://", "https:///events",
            "https://[::1/", "https://-/", "https://collector.example/a b", "https://collector.example/\n",
            "https://b\u{FC}cher.example/", "https://ada:secret@collector.example/",
            "https://secret@collector.example/",
            "https://collector.example\\@secret.example/", "https://collector.example/#secret",
            "https://collector.example:65536/", "https://collector.example:0/", "https://collector.example:/",
            "https://collector.example:https/",
        ], ["replay", "serve"])
    func refusesURL(url: String, command: String) throws {
        let arguments = [command, "/no/such", "--to", url, "--format", "ndjson"]
        let error = try #require(throws: (any Error).self) { try SluiceCommand.parseAsRoot(arguments) }
        let message = SluiceCommand.message(for: error)
        #expect(message.hasPrefix("the URL ") && !message.contains("\n") && !message.contains("secret"))
        #expect(SluiceCommand.exitCode(for: error) == .validationFailure)
    }

    @Test(
        "A URL that only looks invalid is taken",
        arguments: [
            "http://127.0.0.1", "HTTPS://collector.example", "http://[::1]:8080/",
            "https://collector.example:65535/a%20b", "https://collector.example./?at=a@b",
            "https://a-b_c.example/events?from=ftp://d",
        ], ["replay", "serve"])
    func takesURL(url: String, command: String) throws {
        _ = try SluiceCommand.parseAsRoot([command, "/no/such", "--to", url, "--format", "ndjson"])
    }

    @Test("An invalid header is noticed before anything is opened", arguments: ["A b: c", "A", ": c", "A: b\nC: d"])
    func refusesHeader(header: String) {
        for command in ["replay", "serve"] {
            #expect(throws: (any Error).self) {
                try SluiceCommand.parseAsRoot([
                    command, "/no/such", "--to", "http://127.0.0.1/", "--format", "ndjson", "--header", header,
                ])
            }
        }
    }
}
