import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Small segments that are delivered together.
struct JoinedBatchTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()

    /// Leaves the events of each group in a segment of its own, as by launches without a network.
    private func leave(_ groups: [[Int]], _ priority: Event.Priority = .normal, padding: Int = 0) throws {
        for group in groups { try directory.leave(group.map { .canonical($0, priority, padding: padding) }) }
    }

    @Test(
        "30 launches with an event each leave one batch to the next launch, with its own event",
        arguments: [true, false])
    func launchesAreOneBatch(isEncrypted: Bool) throws {
        let key = isEncrypted ? LineEncryption.toy(7) : nil
        for number in 0..<30 { try directory.leave([.canonical(number)], encryption: key) }
        let store = try opened(encryption: key)
        try store.append(.canonical(30))
        let batch = try #require(try store.nextBatch(events: 100))
        #expect(batch.numbers == Array(0...30))
        #expect(store.recovered == 30)
        #expect(store.store.backlog.events == 31)
        #expect(try store.nextBatch(events: 100) == nil)
        try store.settle(batch)
        #expect(try directory.files().isEmpty)
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0))
    }

    @Test("segments are joined up to the requested number and size, in order, within a priority")
    func joinsUpToTheRequestedSize() throws {
        try leave((0..<7).map { [3 * $0, 3 * $0 + 1, 3 * $0 + 2] })
        try leave([[21], [22]], .critical)
        let store = try opened()
        var batches: [[Int]] = []
        while let batch = try store.nextBatch(events: 10) { batches.append(batch.numbers) }
        #expect(batches == [[21, 22], Array(0..<9), Array(9..<18), Array(18..<21)])
        #expect(store.recovered == 23)
        let next = try reopened(store)
        let size = 3 * EventLine.canonical(0).bytes.count
        // A file is longer than its events: whether the second one fits is known when it was read.
        #expect(try next.nextBatch(bytes: 2 * size - 1)?.numbers == [21, 22])
        #expect(try next.nextBatch(bytes: 2 * size - 1)?.numbers == [0, 1, 2])
        #expect(try next.nextBatch(bytes: 2 * size + 100)?.numbers == [3, 4, 5, 6, 7, 8])
        #expect(try next.nextBatch(events: 2)?.numbers == [9, 10, 11])
    }

    @Test(
        "segments are joined up to the requested size, and up to an eighth of the capacity",
        arguments: [(410_000, 10 << 20, [8, 4]), (.max, 10 << 20, [12]), (.max, 2_500_000, [6, 6])])
    func joinedSegmentsAreBounded(bytes: Int, capacity: Int, expected: [Int]) throws {
        try leave((0..<12).map { [$0] }, padding: 50_000)
        let store = try opened(capacity: capacity)
        var counts: [Int] = []
        while let batch = try store.nextBatch(events: 10_000, bytes: bytes) { counts.append(batch.events.count) }
        #expect(counts == expected)
    }

    @Test("the open segment is joined only if it fits as a whole")
    func openSegmentIsNotDivided() throws {
        try leave([[0], [1]])
        let store = try opened()
        for number in 2..<6 { try store.append(.canonical(number)) }
        #expect(try store.nextBatch(events: 5)?.numbers == [0, 1])
        try store.append(.canonical(6))
        #expect(try store.nextBatch(events: 5)?.numbers == Array(2..<7))
    }

    @Test("a segment that was read but didn't fit keeps its counts and its dead letters")
    func segmentThatDoesNotFitKeepsItsCounts() throws {
        try leave([[0, 1, 2]])
        let first = try opened()
        let all = try first.batch(of: 3..<7)
        #expect(all.events.count == 7)
        first.store.reject([all.rejected("bad")[4]], in: all.id)
        let store = try reopened(first)
        let batch = try #require(try store.nextBatch(events: 4))
        #expect(batch.numbers == [0, 1, 2])
        #expect(store.recovered == 6)
        let next = try #require(try store.nextBatch(events: 4))
        #expect(next.numbers == [3, 5, 6])
        #expect(store.recovered == 6)
        for batch in [batch, next] { try store.settle(batch) }
        #expect(try directory.segments().isEmpty)
        #expect(try store.letters().compactMap(\.number) == [4])
        #expect(store.dropped.isEmpty)
    }

    @Test("of a joined batch, only the files whose rejected events can't be written are kept")
    func onlyFilesWithUnwrittenLettersAreKept() throws {
        try leave([[0], [1], [2]])
        let store = try opened()
        let batch = try #require(try store.nextBatch())
        files.fail(.create, with: .noSpace)
        store.store.reject([batch.rejected("bad")[1]], in: batch.id)
        #expect(throws: SluiceError.self) { try store.settle(batch) }
        #expect(try directory.segments().count == 1)
        #expect(store.store.backlog == Backlog(events: 0, bytes: 0, deadLetters: 1))
        files.heal()
        try store.store.synchronize()
        try store.append(.canonical(3))
        try store.settle(try #require(try store.nextBatch()))
        #expect(try directory.segments().isEmpty)
        #expect(try store.letters().compactMap(\.number) == [1])
    }

    @Test("files of a joined batch that can't be removed are not sent again, and removed later")
    func unremovableFilesAreRemovedLater() throws {
        try leave([[0], [1], [2]])
        let store = try opened()
        files.fail(.removeFile, with: .accessDenied, after: 1, times: 1)
        let batch = try #require(try store.nextBatch())
        expectError(.inputOutput) { try store.settle(batch) }
        #expect(try directory.segments().count == 1)
        #expect(try store.nextBatch() == nil)
        #expect(store.store.backlog.isEmpty)
        try store.settle(try store.batch(of: [3]))
        #expect(try directory.segments().isEmpty)
    }

    @Test("a segment that can't be read ends a batch, and is tried again by the next one")
    func unreadableSegmentEndsTheBatch() throws {
        try leave([[0], [1], [2]])
        let store = try opened()
        files.fail(.read, with: .inputOutput, after: 1, times: 1)
        #expect(try store.nextBatch()?.numbers == [0])
        #expect(try store.nextBatch()?.numbers == [1, 2])
        #expect(store.notes.isEmpty)
    }

    @Test("damaged segments in between don't end a batch, and are counted")
    func damagedSegmentsAreSkipped() throws {
        try leave([[0], [1], [2]])
        let name = try directory.segments().sorted()[1]
        try directory.write(Array("{\"x\n".utf8), to: name)
        let store = try opened()
        let batch = try #require(try store.nextBatch())
        #expect(batch.numbers == [0, 2])
        #expect(store.dropped == [.corrupt: 1])
        try store.settle(batch)
        #expect(try directory.files().isEmpty)
    }
}
