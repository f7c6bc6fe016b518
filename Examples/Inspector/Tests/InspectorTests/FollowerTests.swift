import Foundation
import SluiceJSONL
import Testing

@testable import Inspector
@testable import StoreFiles

@Suite("Following a folder")
struct FollowerTests {
    private let batch = BatchSize(events: 500, bytes: 262_144)

    private func poll(_ follower: inout StoreFollower) throws -> [EventID] {
        var ids: [EventID] = []
        try follower.poll { ids += [$0.line?.id].compactMap(\.self) }
        return ids
    }

    @Test("Each event is reported once and in order, across segments")
    func followsRotation() throws {
        let folder = try TestFolder()
        try folder.write([.sample(0)])
        let store = try folder.openStore()
        var follower = StoreFollower(try StoreFolder(folder.path), countsAll: false)
        _ = try poll(&follower)
        var seen: [EventID] = []
        for number in 1...2_000 {
            try store.append(EventLine(.sample(number)))
            if number % 77 == 0 { seen += try poll(&follower) }
        }
        seen += try poll(&follower)
        #expect(seen == (1...2_000).map { Event.sample($0).id })
        #expect(try StoreFolder(folder.path).processes().flatMap(\.segments).count > 3)
        store.close()
    }

    @Test("The last events of a segment are seen after the host has deleted it")
    func readsDeletedSegment() throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        var follower = StoreFollower(try StoreFolder(folder.path), countsAll: true)
        #expect(try poll(&follower) == [Event.sample(1).id])
        try store.append(EventLine(.sample(2)))
        let taken = try #require(try store.nextBatch(batch))
        try store.settle(taken.id)
        #expect(try poll(&follower) == [Event.sample(2).id])
        #expect(follower.waiting == 0)
        #expect(follower.removed == 2)
        store.close()
    }

    @Test("Events in the file of an earlier segment are reported once, as they are written over its newlines")
    func followsReusedFile() throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        for number in 0..<20 { try store.append(EventLine(.sample(number))) }
        let taken = try #require(try store.nextBatch(batch))
        try store.settle(taken.id)
        var follower = StoreFollower(try StoreFolder(folder.path), countsAll: true)
        for number in 20..<23 {
            try store.append(EventLine(.sample(number)))
            #expect(try poll(&follower) == [Event.sample(number).id])
        }
        #if os(Linux)
            // The folder for temporary files is on a disk that is overwritten in place.
            #expect(try folder.process().segments.map(\.isReused) == [true])
        #endif
        #expect(try poll(&follower) == [])
        #expect(follower.damaged == 0)
        store.close()
    }

    @Test("A follower that counts all events starts with those of earlier processes")
    func countsEarlierEvents() throws {
        let folder = try TestFolder()
        try folder.write((0..<700).map { .sample($0) })
        var all = StoreFollower(try StoreFolder(folder.path), countsAll: true)
        #expect(try poll(&all).count == 700)
        #expect(all.waiting == 700)
        #expect(try poll(&all).isEmpty)
    }

    @Test("A line is reported when it is complete")
    func waitsForNewline() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1), .sample(2)])
        let segment = try #require(try folder.process().segments.first)
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: segment.path)))
        let handle = try #require(FileHandle(forWritingAtPath: segment.path))
        try handle.truncate(atOffset: UInt64(whole.count - 30))
        var follower = StoreFollower(try StoreFolder(folder.path), countsAll: true)
        #expect(try poll(&follower) == [Event.sample(1).id])
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(whole.suffix(30)))
        try handle.close()
        #expect(try poll(&follower) == [Event.sample(2).id])
    }

    @Test("A folder that disappears is a problem, and its events don't count as delivered")
    func survivesDeletion() throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        var follower = StoreFollower(try StoreFolder(folder.path), countsAll: true)
        _ = try poll(&follower)
        try store.append(EventLine(.sample(2)))
        store.close()
        try FileManager.default.removeItem(atPath: folder.path)
        var last: [EventID?] = []
        #expect(throws: FileProblem.self) { try follower.poll { last.append($0.line?.id) } }
        #expect(last == [Event.sample(2).id])
        #expect(follower.removed == 0)
        #expect(follower.waiting == 0)
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        try folder.write([.sample(3)])
        #expect(try poll(&follower) == [Event.sample(3).id])
        #expect(follower.removed == 0)
    }

    @Test("tail reports each problem once")
    func reportsProblemsOnce() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        let link = "\(try folder.process().path)/normal-00000000000000ff-1.jsonl"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/etc/passwd")
        var follower = StoreFollower(try StoreFolder(folder.path), countsAll: false)
        var notes = TailNotes()
        #expect(notes.look(&follower) { _ in }.map { $0.hasPrefix("\(link) can't be read") } == [true])
        #expect(notes.look(&follower) { _ in }.isEmpty)
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(notes.look(&follower) { _ in } == ["\(folder.path) doesn't exist any more"])
        #expect(notes.look(&follower) { _ in }.isEmpty)
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
    }

    @Test("tail reports new damage")
    func reportsDamage() throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        let path = try #require(try folder.process().segments.first).path
        try edit(path) { $0 += Array("old\n".utf8) }
        var follower = StoreFollower(try StoreFolder(folder.path), countsAll: false)
        var notes = TailNotes()
        #expect(notes.look(&follower) { _ in }.isEmpty)
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("new\nnew\n".utf8))
        try handle.close()
        #expect(notes.look(&follower) { _ in } == ["2 damaged lines: see sluice verify"])
        store.close()
    }

    @Test("A readable line has no control characters")
    func printsHostileEvents() throws {
        let hostile = "\u{1B}[2J\u{202E}\n\u{9B}31m"
        let event = Event.sample(1, hostile, [hostile: .string(hostile)])
        let printer = EventPrinter(filter: nil, isJSON: false, isColored: false)
        let text = printer.text(of: AppendedEvent(process: "p", line: try EventLine(event)))
        #expect(text.hasSuffix("\n"))
        let isClean = text.dropLast().unicodeScalars.allSatisfy { scalar in
            ![.control, .format].contains(scalar.properties.generalCategory)
        }
        #expect(isClean)
    }

    @Test("A line of JSON on a terminal has no control characters, and the same meaning")
    func printsHostileJSON() throws {
        let hostile = "\u{9B}31m\u{7F}\u{202E}\u{E0041}\u{1B}é"
        let line = try EventLine(.sample(1, hostile))
        var printer = EventPrinter(filter: nil, isJSON: true, isColored: false)
        let event = AppendedEvent(process: "p", line: line)
        #expect(printer.text(of: event) == String(decoding: line.bytes, as: UTF8.self) + "\n")
        printer.isTerminal = true
        let text = printer.text(of: event)
        #expect(Terminal.printable(String(text.dropLast())) == text.dropLast())
        #expect(text.contains(#"\u009b31m\u007f\u202e\udb40\udc41"#))
        #expect(try EventLine(bytes: Array(text.utf8).dropLast()[...], priority: .normal).event().name == hostile)
    }

    @Test("--json prints no line for an encrypted event")
    func skipsEncryptedAsJSON() {
        let encrypted = AppendedEvent(process: "p", line: nil)
        #expect(EventPrinter(filter: nil, isJSON: true, isColored: false).text(of: encrypted).isEmpty)
        #expect(EventPrinter(filter: nil, isJSON: false, isColored: false).text(of: encrypted) == "(encrypted)\n")
    }

    @Test("A long value is cut visibly, also one of combining characters")
    func cutsLongValues() throws {
        let printer = EventPrinter(filter: nil, isJSON: false, isColored: false)
        for character in ["x", "e\u{301}", "e" + String(repeating: "\u{301}", count: 100)] {
            let value = String(repeating: character, count: 5_000)
            let text = printer.text(
                of: AppendedEvent(process: "p", line: try EventLine(.sample(1, "E", ["a": .string(value)]))))
            #expect(text.hasSuffix("…\n"))
            #expect(text.utf8.count < 2_000)
            #expect(!text.contains("\u{FFFD}"))
        }
        let short = AppendedEvent(process: "p", line: try EventLine(.sample(1, "E", ["a": "short"])))
        #expect(printer.text(of: short).hasSuffix("a=\"short\"\n"))
    }

    @Test("Colors are printed on request")
    func printsColors() throws {
        let event = AppendedEvent(process: "p", line: try EventLine(.sample(1, priority: .critical)))
        let colored = EventPrinter(filter: nil, isJSON: false, isColored: true).text(of: event)
        #expect(colored.contains("\u{1B}[1;31mcritical\u{1B}[0m"))
        let plain = EventPrinter(filter: nil, isJSON: false, isColored: false).text(of: event)
        #expect(plain == "2026-01-01T00:00:00.000Z critical Purchase amount=12.5\n")
    }

    @Test("A filter selects by the whole name")
    func filtersByName() throws {
        let printer = EventPrinter(filter: "Purchase", isJSON: true, isColored: false)
        let line = try EventLine(.sample(1))
        let text = printer.text(of: AppendedEvent(process: "p", line: line))
        #expect(text == String(decoding: line.bytes, as: UTF8.self) + "\n")
        let other = AppendedEvent(process: "p", line: try EventLine(.sample(1, "PurchaseFailed")))
        #expect(printer.text(of: other).isEmpty)
    }

    @Test("The newest elements are kept, bounded in number and bytes")
    func recentIsBounded() {
        var recent = Recent<Int>(limit: 10, bytes: 1_000)
        for number in 0..<1_000 { recent.append(number, bytes: 10) }
        #expect(recent.elements == Array(990..<1_000))
        #expect(recent.added == 1_000)
        recent.append(1_000, bytes: 995)
        #expect(recent.elements == [1_000])
        recent.append(1_001, bytes: 5_000)
        #expect(recent.elements == [1_001])
    }
}
