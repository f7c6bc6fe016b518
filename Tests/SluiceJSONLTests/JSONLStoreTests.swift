import Sluice
import TestSupport
import Testing

@testable import SluiceJSONL

struct JSONLStoreTests: StoreSuite {
    let directory = TemporaryDirectory()

    @Test("the files are plain JSON Lines with the checksum as the last key, and the events come back unchanged")
    func filesArePlainJSONLines() throws {
        let event = Event(
            id: EventID(high: 0x0123_4567_89AB_7DEF, low: 0x8123_4567_89AB_CDEF), name: "\u{1F600} \"\\\n",
            time: Timestamp(milliseconds: 1), priority: .critical, properties: ["crc": "00000000", "n": 1.5])
        let store = try opened()
        try store.append(EventLine(1))
        try store.append(EventLine(event))
        let names = try directory.segments()
        #expect(names.count == 2)
        for name in names {
            let text = String(decoding: try directory.read(name), as: UTF8.self)
            #expect(text.hasSuffix("\"}\n"))
            // Eight digits are between them.
            #expect(text.dropLast(11).hasSuffix(#","crc":""#))
            #expect(name.contains(text.contains("critical") ? "/critical-" : "/normal-"))
        }
        let lines = try store.drainLines()
        #expect(try lines.first?.event() == event)
        #expect(lines.last == EventLine(1))
    }

    @Test("a batch is one file of the requested size", arguments: [20, 50, 500])
    func batchIsOneFileOfRequestedSize(size: Int) throws {
        let store = try opened()
        #expect(try store.nextBatch(events: size) == nil)
        for number in 0..<1_000 { try store.append(EventLine(number)) }
        #expect(try directory.segments().count == 1_000 / size)
        var sizes: [Int] = []
        while let batch = try store.nextBatch(events: size) {
            sizes.append(batch.events.count)
            try store.settle(batch)
        }
        #expect(sizes == Array(repeating: size, count: 1_000 / size))
        #expect(try directory.segments().isEmpty)
    }

    @Test("no file grows beyond 256 KiB, except for a single larger event")
    func filesAreLimitedTo256KiB() throws {
        let store = try opened()
        for number in 0..<40 { try store.append(EventLine(number, padding: 20_000)) }
        try store.append(EventLine(40, padding: 900_000))
        try store.append(EventLine(41))
        var sizes: [Int] = []
        for name in try directory.segments() { sizes.append(try directory.read(name).count) }
        #expect(sizes.count == 6)
        #expect(sizes[..<3].allSatisfy { (220_000...262_144).contains($0) })
        #expect(sizes[4] > 900_000)
        #expect(sizes[5] < 100)
        #expect(try store.drain().count == 42)
    }

    @Test(
        "bytes that are not an object on one line are refused",
        arguments: ["", "{}", "[1]", "{\"a\":1", "{\"a\":\n1}", "\n", "{\"a\":1}\n"])
    func malformedLinesAreRefused(text: String) throws {
        let store = try opened()
        expectError(.malformedLine) {
            try store.append(EventLine(bytes: Array(text.utf8)[...], priority: .normal))
        }
        #expect(store.store.backlog.isEmpty)
    }

    @Test("an event above the limit is refused, and one at the limit kept")
    func eventsAboveTheLimitAreRefused() throws {
        let store = try TestedStore.opened(JSONLStore(at: directory.path, maximumEventBytes: 1_000))
        let exact = EventLine(0, padding: 1_000 - EventLine(0).bytes.count)
        try store.append(exact)
        expectError(.eventTooLarge) {
            try store.append(EventLine(0, padding: 1_001 - EventLine(0).bytes.count))
        }
        #expect(try store.drain() == [exact.text])
    }

    @Test("only their owner can access files and directories")
    func filesAreForTheirOwnerAlone() throws {
        let root = "\(directory.path)/a/b"
        let store = try TestedStore.opened(JSONLStore(at: root))
        try store.append(EventLine(0))
        try store.append(EventLine(1))
        try store.rejectFirst()
        try store.append(EventLine(2))
        let files = SystemFileSystem()
        let home = "\(root)/\(try #require(try files.list(root).first))"
        #expect(try files.list(home).count == 3)
        for path in ["\(directory.path)/a", root, home] {
            #expect(try files.status(of: path).mode == 0o700)
        }
        for name in try directory.files() { #expect(try files.status(of: "\(directory.path)/\(name)").mode == 0o600) }
        #expect(try files.status(of: "\(home)/lock").mode == 0o600)
    }
}
