import Foundation
import GRDB
import SluiceGRDB
import SluiceTesting
import Synchronization
import Testing

@Suite("GRDB")
struct SQLiteStoreTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/events.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func line(_ number: Int, _ priority: Event.Priority = .normal) throws -> EventLine {
        try EventLine(
            Event(
                id: EventID(high: 1, low: UInt64(number)), name: "Event", time: Timestamp(milliseconds: 0),
                priority: priority, properties: ["number": .int(number)]))
    }

    @Test("the store keeps the promises of a store, also in a second process")
    func contract() async throws {
        let number = Mutex(0)
        try await StoreContract.check(reopen: { SQLiteStore(at: "\(folder.path)/\(number.withLock { $0 }).sqlite") }) {
            SQLiteStore(at: "\(folder.path)/\(number.withLock { $0 += 1; return $0 }).sqlite")
        }
        #expect(number.withLock { $0 } > 5)
    }

    @Test("a full store evicts dead letters, then the oldest normal events, and reports each")
    func fullStoreEvicts() throws {
        let size = try line(10).bytes.count
        let store = SQLiteStore(at: path, capacity: 10 * size + size / 2)
        let reports = Mutex<[String]>([])
        try store.open(
            StoreObserver(
                onRecovered: { _ in },
                onDropped: { count, reason in reports.withLock { $0.append("\(count) \(reason.rawValue)") } },
                onDeadLettersDropped: { count, _ in reports.withLock { $0.append("\(count) letter") } },
                onNote: { _ in }), in: PipelineEnvironment())
        for number in 10..<20 { try store.append(line(number)) }
        let batch = try #require(try store.nextBatch(BatchSize(events: 2, bytes: .max)))
        store.reject(
            [DeadLetter(line: batch.events[0], reason: "no", date: Timestamp(milliseconds: 1))], in: batch.id)
        try store.settle(batch.id)
        #expect(store.backlog.events == 8)
        #expect(store.backlog.deadLetters == 1)
        try store.append(line(20))  // The settled event has made room.
        #expect(reports.withLock { $0 }.isEmpty)
        try store.append(line(21))
        try store.append(line(22, .critical))
        #expect(reports.withLock { $0 } == ["1 letter", "1 evicted"])
        let kept = try store.nextBatch(BatchSize(events: 1, bytes: .max))
        #expect(try kept?.events.map { try $0.event().properties["number"]?.int } == [22])
        let rest = try store.nextBatch(BatchSize(events: 100, bytes: .max))
        #expect(try rest?.events.map { try $0.event().properties["number"]?.int } == Array(13...21))
    }

    @Test("a store whose events may not be evicted refuses an event, and evicts none in vain")
    func storeRefusesEvent() throws {
        let size = try line(10).bytes.count
        let store = SQLiteStore(at: path, capacity: 3 * size)
        let dropped = Mutex(0)
        try store.open(
            StoreObserver(
                onRecovered: { _ in }, onDropped: { count, _ in dropped.withLock { $0 += count } }, onNote: { _ in }),
            in: PipelineEnvironment())
        try store.append(line(10))
        for number in 11..<13 { try store.append(line(number)) }
        _ = try store.nextBatch(BatchSize(events: 2, bytes: .max))
        let long = try EventLine(
            Event(
                id: EventID(high: 2, low: 0), name: String(repeating: "x", count: size),
                time: Timestamp(milliseconds: 0)))
        do throws(SluiceError) {
            try store.append(long)
            Issue.record("the event was stored")
        } catch {
            #expect(error.code == .storageFull)
        }
        #expect(store.backlog.events == 3)
        #expect(dropped.withLock { $0 } == 0)
    }

    @Test("another connection can't open the file meanwhile, and the file is private")
    func fileIsExclusiveAndPrivate() throws {
        let store = SQLiteStore(at: path)
        let pipeline = try Pipeline {
            store
            NullTransport()
        }
        pipeline.track("A")
        do {
            _ = try Pipeline {
                SQLiteStore(at: path)
                NullTransport()
            }
            Issue.record("a second pipeline was built")
        } catch let error as SluiceError {
            #expect(error.code == .storageUnavailable)
        }
        for name in ["events.sqlite", "events.sqlite-wal"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("a file that is no database makes the pipeline fail")
    func damagedFile() throws {
        try Data(repeating: 7, count: 5_000).write(to: URL(filePath: path))
        do {
            _ = try Pipeline {
                SQLiteStore(at: path)
                NullTransport()
            }
            Issue.record("the pipeline was built")
        } catch let error as SluiceError {
            #expect(error.code == .storageUnavailable)
        }
    }
}
