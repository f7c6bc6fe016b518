import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

@Suite("Reused files")
struct ReusedFileTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem(reusesFiles: true)
    let time = VirtualTime()

    /// Delivers one event. Its file is then a spare one.
    private func deliver(_ number: Int, padding: Int = 0, _ store: TestedStore) throws {
        try store.append(EventLine(number, padding: padding))
        #expect(try store.drain() == texts([number], padding: padding))
    }

    private func spares() throws -> [String] { try directory.files().filter { $0.hasSuffix(SpareFiles.suffix) } }

    private func inode(_ name: String) throws -> UInt64 {
        try SystemFileSystem().status(of: "\(directory.path)/\(name)").inode
    }

    @Test("the file of a delivered segment becomes that of the next one, which has only its own lines")
    func fileIsReused() throws {
        let store = try opened()
        try deliver(0, padding: 10_000, store)
        let spare = try #require(try spares().first)
        #expect(try directory.read(spare).allSatisfy { $0 == LineFormat.newline })
        let number = try inode(spare)
        try store.append(EventLine(1, .critical))
        try store.append(EventLine(2, .critical))
        let segment = try #require(try directory.segments().first)
        #expect(try inode(segment) == number)
        let name = try #require(SegmentName(String(segment.split(separator: "/")[1])))
        #expect(name.isReused && name.lane == .critical)
        let lines = try stored(1, .critical, seed: name.seed) + stored(2, .critical, seed: name.seed)
        #expect(try directory.read(segment).starts(with: lines))
        #expect(try directory.read(segment).dropFirst(lines.count).allSatisfy { $0 == LineFormat.newline })
        #expect(store.recovered == 0)
        #expect(try store.drain() == texts(1...2, .critical))
    }

    private func stored(_ number: Int, _ priority: Event.Priority = .normal, seed: UInt32) throws -> [UInt8] {
        var buffer = LineBuffer()
        buffer.setSeed(seed)
        buffer.append(try StoredLine(EventLine(number, priority).bytes, nil))
        return Array(buffer.bytes)
    }

    @Test(
        "a later process finds the lines of a reused file, with the newlines behind them or without",
        arguments: [true, false])
    func reusedFileIsRecovered(isClosed: Bool) throws {
        let store = try opened()
        try deliver(0, padding: 10_000, store)
        for number in 1...3 { try store.append(EventLine(number)) }
        let segment = try #require(try directory.segments().first)
        let bytes = try directory.read(segment)
        #expect(bytes.count > 10_000)
        store.store.close()
        #expect(try directory.read(segment).count < 1_000, "it is as short as its lines")
        if !isClosed { try directory.write(bytes, to: segment) }
        let next = try opened()
        #expect(try next.drain() == texts(1...3))
        #expect(next.recovered == 3)
        #expect(next.dropped == [:])
    }

    @Test("lines of earlier segments, which a loss of power can bring back, are neither delivered nor counted")
    func oldLinesAreNoEvents() throws {
        let process = "\(EventID.random { 1 })"
        let name = SegmentName(.normal, sequence: 5, created: .sample, isReused: true)
        let lines = try stored(0, seed: 5) + stored(1, seed: 0) + stored(2, seed: 4) + stored(3, seed: 9)
        try directory.write(lines, to: "\(process)/\(name.text)")
        let store = try opened()
        #expect(try store.drain() == texts([0]))
        #expect(store.recovered == 2)
        #expect(store.dropped == [.corrupt: 1], "no earlier segment has the checksum of 3")
    }

    @Test(
        "a file that a reader has open, or that others have linked elsewhere, keeps its lines",
        arguments: [true, false])
    func sharedFileIsNotReused(isLinked: Bool) throws {
        let store = try opened()
        try store.append(EventLine(0))
        let segment = try #require(try directory.segments().first)
        var reader: OpenFile? = try OpenFile("\(directory.path)/\(segment)", [], in: SystemFileSystem())
        let bytes = try directory.read(segment)
        if isLinked {
            try files.link(try #require(reader).descriptor, at: "\(directory.path)/copy")
            reader = nil
        }
        #expect(try store.drain() == texts([0]))
        #expect(try directory.files() == (isLinked ? ["copy"] : []))
        try store.append(EventLine(1))
        #expect(try isLinked ? directory.read("copy") == bytes : reader?.read(upTo: 1_000) == bytes)
    }

    @Test("a growing backlog gets new files, and at most four files are kept open")
    func backlogHasNewFiles() throws {
        let store = try opened()
        _ = try store.nextBatch(events: 20)
        for number in 0..<400 { try store.append(EventLine(number)) }
        #expect(try directory.segments().count == 20)
        #expect(try directory.segments().allSatisfy { !$0.hasSuffix("-r.jsonl") })
        // The directory, its lock, the open segment, and perhaps a segment that is being read.
        #expect(files.mostOpenFiles <= 4 + SpareFiles.most)
        #expect(try store.drain() == texts(0..<400))
        #expect(try spares().count == SpareFiles.most)
        #expect(files.mostOpenFiles <= 4 + SpareFiles.most)
        store.store.close()
        #expect(try directory.files() == [], "spare files are removed at the end")
    }

    @Test("spare files have at most the size of one large segment together")
    func sparesAreSmall() throws {
        let store = try opened(capacity: 800_000)
        for number in 0..<3 { try store.append(EventLine(number, padding: 60_000)) }
        #expect(try store.drain() == texts(0..<3, padding: 60_000))
        #expect(try spares().count == 1)
        try deliver(3, padding: 20_000, store)
        try deliver(4, padding: 60_000, store)
        #expect(try spares().reduce(0) { try $0 + directory.read($1).count } <= 100_000)
    }

    @Test("newlines behind the last line count, and go before an event is evicted")
    func newlinesMakeRoom() throws {
        let store = try opened(capacity: 100_000)
        try deliver(0, padding: 12_000, store)
        try store.append(EventLine(1, .critical))
        for number in 2..<10 { try store.append(EventLine(number, padding: 12_000)) }
        #expect(store.dropped == [:])
        #expect(try directory.bytes() <= 100_000)
        #expect(try store.drain() == texts([1], .critical) + texts(2..<10, padding: 12_000))
    }

    @Test("spare files count, and go before an event is refused")
    func sparesMakeRoom() throws {
        let store = try opened(capacity: 100_000)
        try deliver(0, padding: 12_000, store)
        #expect(try spares().count == 1)
        try store.append(EventLine(1, padding: 90_000))
        #expect(try spares().count == 0)
        #expect(try store.drain() == texts([1], padding: 90_000))
    }

    @Test("no byte of a deleted or erased event is in a file, spare files included", arguments: [true, false])
    func deletionLeavesNoByte(isErasure: Bool) throws {
        let store = try opened()
        try deliver(0, store)
        for number in 1...3 { try store.append(EventLine(number)) }
        #expect(try !spares().isEmpty || !directory.segments().isEmpty)
        let synchronized = files.calls(.synchronizeDirectory)
        if isErasure {
            #expect(try store.erase { _ in true } == ErasureReport(events: 3))
        } else {
            #expect(try store.store.deleteUnread() == ErasureReport(events: 3))
        }
        #expect(try directory.files() == [])
        #expect(files.calls(.synchronizeDirectory) > synchronized, "a loss of power would bring the files back")
    }

    @Test("an erasure synchronizes reused files: a loss of power would bring back their older lines")
    func erasureSynchronizesReusedFiles() throws {
        let store = try opened()
        try deliver(0, store)
        try store.append(EventLine(1))
        let before = files.calls(.synchronize) - files.calls(.synchronizeDirectory)
        #expect(try store.erase { _ in false } == ErasureReport())
        #expect(files.calls(.synchronize) - files.calls(.synchronizeDirectory) == before + 1)
    }

    @Test("an erased line of a reused file is gone, and the other lines are delivered")
    func reusedFileIsErased() throws {
        let store = try opened()
        try deliver(0, padding: 1_000, store)
        for number in 1...3 { try store.append(EventLine(number)) }
        #expect(try store.erase { $0.text == EventLine(2).text } == ErasureReport(events: 1))
        #expect(try store.drain() == texts([1, 3]))
        #expect(try directory.files() == [])
    }

    @Test("a file that can't be blanked is removed", arguments: [FaultyFileSystem.Operation.overwrite, .lock, .status])
    func unusableFileIsRemoved(operation: FaultyFileSystem.Operation) throws {
        let store = try opened()
        let batch = try store.batch([EventLine(0)])
        files.fail(operation, with: .inputOutput)
        try store.settle(batch)
        files.heal()
        #expect(try directory.files() == [])
        try deliver(1, store)
        store.expectConservation()
    }

    @Test(
        "a file that has lost its name and can't be removed is counted, and removed later, also after the end of reuse",
        arguments: [false, true])
    func unremovableFileIsRemovedLater(isReuseOver: Bool) throws {
        let store = try opened(isReuseOver ? .full : .process)
        let batch = try store.batch([EventLine(0)])
        if isReuseOver {
            files.fail(.synchronize, with: .inputOutput, times: 1)
            #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        }
        files.fail(.lock, with: .inputOutput)
        files.fail(.removeFile, with: .accessDenied)
        try store.settle(batch)
        #expect(try isReuseOver || spares().count == 1)
        #expect(try store.store.deleteUnread().left.count == 1)
        files.heal()
        #expect(try store.store.deleteUnread().left == [])
        #expect(try directory.files() == [])
    }

    @Test("newlines are written to a file only while it is the one that has the name")
    func eachPartIsChecked() throws {
        let store = try opened()
        let batch = try store.batch([EventLine(0, padding: 100_000)])
        let before = files.calls(.overwrite)
        // Of the name and of the descriptor, before the first part.
        files.fail(.status, with: .badDescriptor, after: 2)
        try store.settle(batch)
        files.heal()
        #expect(files.calls(.overwrite) == before + 1)
        #expect(try directory.files() == [])
    }

    @Test("an event that doesn't fit on the disk leaves no part of its line in a reused file")
    func failedWriteLeavesNothing() throws {
        let store = try opened()
        try deliver(0, padding: 1_000, store)
        try store.append(EventLine(1))
        files.fail(.overwrite, with: .noSpace, times: 1)
        #expect(throws: SluiceError.self) { try store.append(EventLine(2)) }
        files.heal()
        try store.append(EventLine(3))
        #expect(try store.drain() == texts([1, 3]))
        #expect(store.dropped == [:])
    }

    @Test("after a synchronization has failed, no file is reused", arguments: [true, false])
    func failedSynchronizationEndsReuse(isOfMark: Bool) throws {
        let store = try opened(.full)
        try deliver(0, store)
        if isOfMark {
            let batch = try store.batch(of: [4, 5])
            files.fail(.synchronize, with: .inputOutput, times: 1)
            store.store.settle([0], of: batch.id)
            try store.settle(batch)
        } else {
            files.fail(.synchronize, with: .inputOutput, times: 1)
            #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        }
        try deliver(2, store)
        try deliver(3, store)
        #expect(try directory.files() == [])
    }

    @Test("a spare file that others have changed or removed is not used", arguments: [true, false])
    func changedSpareIsNotUsed(isRemoved: Bool) throws {
        let store = try opened()
        try deliver(0, store)
        let spare = try #require(try spares().first)
        if isRemoved { directory.remove(spare) } else { try directory.write([], to: spare) }
        try store.append(EventLine(1))
        #expect(try directory.segments().allSatisfy { !$0.hasSuffix("-r.jsonl") })
        #expect(try store.drain() == texts([1]))
    }

    @Test("files are not reused on file systems that are not known to overwrite in place")
    func otherFileSystems() {
        #expect(!SystemFileSystem().overwritesInPlace("/proc"))
        #expect(!SystemFileSystem().overwritesInPlace("/nowhere"))
    }
}
