import Sluice
import TestSupport
import Testing

@testable import SluiceJSONL

/// Single events of a batch that were delivered, while the rest of the batch is still handed out.
struct SettledEventTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()

    /// A store whose events are in one batch.
    private func handedOut(
        _ count: Int = 10, _ encryption: LineEncryption? = nil, durability: JSONLStore.Durability = .process
    ) throws -> (TestedStore, Batch) {
        let store = try opened(durability, encryption: encryption)
        return (store, try store.batch(of: 0..<count))
    }

    @Test("after a kill and after a close, a later process gets the other events only", arguments: [true, false])
    func settledEventsStayGone(isEncrypted: Bool) throws {
        let key = isEncrypted ? LineEncryption.toy(7) : nil
        let (store, batch) = try handedOut(10, key)
        let name = try directory.segments()[0]
        let size = try directory.read(name).count
        store.store.settle([0, 4, 9], of: batch.id)
        #expect(store.store.backlog.events == 10)
        #expect(try directory.read(name).count == size)
        #expect(try afterKill(key).waiting == [1, 2, 3, 5, 6, 7, 8])
        // A second time, and places that don't exist.
        store.store.settle([4, 5, 5, 10, -1], of: batch.id)
        store.store.settle([1], of: batch.id + 1)
        #expect(try afterKill(key).waiting == [1, 2, 3, 6, 7, 8])
        store.store.close()
        let next = try opened(encryption: key)
        #expect(try next.drain().count == 6)
        #expect(next.dropped.isEmpty)
        #expect(next.recovered == 6)
        #expect(try directory.segments().isEmpty)
    }

    @Test("a file of settled events only is removed, and reports nothing")
    func allSettled() throws {
        let (store, batch) = try handedOut()
        store.store.settle(Array(0..<10), of: batch.id)
        #expect(try afterKill().waiting.isEmpty)
        store.store.close()
        let next = try opened()
        #expect(try next.nextBatch() == nil)
        #expect(next.recovered == 0)
        #expect(next.store.backlog.isEmpty)
        #expect(try directory.segments().isEmpty)
    }

    @Test("the indices of a batch of several segments find the right files")
    func severalSegments() throws {
        for group in [[0, 1, 2], [3], [4, 5]] { try directory.leave(group.map { .canonical($0) }) }
        let store = try opened()
        let batch = try store.batch(of: [6])
        #expect(batch.numbers == Array(0...6))
        store.store.settle([6, 2, 3, 4], of: batch.id)
        #expect(try afterKill().waiting == [0, 1, 5])
        try store.settle(batch)
        #expect(try directory.segments().isEmpty)
        store.expectConservation()
    }

    @Test("settled and rejected events of a batch stay apart, also for a later process")
    func settledAndRejected() throws {
        let (store, batch) = try handedOut(6)
        store.store.settle([0, 2], of: batch.id)
        // A settled event is no dead letter, and a dead letter is not settled.
        store.store.reject([batch.rejected("bad")[2], batch.rejected("bad")[3]], in: batch.id)
        store.store.settle([3, 5], of: batch.id)
        #expect(try store.store.deadLetters().compactMap(\.number) == [3])
        #expect(store.store.backlog.events == 6)
        #expect(try afterKill().waiting == [1, 4])
        store.store.close()
        let next = try opened()
        // The place of the event is part of the letter's id: it must be the same.
        #expect(try next.nextBatch()?.numbers == [1, 4])
        #expect(try next.store.deadLetters().compactMap(\.number) == [3])
        next.expectConservation()
    }

    @Test("of two equal events, the settled place counts")
    func equalEvents() throws {
        let store = try opened()
        let batch = try store.batch(of: [0, 1, 1, 2])
        store.store.settle([2], of: batch.id)
        store.store.reject([batch.rejected("bad")[2]], in: batch.id)
        #expect(try store.store.deadLetters().compactMap(\.number) == [1])
        #expect(try afterKill().waiting == [0, 2])
    }

    @Test("an erasure and settled events don't undo each other, and settled ones are erased too")
    func erasure() throws {
        let (store, batch) = try handedOut(8)
        store.store.settle([0], of: batch.id)
        _ = try store.erase { $0.number == 1 }
        store.store.settle([2, 1], of: batch.id)
        #expect(try afterKill().waiting == [3, 4, 5, 6, 7])
        store.store.settle([3], of: batch.id)
        _ = try store.erase { $0.number == 3 }
        let text = String(decoding: try directory.read(directory.segments()[0]), as: UTF8.self)
        #expect(!text.contains("xrc"))
        #expect(try afterKill().waiting == [4, 5, 6, 7])
    }

    @Test("an event that is settled during an erasure stays settled, or is erased", arguments: [false, true])
    func settledDuringErasure(isErased: Bool) throws {
        let (store, batch) = try handedOut(8)
        let isBegun = Locked(false)
        // The thread of the erasure can't be waited for by itself.
        _ = try store.erase { line in
            if !isBegun.withLock({ begun in
                defer { begun = true }
                return begun
            }) {
                store.store.settle([0], of: batch.id)
            }
            return line.number == (isErased ? 0 : 1)
        }
        // Its mark is made with the next one.
        store.store.settle([2], of: batch.id)
        #expect(try afterKill().waiting == (isErased ? [1, 3, 4, 5, 6, 7] : [3, 4, 5, 6, 7]))
    }

    @Test("a drive that fails costs nothing but a second delivery, and is noted once")
    func failingDrive() throws {
        let (store, batch) = try handedOut()
        files.fail(.overwrite, with: .inputOutput, after: 1)
        store.store.settle([0, 1, 2], of: batch.id)
        store.store.settle([3], of: batch.id)
        #expect(store.notes.count == 1)
        #expect(store.notes.first?.contains("a second time") == true)
        #expect(try afterKill().waiting == Array(1..<10))
        files.heal()
        store.store.settle([4], of: batch.id)
        #expect(try afterKill().waiting == [1, 2, 3, 5, 6, 7, 8, 9])
        try store.settle(batch)
        store.expectConservation()
    }

    @Test("a file that is gone or was cut is not written to")
    func missingFile() throws {
        let (store, batch) = try handedOut()
        let name = try directory.segments()[0]
        let bytes = try directory.read(name)
        try directory.write(Array(bytes.prefix(bytes.count / 2)), to: name)
        store.store.settle([0, 9], of: batch.id)
        #expect(try directory.read(name).count == bytes.count / 2)
        directory.remove(name)
        store.store.settle([1], of: batch.id)
        #expect(store.notes.isEmpty)
        #expect(try directory.segments().isEmpty)
    }

    @Test("each level of durability synchronizes as for an append")
    func synchronizes() throws {
        for durability in [JSONLStore.Durability.process, .full, .buffered] {
            let (store, batch) = try handedOut(4, durability: durability)
            let before = files.calls(.synchronize)
            let writes = files.calls(.write)
            store.store.settle([0, 1], of: batch.id)
            #expect(files.calls(.synchronize) - before == (durability == .full ? 1 : 0))
            #expect(files.calls(.write) == writes)
            try store.settle(batch)
            store.store.close()
        }
    }

    @Test("with an interval, a synchronization includes the settled events")
    func synchronizesAfterInterval() throws {
        let (store, batch) = try handedOut(4, durability: .interval(milliseconds: 3_600_000))
        try store.store.synchronize()
        let before = files.calls(.synchronize)
        try store.store.synchronize()
        #expect(files.calls(.synchronize) == before)
        store.store.settle([0, 1], of: batch.id)
        #expect(files.calls(.synchronize) == before)
        try store.store.synchronize()
        #expect(files.calls(.synchronize) == before + 1)
    }

    @Test("a later process counts no settled event that it evicts, expires or deletes unread")
    func unreadFilesAreCounted() throws {
        let (store, batch) = try handedOut()
        store.store.settle([0, 1, 2], of: batch.id)
        store.store.close()
        let next = try opened()
        #expect(try next.store.deleteUnread().events == 7)
        #expect(next.recovered == 7)
    }

    @Test("a closed store ignores the call")
    func closed() throws {
        let (store, batch) = try handedOut()
        store.store.close()
        store.store.settle([0], of: batch.id)
        #expect(try afterKill().waiting == Array(0..<10))
    }
}
