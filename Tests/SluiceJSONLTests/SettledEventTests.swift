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
        let next = try reopened(store, encryption: key)
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
        let next = try reopened(store)
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
    }

    @Test("settled and rejected events of a batch stay apart, also for a later process")
    func settledAndRejected() throws {
        let (store, batch) = try handedOut(6)
        store.store.settle([0, 2], of: batch.id)
        // A settled event is no dead letter, and a dead letter is not settled.
        store.store.reject([batch.rejected("bad")[2], batch.rejected("bad")[3]], in: batch.id)
        store.store.settle([3, 5], of: batch.id)
        #expect(try store.letters().compactMap(\.number) == [3])
        #expect(store.store.backlog.events == 6)
        #expect(try afterKill().waiting == [1, 4])
        let next = try reopened(store)
        // The place of the event is part of the letter's id: it must be the same.
        #expect(try next.nextBatch()?.numbers == [1, 4])
        #expect(try next.letters().compactMap(\.number) == [3])
    }

    @Test("of two equal events, the settled place counts")
    func equalEvents() throws {
        let store = try opened()
        let batch = try store.batch(of: [0, 1, 1, 2])
        store.store.settle([2], of: batch.id)
        store.store.reject([batch.rejected("bad")[2]], in: batch.id)
        #expect(try store.letters().compactMap(\.number) == [1])
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
    }

    /// Something that another program makes of a file of ten lines.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The events that a later process gets, if 0, 2, 4, 6 and 8 are settled after the change.
        let waiting: [Int]
        let make: @Sendable ([ArraySlice<UInt8>]) -> [ArraySlice<UInt8>]

        init(
            _ description: String, _ waiting: [Int],
            _ make: @escaping @Sendable ([ArraySlice<UInt8>]) -> [ArraySlice<UInt8>]
        ) {
            (testDescription, self.waiting, self.make) = (description, waiting, make)
        }
    }

    static let changes: [Change] = [
        Change("nothing", [1, 3, 5, 7, 9]) { $0 },
        Change("the first line is removed", Array(1..<10)) { Array($0.dropFirst()) },
        Change("a line in the middle is removed", [1, 4, 5, 6, 7, 8, 9]) { Array($0[..<3] + $0[4...]) },
        Change("a copy of the first line comes first", Array(0..<10)) { [$0[0]] + $0 },
        Change("another text comes first", Array(0..<10)) { [Array("# a comment".utf8)[...]] + $0 },
        Change("two lines change places", [8, 1, 3, 5, 7, 0, 9]) { [$0[8]] + $0[1..<8] + [$0[0], $0[9]] },
        Change("the order is reversed", (0..<10).reversed()) { $0.reversed() },
        Change("the file is cut behind a line", [1]) { Array($0[..<3]) },
        Change("the file is cut within a line", [1]) { $0[..<3] + [$0[4].dropLast(5)] },
        Change("the file is emptied", []) { _ in [] },
        Change("newlines replace a line", [1, 3, 5, 7, 9]) {
            $0[..<2] + [ArraySlice($0[2].map { _ in LineFormat.newline })] + $0[3...]
        },
    ]

    @Test(
        "a mark is written only into the line of its event, whatever other programs have made of the file",
        arguments: changes, [nil, UInt8(7)])
    func changedFile(change: Change, key: UInt8?) throws {
        let (store, batch) = try handedOut(10, key.map { .toy($0) })
        let name = try directory.segments()[0]
        let lines = change.make(try directory.read(name).split(separator: LineFormat.newline))
        let bytes =
            Array(lines.joined(separator: [LineFormat.newline])) + (lines.count == 4 ? [] : [LineFormat.newline])
        try directory.write(bytes, to: name)
        store.store.settle([0, 2, 4, 6, 8], of: batch.id)
        #expect(try directory.read(name).count == bytes.count)
        let next = try openedAfterKill(encryption: key.map { .toy($0) })
        #expect(try next.drainNumbers() == change.waiting)
        #expect(next.dropped == (lines.count == 4 ? [.corrupt: 1] : [:]))
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
        let next = try reopened(store)
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
