import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Batches that are put back.
struct ReleaseTests {
    private let directory: TemporaryDirectory
    private let files = FaultyFileSystem()
    private let time = VirtualTime()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func opened(
        capacity: Int = 10_485_760, durability: JSONLStore.Durability = .process, encryption: LineEncryption? = nil
    ) throws -> TestedStore {
        try .opened(
            JSONLStore(
                at: directory.path, durability: durability, capacity: capacity, encryption: encryption, files: files),
            in: time.environment)
    }

    private func append(_ numbers: Range<Int>, _ priority: Event.Priority = .normal, to store: TestedStore) throws {
        for number in numbers { try store.append(.canonical(number, priority)) }
    }

    /// The numbers of the batches that are left, which are settled.
    private func batches(_ store: TestedStore, events: Int = 500) throws -> [[Int]] {
        var result: [[Int]] = []
        while let batch = try store.nextBatch(events: events) {
            result.append(batch.numbers)
            try store.settle(batch)
            store.expectConservation()
        }
        return result
    }

    @Test("a released batch comes after the events that waited, before later segments, and with the rest only")
    func order() throws {
        let store = try opened()
        try append(0..<20, to: store)
        let batch = try #require(try store.nextBatch(events: 20))
        try append(20..<40, to: store)
        // These are in the open segment.
        try append(40..<45, to: store)
        store.store.settle(Array(0..<10), of: batch.id)
        store.store.reject([batch.rejected("bad")[11]], in: batch.id)
        #expect(store.store.backlog.events == 45)
        #expect(store.release(batch, rest: [10] + Array(12..<20)))
        #expect(store.store.backlog.events == 34)
        store.expectConservation()
        let next = try #require(try store.nextBatch(events: 20))
        #expect(next.numbers == Array(20..<40))
        let open = try #require(try store.nextBatch(events: 20))
        #expect(open.numbers == Array(40..<45))
        try append(45..<50, to: store)
        let again = try #require(try store.nextBatch(events: 20))
        #expect(again.numbers == [10] + Array(12..<20))
        #expect(again.id != batch.id)
        #expect(try store.nextBatch()?.numbers == Array(45..<50))
        try store.settle(again)
        for batch in [next, open] { try store.settle(batch) }
        store.expectConservation()
        #expect(store.dropped.isEmpty)
        #expect(store.store.backlog.deadLetters == 1)
    }

    @Test("batches that are released come in the order of their releases, each on its own, and can be released again")
    func severalReleases() throws {
        let store = try opened()
        let all = try (0..<3).map { index in
            try append(index * 20..<index * 20 + 20, to: store)
            return try #require(try store.nextBatch(events: 20))
        }
        for index in [2, 0, 1] { #expect(store.release(all[index], rest: Array(5..<20))) }
        let first = try #require(try store.nextBatch())
        #expect(first.numbers == Array(45..<60))
        #expect(store.release(first, rest: Array(5..<15)))
        #expect(try batches(store) == [Array(5..<20), Array(25..<40), Array(50..<60)])
        #expect(store.store.backlog.isEmpty)
        #expect(try directory.segments().isEmpty)
    }

    @Test("a released batch of a higher priority comes first")
    func priorities() throws {
        let store = try opened()
        try append(0..<2, .critical, to: store)
        try append(2..<4, to: store)
        let batch = try #require(try store.nextBatch())
        #expect(store.release(batch, rest: [1]))
        #expect(try batches(store) == [[1], [2, 3]])
    }

    @Test("events in a buffer come before a released batch")
    func bufferedEvents() throws {
        let store = try opened(durability: .buffered)
        try append(0..<4, to: store)
        let batch = try #require(try store.nextBatch())
        try append(4..<6, to: store)
        #expect(store.release(batch, rest: [2]))
        #expect(try batches(store) == [[4, 5], [2]])
    }

    @Test(
        "a batch of several segments comes back as one, without the segments that are done", arguments: [true, false])
    func severalSegments(isEncrypted: Bool) throws {
        let key = isEncrypted ? LineEncryption.toy(7) : nil
        for group in [[0, 1, 2], [3], [4, 5]] {
            try directory.leave(group.map { .canonical($0) }, encryption: key)
        }
        let store = try opened(encryption: key)
        let batch = try #require(try store.nextBatch())
        store.store.settle([1, 3], of: batch.id)
        #expect(try directory.segments().count == 3)
        #expect(store.release(batch, rest: [0, 2, 4, 5]))
        #expect(try directory.segments().count == 2)
        #expect(store.store.backlog.events == 4)
        store.expectConservation()
        try append(6..<7, to: store)
        #expect(try batches(store) == [[0, 2, 4, 5], [6]])
        #expect(store.dropped.isEmpty)
        #expect(try directory.files().isEmpty)
    }

    @Test("a later process gets the rest in its old place")
    func laterProcess() throws {
        let store = try opened()
        try append(0..<20, to: store)
        let batch = try #require(try store.nextBatch(events: 20))
        try append(20..<25, to: store)
        store.store.settle([0], of: batch.id)
        let names = try directory.segments()
        let writes = files.calls(.write)
        #expect(store.release(batch, rest: Array(1..<20)))
        #expect(files.calls(.write) == writes)
        #expect(try directory.segments() == names)
        store.store.close()
        #expect(store.store.backlog.events == 24)
        let next = try opened()
        #expect(try batches(next) == [Array(1..<25)])
        #expect(next.recovered == 24)
        #expect(next.dropped.isEmpty)
    }

    @Test("a released batch can be evicted, and counts with its rest")
    func eviction() throws {
        let padding = 1_000
        let line = EventLine.canonical(0, padding: padding)
        let store = try opened(capacity: (line.bytes.count + 18) * 80)
        for number in 0..<10 { try store.append(.canonical(number, padding: padding)) }
        let batch = try #require(try store.nextBatch(events: 10))
        #expect(store.release(batch, rest: [8, 9]))
        for number in 10..<85 { try store.append(.canonical(number, padding: padding)) }
        #expect(store.dropped == [.evicted: 2])
        store.expectConservation()
        #expect(try batches(store).flatMap(\.self) == Array(10..<85))
    }

    @Test("a released batch expires, and a batch that is handed out doesn't")
    func expiry() throws {
        let store = try opened()
        try append(0..<4, to: store)
        let batch = try #require(try store.nextBatch())
        time.advance(by: .seconds(26 * 86_400))
        try append(4..<5, to: store)
        #expect(try store.nextBatch()?.numbers == [4])
        time.advance(by: .seconds(3 * 86_400))
        #expect(store.release(batch, rest: [1, 3]))
        #expect(try store.nextBatch() == nil)
        #expect(store.dropped == [.expired: 2])
        store.expectConservation()
        #expect(try directory.segments().count == 1)
    }

    @Test("events of a released batch can be erased")
    func erasure() throws {
        let store = try opened()
        try append(0..<6, to: store)
        let batch = try #require(try store.nextBatch())
        store.store.settle([0], of: batch.id)
        #expect(store.release(batch, rest: Array(1..<6)))
        // The settled event isn't counted.
        #expect(try store.erase { ($0.number ?? 9) < 2 } == ErasureReport(events: 1))
        #expect(store.store.backlog.events == 4)
        store.expectConservation()
        #expect(try batches(store) == [[2, 3, 4, 5]])
        #expect(store.dropped.isEmpty)
    }

    @Test("the rest of a batch that was erased while it was handed out is released without the erased events")
    func erasureWhileHandedOut() throws {
        let store = try opened()
        try append(0..<6, to: store)
        let batch = try #require(try store.nextBatch())
        #expect(try store.erase { $0.number == 2 }.events == 0)
        #expect(store.release(batch, rest: [0, 1, 3, 4, 5]))
        store.expectConservation()
        #expect(try batches(store) == [[0, 1, 3, 4, 5]])
        #expect(store.dropped.isEmpty)
    }

    @Test("a released batch is deleted with the other events")
    func deletion() throws {
        let store = try opened()
        try append(0..<6, to: store)
        let batch = try #require(try store.nextBatch())
        #expect(store.release(batch, rest: [4, 5]))
        #expect(try store.store.deleteUnread().events == 2)
        #expect(store.store.backlog.isEmpty)
        #expect(try directory.segments().isEmpty)
        #expect(try store.nextBatch() == nil)
    }

    @Test("settled and rejected events don't come back in this process, even if they could not be marked")
    func failingDrive() throws {
        let store = try opened()
        try append(0..<6, to: store)
        let batch = try #require(try store.nextBatch())
        files.fail(.overwrite, with: .inputOutput)
        store.store.settle([0, 1], of: batch.id)
        store.store.reject([batch.rejected("bad")[2]], in: batch.id)
        #expect(store.release(batch, rest: [3, 4, 5]))
        #expect(try batches(store) == [[3, 4, 5]])
        #expect(store.dropped.isEmpty)
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0, deadLetters: 1))
    }

    @Test("the event of a discarded dead letter of a released batch comes back to no process")
    func discardedLetter() throws {
        let store = try opened()
        try append(0..<4, to: store)
        let batch = try #require(try store.nextBatch())
        store.store.reject([batch.rejected("bad")[1]], in: batch.id)
        #expect(store.release(batch, rest: [0, 2, 3]))
        let ids = Set(try store.store.deadLetters().map(\.id))
        #expect(try store.store.discardDeadLetters(ids) == 1)
        store.expectConservation()
        store.store.close()
        #expect(try batches(opened()) == [[0, 2, 3]])
    }

    @Test("a batch whose dead letters can't be written stays handed out")
    func unwrittenLetters() throws {
        let store = try opened()
        try append(0..<4, to: store)
        let batch = try #require(try store.nextBatch())
        files.fail(.write, with: .noSpace)
        store.store.reject([batch.rejected("bad")[1]], in: batch.id)
        #expect(!store.release(batch, rest: [0, 2, 3]))
        #expect(store.store.backlog.events == 4)
        #expect(try store.nextBatch() == nil)
        files.heal()
        #expect(store.release(batch, rest: [0, 2, 3]))
        #expect(try batches(store) == [[0, 2, 3]])
    }

    @Test("a rest that isn't in the batch is refused, and nothing is lost")
    func wrongRest() throws {
        let store = try opened()
        try append(0..<4, to: store)
        let batch = try #require(try store.nextBatch())
        store.store.settle([0], of: batch.id)
        #expect(!store.store.release(batch.id, rest: [.canonical(7)]))
        #expect(!store.store.release(batch.id, rest: batch.events))
        #expect(!store.store.release(batch.id, rest: [batch.events[3], batch.events[2]]))
        #expect(!store.store.release(batch.id + 1, rest: []))
        #expect(store.store.backlog.events == 4)
        try store.settle(batch)
        #expect(store.store.backlog.isEmpty)
    }

    @Test("a released segment that can't be read is tried three times, given up, and read later")
    func unreadable() throws {
        let store = try opened()
        try append(0..<4, to: store)
        let batch = try #require(try store.nextBatch())
        store.store.settle([0], of: batch.id)
        #expect(store.release(batch, rest: [1, 2, 3]))
        files.fail(.read, with: .inputOutput)
        for _ in 0..<2 { #expect(throws: SluiceError.self) { try store.nextBatch() } }
        #expect(try store.nextBatch() == nil)
        #expect(store.dropped == [.unreadable: 3])
        files.heal()
        time.advance(by: .seconds(61))
        #expect(try batches(store) == [[1, 2, 3]])
        #expect(store.recovered == 3)
        store.expectConservation()
    }

    @Test("a damaged line of a released segment is counted once")
    func damage() throws {
        let store = try opened()
        try append(0..<4, to: store)
        let batch = try #require(try store.nextBatch())
        store.store.settle([0, 1], of: batch.id)
        #expect(store.release(batch, rest: [2, 3]))
        let name = try directory.segments()[0]
        var bytes = try directory.read(name)
        bytes[bytes.count - 30] ^= 1
        try directory.write(bytes, to: name)
        #expect(try batches(store) == [[2]])
        #expect(store.dropped == [.corrupt: 1])
        store.expectConservation()
    }

    @Test("a batch that is released each time doesn't keep the events of ended processes waiting")
    func otherDirectories() throws {
        let other = try opened()
        let store = try opened()
        try append(0..<4, to: store)
        try append(4..<6, to: other)
        let batch = try #require(try store.nextBatch())
        other.store.close()
        #expect(store.release(batch, rest: [0]))
        #expect(try batches(store) == [[4, 5], [0]])
    }
}
