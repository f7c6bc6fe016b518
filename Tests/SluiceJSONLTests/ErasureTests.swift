import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Events of one person are erased from all files, and all others stay.
struct ErasureTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()

    /// An event of the person `user-<number % 4>`.
    private static func line(_ number: Int, _ priority: Event.Priority = .normal) throws -> EventLine {
        try EventLine(
            Event(
                name: "Event", priority: priority, distinctID: "user-\(number % 4)",
                properties: ["n": .int(number), "pad": .string(String(repeating: "x", count: number % 50))]))
    }

    private static let isErased: @Sendable (EventLine) -> Bool = { $0.distinctID == "user-1" }

    private func leave(_ numbers: Range<Int>, encryption: LineEncryption? = nil, route: String? = nil) throws {
        let store = JSONLStore(at: directory.path, encryption: encryption)
        try store.open(StoreObserver(route: route))
        for number in numbers { try store.append(Self.line(number)) }
        store.close()
    }

    /// The numbers of the events, in the order of delivery.
    private func drain(_ store: TestedStore) throws -> [Int] {
        try store.drainLines().map { try $0.event().properties["n"]?.int ?? -1 }
    }

    /// Whether a file has a byte of the person.
    private func isOnDisk(_ text: String = "user-1") throws -> Bool {
        try directory.files().contains { String(decoding: try directory.read($0), as: UTF8.self).contains(text) }
    }

    @Test("open, closed and earlier segments lose the events, and the others keep their order")
    func erasesInAllSegments() throws {
        try leave(0..<40)
        let store = try opened()
        for number in 40..<600 { try store.append(Self.line(number)) }
        let report = try store.erase(where: Self.isErased)
        #expect(report == ErasureReport(events: 150))
        #expect(try !isOnDisk())
        store.expectConservation()
        for number in 600..<610 { try store.append(Self.line(number)) }
        #expect(try drain(store) == (0..<610).filter { $0 % 4 != 1 || $0 >= 600 })
        #expect(store.dropped.isEmpty)
    }

    @Test("a batch in flight loses the events on the disk only, and its dead letters are still recognized")
    func erasesInFlight() throws {
        let store = try opened()
        let batch = try store.batch((0..<20).map { try Self.line($0) })
        store.store.reject(
            [1, 2, 5].map { DeadLetter(line: batch.events[$0], reason: "no", date: .sample) }, in: batch.id)
        let report = try store.erase(where: Self.isErased)
        #expect(report == ErasureReport(deadLetters: 2))
        #expect(try !isOnDisk())
        let next = try reopened(store)
        #expect(try next.letters().count == 1)
        // Event 2 is a dead letter, whose id contains its place in the file.
        #expect(try drain(next) == (0..<20).filter { $0 % 4 != 1 && $0 != 2 })
    }

    @Test("a directory of another route or of a running process is named, and erased when that process has ended")
    func erasesLater() throws {
        let other = try opened()
        for number in 0..<8 { try other.append(Self.line(number)) }
        let store = try opened()
        let report = try store.erase(where: Self.isErased)
        #expect(report.events == 0)
        #expect(report.left.count == 1)
        #expect(report.left.first?.contains("a running process uses it") == true)
        #expect(try isOnDisk())
        other.store.close()
        #expect(try drain(store) == [0, 2, 3, 4, 6, 7])
        #expect(store.dropped == [.deleted: 2])
        #expect(try store.erase(where: Self.isErased).isComplete)
    }

    @Test("a directory that can't be read when its process has ended is not taken over before its events are erased")
    func retriesErasure() throws {
        let other = try opened()
        for number in 0..<8 { try other.append(Self.line(number)) }
        // A store delivers nothing from a file that no store has written.
        for folder in directory.names { try directory.write([1], to: "\(folder)/notes.txt") }
        let store = try opened()
        #expect(try store.erase(where: Self.isErased).left.count == 1)
        other.store.close()
        files.fail(.read, with: .inputOutput, times: 1)
        // The directory is tried again after a minute.
        for _ in 0..<2 { #expect(try store.nextBatch() == nil) }
        #expect(try isOnDisk())
        time.advance(by: .seconds(60))
        #expect(try drain(store) == [0, 2, 3, 4, 6, 7])
        #expect(store.dropped == [.deleted: 2])
        #expect(store.notes.count { $0.contains("could not be erased") } == 1)
    }

    @Test("damaged lines can be anybody's: they are removed and counted")
    func removesDamagedLines() throws {
        try leave(0..<4)
        let name = try #require(try directory.segments().first)
        try directory.write(Array(try directory.read(name).dropLast(30)), to: name)
        let store = try opened()
        #expect(try store.erase { _ in false }.isComplete)
        #expect(try !isOnDisk("user-3"))
        #expect(store.dropped == [.corrupt: 1])
        #expect(try drain(store) == [0, 1, 2])
    }

    @Test("events that can't be read or written are named, and stay")
    func namesFailures() throws {
        try leave(0..<4)
        let store = try opened()
        for fault in [FaultyFileSystem.Operation.open, .rename] {
            files.fail(fault, with: .inputOutput)
            let report = try store.erase(where: Self.isErased)
            #expect(report.events == 0)
            #expect(!report.isComplete)
            files.heal()
            #expect(try isOnDisk())
            #expect(try directory.files().allSatisfy { !$0.hasSuffix(".new") })
        }
        #expect(try store.erase(where: Self.isErased).events == 1)
    }

    @Test("a dead letter whose file can't be rewritten is named by each erasure until it is gone")
    func namesUnwrittenDeadLetters() throws {
        let store = try opened()
        let batch = try store.batch((0..<4).map { try Self.line($0) })
        store.store.reject(batch.events.map { DeadLetter(line: $0, reason: "no", date: .sample) }, in: batch.id)
        try store.settle(batch)
        files.fail(.rename, with: .noSpace)
        for deadLetters in [1, 0] {
            let report = try store.erase(where: Self.isErased)
            #expect(report.deadLetters == deadLetters)
            #expect(!report.isComplete)
            #expect(try isOnDisk())
        }
        files.heal()
        #expect(try store.erase(where: Self.isErased) == ErasureReport())
        #expect(try !isOnDisk())
        #expect(try store.letters().count == 3)
    }

    @Test("an erasure of a directory that failed for a moment is repeated before the directory is taken over")
    func erasesAfterPassingFailure() throws {
        try directory.leaveSideBySide((0..<6).map { group in try (0..<8).map { try Self.line(group * 8 + $0) } })
        let store = try opened()
        files.fail(.read, with: .inputOutput, times: 1)
        let report = try store.erase(where: Self.isErased)
        #expect(report.events == 10)
        #expect(report.left.count == 1)
        #expect(try drain(store).sorted() == (0..<48).filter { $0 % 4 != 1 })
        #expect(store.dropped == [.deleted: 2])
        #expect(try !isOnDisk())
    }

    @Test("damaged lines in the directory of an ended process are removed and counted")
    func countsDamagedLinesElsewhere() throws {
        try directory.leaveSideBySide((0..<6).map { [try Self.line($0 * 4)] })
        for name in try directory.segments() {
            try directory.write(Array(try directory.read(name).dropLast(3)), to: name)
        }
        let store = try opened()
        #expect(try store.erase(where: Self.isErased) == ErasureReport())
        #expect(try drain(store).isEmpty)
        #expect(store.dropped == [.corrupt: 6])
    }

    @Test("an encrypted store is erased with its key; without it, the reason is named")
    func erasesEncrypted() throws {
        try leave(0..<8, encryption: .toy(7))
        let left = try JSONLStore.erase(at: directory.path, where: Self.isErased)
        #expect(left.events == 0)
        #expect(left.left.first?.contains("give the store its encryption") == true)
        let report = try JSONLStore.erase(at: directory.path, encryption: .toy(7), where: Self.isErased)
        #expect(report == ErasureReport(events: 2))
        let store = try opened(encryption: .toy(7))
        #expect(try drain(store) == [0, 2, 3, 4, 6, 7])
    }

    @Test("a tool erases and exports in the directories of all routes, and leaves running processes alone")
    func toolErases() throws {
        try leave(0..<8)
        try leave(8..<16, route: "vendor")
        let (events, unread) = try JSONLStore.export(at: directory.path) { $0.belongs(to: "user-1") }
        #expect(events.count == 4)
        #expect(unread.isEmpty)
        let running = JSONLStore(at: directory.path)
        try running.open(StoreObserver(route: "another"))
        try running.append(Self.line(1))
        let report = try JSONLStore.erase(at: directory.path, where: Self.isErased)
        #expect(report.events == 4)
        #expect(report.left.count == 1)
        #expect(try JSONLStore.export(at: directory.path, where: Self.isErased).events.count == 1)
        running.close()
        #expect(try JSONLStore.erase(at: directory.path, where: Self.isErased) == ErasureReport(events: 1))
        #expect(try !isOnDisk())
        #expect(throws: SluiceError.self) { try JSONLStore.erase(at: directory.path + "/none", where: Self.isErased) }
    }
}
