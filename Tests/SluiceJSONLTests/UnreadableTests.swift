import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Segments that can't be read. They are deleted like others, count towards the capacity, and expire.
struct UnreadableTests: TimedStoreSuite {
    private struct NoKey: Error {}

    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()
    private let lineBytes = EventLine(100, padding: 1_000).bytes.count + 18

    /// It encrypts, but has no key to decrypt.
    private static let locked = LineEncryption(encrypt: { [7] + $0 }, decrypt: { _ in throw NoKey() })
    private static let unlocked = LineEncryption(encrypt: { [7] + $0 }, decrypt: { Array($0.dropFirst()) })

    private func pipeline(isPaused: Bool = true, _ store: JSONLStore) throws -> Pipeline {
        try Pipeline(isDeliveryPaused: isPaused, environment: time.environment) {
            store
            ScriptedTransport()
        }
    }

    /// Requests batches in vain.
    private func read(_ store: JSONLStore, times: Int) {
        for _ in 0..<times {
            do throws(SluiceError) {
                #expect(try store.nextBatch(BatchSize(events: 500, bytes: .max)) == nil)
            } catch {
                #expect(error.code == .inputOutput)
            }
        }
    }

    /// The segments, without the status that a pipeline writes.
    private func segments() throws -> [String] { try directory.segments().filter { $0.hasSuffix(".jsonl") } }

    private func diskBytes() throws -> Int { try segments().reduce(0) { try $0 + directory.read($1).count } }

    // MARK: Deleting

    @Test("events that can't be decrypted are deleted, however often they could not be read before", arguments: 0..<6)
    func deletesUndecryptableEvents(readings: Int) async throws {
        try directory.leave([EventLine(0), EventLine(1, .critical), EventLine(2)], encryption: Self.unlocked)
        let store = JSONLStore(at: directory.path, encryption: Self.locked, files: files)
        let pipeline = try pipeline(store)
        read(store, times: readings)
        let report = await pipeline.eraseEverything()
        #expect(report.isComplete)
        #expect(report.events == 3)
        #expect(try segments().isEmpty)
        #expect(pipeline.ledger.isBalanced)
        await pipeline.shutdown()
        #expect(try opened(encryption: Self.unlocked).nextBatch() == nil)
    }

    @Test("events of a file that the drive can't read are deleted", arguments: 0..<4)
    func deletesEventsOfBrokenFile(readings: Int) async throws {
        let store = JSONLStore(at: directory.path, files: files)
        let pipeline = try pipeline(store)
        for _ in 0..<3 { pipeline.track("Purchase") }
        files.fail(.read, with: .inputOutput)
        read(store, times: readings)
        #expect(await pipeline.deleteWaitingEvents())
        #expect(try segments().isEmpty)
        let ledger = pipeline.ledger
        #expect(ledger.isBalanced)
        #expect(ledger.routes[0].waiting == 0)
        #expect(readings > 1 || ledger.routes[0].dropped == [.deleted: 3])
        await pipeline.shutdown()
    }

    @Test("a deletion is complete when the files are gone that could not be read or removed", arguments: [1, 3])
    func deletionWaitsForRemoval(readings: Int) async throws {
        try directory.leave([EventLine(0)], encryption: Self.unlocked)
        let store = JSONLStore(at: directory.path, encryption: Self.locked, files: files)
        let pipeline = try pipeline(store)
        read(store, times: readings)
        files.fail(.removeFile, with: .notPermitted)
        for _ in 0..<3 { #expect(await !pipeline.eraseEverything().isComplete) }
        #expect(try segments().count == 1)
        files.heal()
        #expect(await pipeline.eraseEverything().isComplete)
        #expect(try segments().isEmpty)
        #expect(pipeline.ledger.isBalanced)
        await pipeline.shutdown()
    }

    @Test("a deletion removes a delivered batch's file that could not be removed before, or is incomplete")
    func deletionRemovesDeliveredFile() async throws {
        let pipeline = try pipeline(isPaused: false, JSONLStore(at: directory.path, files: files))
        files.fail(.removeFile, with: .notPermitted)
        pipeline.track("Purchase")
        await pipeline.flush()
        #expect(try segments().count == 1)
        #expect(await !pipeline.deleteWaitingEvents())
        files.heal()
        #expect(await pipeline.deleteWaitingEvents())
        #expect(try segments().isEmpty)
        await pipeline.shutdown()
    }

    @Test("a deletion includes directories that were left to a later process, because nothing in them could be read")
    func deletesLeftDirectories() async throws {
        let earlier = try (0..<6).map { _ in try opened(encryption: Self.unlocked) }
        for (number, store) in earlier.enumerated() { try store.append(EventLine(number)) }
        let running = try opened(encryption: Self.unlocked)
        try running.append(EventLine(6))
        for store in earlier { store.store.close() }
        let store = JSONLStore(at: directory.path, encryption: Self.locked, files: files)
        let pipeline = try pipeline(store)
        read(store, times: 40)
        #expect(try segments().count == 7)
        #expect(await pipeline.deleteWaitingEvents())
        // The other process keeps its own.
        #expect(try segments().count == 1)
        #expect(pipeline.ledger.isBalanced)
        await pipeline.shutdown()
        #expect(try running.drain() == texts([6]))
    }

    // MARK: Capacity and age

    @Test("events that can't be decrypted never take more than the capacity, and are evicted first")
    func capacityHolds() throws {
        let store = try opened(capacity: lineBytes * 200, encryption: Self.locked)
        for number in 0..<500 {
            try store.append(EventLine(100 + number, padding: 1_000))
            // Every tenth time, the store gives the waiting segments up.
            if number % 10 == 0, number < 400 { read(store.store, times: 3) }
            #expect(try diskBytes() <= lineBytes * 200)
            store.expectConservation()
        }
        #expect(store.store.backlog.events == 109)
        #expect(try #require(store.dropped[.evicted]) > 200)
    }

    @Test("unreadable critical events stay when normal ones need room, and make room for critical ones")
    func priorityHolds() throws {
        let store = try opened(capacity: lineBytes * 200, encryption: Self.locked)
        for number in 0..<50 { try store.append(EventLine(100 + number, .critical, padding: 1_000)) }
        read(store.store, times: 20)
        for number in 50..<500 { try store.append(EventLine(100 + number, padding: 1_000)) }
        #expect(try segments().contains { $0.contains("critical") })
        for number in 500..<800 { try store.append(EventLine(100 + number, .critical, padding: 1_000)) }
        #expect(store.store.backlog.events > 100)
        #expect(try diskBytes() <= lineBytes * 200)
        store.expectConservation()
    }

    @Test("events that can't be read expire, and are counted")
    func unreadableEventsExpire() throws {
        let earlier = try opened(encryption: Self.unlocked)
        try earlier.append(EventLine(0))
        try earlier.append(EventLine(1, .critical))
        let store = try reopened(earlier, encryption: Self.locked)
        read(store.store, times: 6)
        time.advance(by: .days(24))
        read(store.store, times: 2)
        #expect(try segments().count == 2)
        time.advance(by: .days(3))
        #expect(try store.nextBatch() == nil)
        #expect(try segments().isEmpty)
        #expect(store.dropped == [.expired: 2])
    }

    @Test("a directory that is larger than the rest of the capacity is taken over while nothing can be read here")
    func takesOverBesideUnreadableEvents() throws {
        let capacity = lineBytes * 80
        let other = try opened(capacity: capacity)
        let store = try opened(capacity: capacity, encryption: Self.locked)
        for number in 0..<50 { try store.append(EventLine(100 + number, padding: 1_000)) }
        for number in 50..<100 { try other.append(EventLine(100 + number, padding: 1_000)) }
        read(store.store, times: 40)
        other.store.close()
        #expect(try store.drain() == texts(150..<200, padding: 1_000))
        #expect(try diskBytes() <= capacity)
    }
}
