import ArgumentParser
import Foundation
import Sluice
import SluiceJSONL
import Synchronization
import Testing

@testable import Inspector
@testable import StoreFiles

@Suite("Replay of one route, and of lines of a later version", .serialized)
struct ReplayRouteTests {
    /// Leaves two waiting events and a dead letter of a route, whose names are that of the route.
    private func leaveEvents(of route: String, from number: Int, in folder: TestFolder) throws {
        let store = JSONLStore(at: folder.path)
        try store.open(StoreObserver(route: route), in: PipelineEnvironment())
        try store.append(EventLine(.sample(number, route)))
        let batch = try #require(try store.nextBatch(BatchSize(events: 1, bytes: 10_000)))
        let letter = DeadLetter(line: batch.events[0], reason: "HTTP 400", date: Timestamp(milliseconds: 1))
        store.reject([letter], in: batch.id)
        try store.settle(batch.id)
        for number in number + 1...number + 2 { try store.append(EventLine(.sample(number, route))) }
        store.close()
    }

    @Test(
        "--route sends the events of that route, and leaves those of the others",
        arguments: [[], ["--dead-letters"]], [nil, "vendor", "internal"])
    func sendsOneRoute(options: [String], route: String?) async throws {
        let folder = try TestFolder()
        for (index, name) in ["main", "vendor", "internal"].enumerated() {
            try leaveEvents(of: name, from: index * 10, in: folder)
        }
        let before = try folder.counts()
        #expect(before == [6, 3])
        try await withCollector(status: { _ in 200 }) { url, collector in
            var arguments = ["replay", folder.path, "--to", url, "--format", "ndjson"] + options
            if let route { arguments += ["--route", route] }
            let command = try #require(try SluiceCommand.parseAsRoot(arguments) as? Replay)
            try await command.run()
            let names = try await collector.lines.map {
                try EventLine(bytes: Array($0.utf8)[...], priority: .normal).event().name
            }
            let count = options.isEmpty ? 3 : 1
            #expect(names == Array(repeating: route ?? "main", count: count))
            let letters = min(count, 1)
            #expect(try folder.counts() == [6 - (count - letters), 3 - letters])
        }
    }

    @Test(
        "A mistyped route gets the routes that there are with their counts, and nothing is sent",
        arguments: [[], ["--dead-letters"]])
    func refusesUnknownRoute(options: [String]) async throws {
        let folder = try TestFolder()
        try leaveEvents(of: "vendor", from: 0, in: folder)
        try folder.writeDeadLetters([.sample(10), .sample(11)], route: "a/b")
        try await withCollector(status: { _ in 200 }) { url, collector in
            for route in ["main", "vendr"] {
                let arguments = ["replay", folder.path, "--to", url, "--format", "ndjson", "--route", route] + options
                let command = try #require(try SluiceCommand.parseAsRoot(arguments) as? Replay)
                let error = await #expect(throws: NotAStore.self) { try await command.run() }
                #expect(
                    error?.description
                        == "there is no route \(route) in \(folder.path), which has events of a/b (2), vendor (3): pass one with --route"
                )
            }
            #expect(await collector.lines.isEmpty)
        }
        #expect(try folder.counts() == [2, 3])
    }

    @Test("A replay of an empty route, or with a reason that no dead letter has, says that nothing matched")
    func saysThatNothingMatched() async throws {
        let folder = try TestFolder()
        let replayer = try folder.replayer(to: "http://127.0.0.1:9/")
        let expected = "0 delivered, 0 rejected, 0 remain. Nothing matched"
        #expect(try await replayer.replayAll().description == expected)
        try folder.writeDeadLetters([.sample(1)])
        let result = try await replayer.replayDeadLetters { $0.reason.contains("HTTP 4OO") }
        #expect(result.description == expected)
        #expect(result.isComplete)
    }

    @Test("A replay that ends before all arrived says how to go on, and mentions no retry")
    func endsWithAdvice() async throws {
        let folder = try TestFolder()
        try leaveEvents(of: "main", from: 0, in: folder)
        let notes = Mutex<[String]>([])
        try await withCollector(status: { _ in 503 }) { url, _ in
            let destination = try Destination(url: url, format: "ndjson", headers: [])
            let replayer = Replayer(folder: try StoreFolder(folder.path), destination: destination) { note in
                notes.withLock { $0.append(note) }
            }
            let result = try await replayer.replayAll()
            #expect(
                result.description
                    == "0 delivered, 0 rejected, 3 remain. The last attempt failed: the server could not accept the "
                    + "events (HTTP 503). Repeat the replay later, and it continues with them")
        }
        let texts = notes.withLock { $0 }
        #expect(texts.contains { $0.hasPrefix("the backend fails: ") })
        #expect(!texts.contains { $0.hasPrefix("retrying") || $0.hasPrefix("paused") })
    }

    @Test("A dead letter with further keys before and behind its event is read and sent byte for byte")
    func ignoresFurtherKeys() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(7, priority: .critical)], reason: #"a "reason" {"event":{"#)
        let path = try #require(try folder.process().deadLetterFiles.first)
        let key = Array(#","event":{"id""#.utf8)
        try edit(path) { bytes in
            let start = bytes.firstRange(of: key)?.lowerBound ?? 0
            // Without the checksum, the last brace and the newline.
            bytes.removeLast(19)
            bytes += #","later":{"event":{"a":["}"]}},"last":"\"}"#.utf8
            bytes += #"""#.utf8
            bytes.insert(contentsOf: #","words":{"a":[1],"event":{},"b":"\\"},"kind":"event""#.utf8, at: start)
            let digits = String(CRC32C.checksum(of: bytes[...], then: UInt8(ascii: "}")), radix: 16)
            bytes += #","crc":"\#(String(repeating: "0", count: 8 - digits.count) + digits)"}"#.utf8 + [0x0A]
        }
        var letters: [DeadLetterLine?] = []
        let list = DeadLetterList(of: try StoreFolder(folder.path).processes()) { letters.append($1) }
        #expect(list.damaged == 0)
        let expected = try EventLine(.sample(7, priority: .critical))
        #expect(letters.map { $0?.event.bytes } == [expected.bytes])
        #expect(letters.map { $0?.event.priority } == [.critical])
        #expect(letters.map { $0?.reason } == [#"a "reason" {"event":{"#])
        try await withCollector(status: { _ in 200 }) { url, collector in
            let result = try await folder.replayer(to: url).replayAll()
            #expect(result.delivered == 1)
            #expect(await collector.lines.map { Array($0.utf8) } == [Array(expected.bytes)])
        }
        #expect(try folder.counts() == [0, 0])
    }
}
