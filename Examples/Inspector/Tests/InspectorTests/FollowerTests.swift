import Foundation
import Sluice
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

    @Test("A folder that disappears is not an error")
    func survivesDeletion() throws {
        var folder: TestFolder? = try TestFolder()
        try folder?.write([.sample(1)])
        var follower = StoreFollower(try StoreFolder(#require(folder).path), countsAll: true)
        _ = try poll(&follower)
        folder = nil
        #expect(try poll(&follower).isEmpty)
        #expect(follower.removed == 1)
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
