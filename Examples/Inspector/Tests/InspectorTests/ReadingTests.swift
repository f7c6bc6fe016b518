import Foundation
import SluiceJSONL
import Testing

@testable import Inspector
@testable import StoreFiles

@Suite("Reading a folder")
struct ReadingTests {
    private let now = Timestamp(milliseconds: 1_767_225_600_000 + 7_200_000)

    @Test("The checksum is CRC-32C")
    func checksumIsCRC32C() {
        // The check value of the algorithm's published definition.
        #expect(CRC32C.checksum(of: Array("12345678".utf8)[...], then: UInt8(ascii: "9")) == 0xE306_9283)
    }

    @Test("Events are counted by name, priority, age and process")
    func countsEvents() throws {
        let folder = try TestFolder()
        let recent = Timestamp(milliseconds: now.milliseconds - 30_000)
        try folder.write([
            .sample(1), .sample(2), .sample(3, "Kauf \"é\" \u{1F600}", priority: .critical), .sample(4, time: recent),
        ])
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: now)
        #expect(statistics.waiting == 4)
        #expect(statistics.damaged == 0)
        #expect(statistics.names.map { $0.name } == ["Purchase", "Kauf \"é\" \u{1F600}"])
        #expect(statistics.names.map { $0.count.waiting } == [3, 1])
        #expect(statistics.priorities == [.normal: 3, .critical: 1])
        #expect(statistics.ages == [1, 0, 3, 0, 0])
        #expect(statistics.oldest == Timestamp(milliseconds: 1_767_225_600_000))
        #expect(statistics.processes.map(\.isRunning) == [false])
    }

    @Test("An event of any time has an age", arguments: [Int64.min, .min + 1, -1, .max])
    func countsExtremeTimes(milliseconds: Int64) throws {
        let folder = try TestFolder()
        let event = Event(
            id: EventID(high: 0, low: 1), name: "E", time: Timestamp(milliseconds: milliseconds), priority: .normal,
            properties: [:])
        try folder.write([event])
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: now)
        #expect(statistics.ages == (milliseconds < 0 ? [0, 0, 0, 0, 1] : [1, 0, 0, 0, 0]))
        #expect(statistics.oldest == event.time)
    }

    @Test("The memory for names is bounded, and long names are cut")
    func boundsNames() throws {
        let folder = try TestFolder()
        let long = String(repeating: "n", count: 1_000)
        try folder.write((0..<2_000).map { .sample($0, "\($0)\(long)") })
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: now)
        #expect(statistics.names.reduce(0) { $0 + $1.name.utf8.count } < 1_100_000)
        #expect(statistics.names.reduce(0) { $0 + $1.count.waiting } == 2_000)
        #expect(statistics.names.first?.name == "(other names)")
        var rows: [String] = []
        StatisticsReport(statistics: statistics, capacity: 1) { rows.append($0) }.write()
        #expect(rows.count > 1_000)
        #expect(rows.allSatisfy { $0.utf8.count < 200 })
        #expect(rows.contains { $0.contains("n…") })
    }

    @Test("A running process is recognized, and a question doesn't disturb it")
    func recognizesRunningProcess() throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        #expect(try folder.process().isRunning)
        try store.append(EventLine(.sample(2)))
        #expect(store.backlog.events == 2)
        store.close()
        #expect(try !folder.process().isRunning)
    }

    @Test("Dead letters are read with reason, date and event")
    func readsDeadLetters() throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        let batch = try #require(try store.nextBatch(BatchSize(events: 10, bytes: 10_000)))
        let reason = "HTTP 400: \"bad\",\"event\":{"
        store.reject([DeadLetter(line: batch.events[0], reason: reason, date: now)], in: batch.id)
        try store.settle(batch.id)
        store.close()
        var letters: [DeadLetterLine?] = []
        let list = DeadLetterList(of: try StoreFolder(folder.path).processes()) { letters.append($1) }
        #expect(list.damaged == 0)
        let letter = try #require(letters.first ?? nil)
        #expect(letters.count == 1)
        #expect(letter.reason == reason)
        #expect(letter.date == now)
        #expect(try letter.event.event() == .sample(1))
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: now)
        #expect(statistics.deadLetters == 1)
        #expect(statistics.names.first?.count.deadLetters == 1)
    }

    @Test("A damaged line is counted and located, and the others are read")
    func locatesDamage() throws {
        let folder = try TestFolder()
        try folder.write((0..<5).map { .sample($0) })
        let segment = try #require(try folder.process().segments.first)
        var offset = 0
        try edit(segment.path) { bytes in
            let length = bytes.count / 5
            offset = 2 * length
            bytes[offset + 20] ^= 1
        }
        var damages: [Damage] = []
        let result = try Verification(of: StoreFolder(folder.path)) { damages.append($0) }
        #expect(!result.isClean)
        #expect(result.lines == 4)
        #expect(damages.map(\.line) == [3])
        #expect(damages.map(\.offset) == [offset])
        #expect(damages.map(\.flaw) == [.wrongChecksum])
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: now)
        #expect(statistics.waiting == 4)
        #expect(statistics.damaged == 1)
    }

    @Test("The torn line of a killed process is damage")
    func locatesTornLine() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1), .sample(2)])
        let segment = try #require(try folder.process().segments.first)
        try edit(segment.path) { $0.removeLast(10) }
        var damages: [Damage] = []
        _ = try Verification(of: StoreFolder(folder.path)) { damages.append($0) }
        #expect(damages.map(\.line) == [2])
        #expect(damages.map(\.flaw) == [.torn])
    }

    @Test("Each flipped bit is found")
    func findsEachFlippedBit() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        let segment = try #require(try folder.process().segments.first)
        let original = [UInt8](try Data(contentsOf: URL(fileURLWithPath: segment.path)))
        for index in original.indices.dropLast() {
            var bytes = original
            bytes[index] ^= 0x20
            let line = Line(bytes: bytes.dropLast(), offset: 0, isCut: false)
            #expect(throws: Flaw.self) { try StoredLine(line) }
        }
        #expect(throws: Never.self) { try StoredLine(Line(bytes: original.dropLast(), offset: 0, isCut: false)) }
    }

    @Test("A line beyond the limit is damage, and the lines behind it are read")
    func skipsEndlessLine() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        let segment = try #require(try folder.process().segments.first)
        try edit(segment.path) { bytes in
            let line = bytes
            bytes += [UInt8](repeating: UInt8(ascii: "x"), count: LineReader.longest + 100_000) + [0x0A] + line
        }
        var damages: [Damage] = []
        let result = try Verification(of: StoreFolder(folder.path)) { damages.append($0) }
        #expect(result.lines == 2)
        #expect(damages.map(\.flaw) == [.tooLong])
    }

    @Test("Lines of all lengths around the size of a block are read")
    func readsAcrossBlocks() throws {
        let folder = try TestFolder()
        let lengths = [1, 65_000, 65_535, 65_536, 65_537, 131_071, 131_072, 200_000, 3]
        let path = "\(folder.path)/lines"
        let text = lengths.map { String(repeating: "x", count: $0) + "\n" }.joined() + "rest"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        var reader = LineReader()
        var read: [Int] = []
        let result = try #require(try reader.readAll(of: path) { _, line in read.append(line.bytes.count) })
        #expect(read == lengths)
        #expect(result.rest == 4)
        #expect(result.end == text.utf8.count - 4)
    }

    @Test(
        "A reused file has whole lines only, also while a host overwrites it",
        arguments: [1, 217, 218, 219, 300, 436, 437, 653])
    func readsOverwrittenFile(present: Int) throws {
        let folder = try TestFolder()
        let path = "\(folder.path)/normal-0000000000000001-1-r.jsonl"
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 299) + [0x0A]
        let lines = 800
        try Data(repeating: 0x0A, count: lines * line.count).write(to: URL(fileURLWithPath: path))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        func write(_ numbers: Range<Int>) {
            for number in numbers { pwrite(file.fileDescriptor, line, line.count, off_t(number * line.count)) }
        }
        write(0..<present)
        var reader = LineReader()
        for least in [present, lines] {
            var lengths: [Int] = []
            _ = try reader.readAll(of: path) { number, read in
                // The host goes on after a block was read, and the next block begins within a line.
                if number == present { write(present..<lines) }
                if !read.bytes.isEmpty { lengths.append(read.bytes.count) }
            }
            #expect(lengths.count >= least && lengths.allSatisfy { $0 == line.count - 1 })
        }
    }

    @Test("A path that is no store gets advice")
    func refusesOtherFolders() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        let process = try folder.process()
        #expect(throws: NotAStore("there is no folder /no/such: pass the one that the host passes to JSONLStore(at:)"))
        {
            try StoreFolder("/no/such")
        }
        #expect(throws: NotAStore.self) { try StoreFolder(process.segments[0].path) }
        #expect(throws: NotAStore.self) { try StoreFolder(process.path) }
        #expect(throws: NotAStore.self) { try StoreFolder("/usr") }
        let empty = try TestFolder()
        #expect(try StoreFolder(empty.path).processes().isEmpty)
    }

    @Test("A path that is no store gets the names of the stores that are there")
    func namesStores() throws {
        let folder = try TestFolder()
        for path in ["lake/date=2026-01-01", "queue/\(Event.sample(1).id).vendor", "notes/2026", "empty"] {
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/\(path)", withIntermediateDirectories: true)
        }
        try Data().write(to: URL(fileURLWithPath: "\(folder.path)/file"))
        let others = ", such as \(folder.path)/lake or \(folder.path)/queue"
        let missing = "\(folder.path)/quue"
        let advice = "pass the one that the host passes to"
        #expect(throws: NotAStore("there is no folder \(missing): \(advice) JSONLStore(at:)\(others)")) {
            try StoreFolder(missing)
        }
        #expect(throws: NotAStore("\(folder.path) is not the folder of a JSONLStore: \(advice) it\(others)")) {
            try StoreFolder(folder.path)
        }
    }

    @Test("A folder without permission gets advice", .enabled(if: getuid() != 0, "root may read everything"))
    func reportsMissingPermission() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: try folder.process().path)
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: now)
        #expect(!statistics.problems.isEmpty)
    }

    @Test("Files that are delivered meanwhile are skipped")
    func skipsDeletedFiles() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1), .sample(2, priority: .critical)])
        let process = try folder.process()
        var reader = LineReader()
        try FileManager.default.removeItem(atPath: process.segments[0].path)
        #expect(try reader.readAll(of: process.segments[0].path) { _, _ in } == nil)
        #expect(try StoreStatistics(of: StoreFolder(folder.path), at: now).waiting == 1)
        let opened = try StoreFolder(folder.path)
        try FileManager.default.removeItem(atPath: process.path)
        #expect(try StoreStatistics(of: opened, at: now).waiting == 0)
        #expect(try Verification(of: opened) { _ in }.isClean)
    }

    @Test("A flipped bit in a dead letter is damage, and the letter is not shown")
    func findsDamagedDeadLetters() throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)])
        let path = try #require(try folder.process().deadLetterFiles.first)
        let intact = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        for bit in stride(from: 0, to: (intact.count - 1) * 8, by: 5) {
            try edit(path) { bytes in
                bytes = intact
                bytes[bit / 8] ^= 1 << (bit % 8)
            }
            var letters = 0
            let list = DeadLetterList(of: try StoreFolder(folder.path).processes()) { _, _ in letters += 1 }
            #expect(letters == 0)
            #expect(list.damaged >= 1)
            #expect(try !Verification(of: StoreFolder(folder.path)) { _ in }.isClean)
        }
    }

    @Test("A sparse file that no store can have written is refused", arguments: ["rejected", "normal"])
    func refusesGiantFiles(lane: String) throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        let path = "\(try folder.process().path)/\(lane)-0000000000000009-5.jsonl"
        try Data().write(to: URL(fileURLWithPath: path))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 1 << 40)
        try file.close()
        let opened = try StoreFolder(folder.path)
        #expect(try Verification(of: opened) { _ in }.problems.map(\.path) == [path])
        let statistics = try StoreStatistics(of: opened, at: now)
        #expect(statistics.problems.map(\.path) == [path])
        #expect(statistics.waiting == 1)
        var follower = StoreFollower(opened, countsAll: true)
        try follower.poll { _ in }
        #expect(follower.problems.count == (lane == "normal" ? 1 : 0))
        #expect(DeadLetterList(of: try opened.processes()) { _, _ in }.problems.count == (lane == "rejected" ? 1 : 0))
    }

    @Test("Encrypted events and dead letters are counted, not decrypted")
    func countsEncryptedEvents() throws {
        let folder = try TestFolder()
        let rotate = LineEncryption(encrypt: { $0.map { $0 ^ 0x5A } }, decrypt: { $0.map { $0 ^ 0x5A } })
        let store = JSONLStore(at: folder.path, encryption: rotate)
        try store.open()
        try store.append(EventLine(.sample(1)))
        let batch = try #require(try store.nextBatch(BatchSize(events: 1, bytes: 1)))
        store.reject([DeadLetter(line: batch.events[0], reason: "secret", date: now)], in: batch.id)
        try store.settle(batch.id)
        try store.append(EventLine(.sample(2)))
        store.close()
        let statistics = try StoreStatistics(of: StoreFolder(folder.path), at: now)
        #expect(statistics.waiting == 1)
        #expect(statistics.deadLetters == 1)
        #expect(statistics.encrypted == 2)
        let path = try #require(try folder.process().deadLetterFiles.first)
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("secret"))
        #expect(statistics.damaged == 0)
    }

    @Test("Reading changes nothing")
    func changesNothing() throws {
        let folder = try TestFolder()
        try folder.write([.sample(1)])
        let store = try folder.openStore()
        try store.append(EventLine(.sample(2)))
        let before = try folder.snapshot()
        let opened = try StoreFolder(folder.path)
        _ = try StoreStatistics(of: opened, at: now)
        _ = try Verification(of: opened) { _ in }
        _ = DeadLetterList(of: try opened.processes()) { _, _ in }
        var follower = StoreFollower(opened, countsAll: true)
        try follower.poll { _ in }
        try follower.poll { _ in }
        #expect(try folder.snapshot() == before)
        store.close()
    }
}
