import Sluice
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// The system calls behind each promise. Tests/Faults shows by killed processes that the promises are kept.
@Suite
struct DurabilityTests: TimedStoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()

    @Test("by default each event is one write, and no event is synchronized")
    func eachEventIsOneWrite() throws {
        let store = try opened(.process)
        let opening = files.calls(.write)
        for number in 0..<100 { try store.append(EventLine(number)) }
        #expect(files.calls(.write) == opening + 100)
        #expect(files.calls(.synchronize) == 0)
    }

    @Test("buffered events are written 64 KiB at a time, when a batch is taken, and at the end")
    func bufferedEventsAreWrittenTogether() throws {
        let store = try opened(.buffered)
        let opening = files.calls(.write)
        for number in 0..<300 { try store.append(EventLine(number, padding: 200)) }
        #expect(files.calls(.write) == opening + 1)
        store.expectConservation()
        #expect(try store.nextBatch()?.texts == texts(0..<300, padding: 200))
        #expect(files.calls(.write) == opening + 2)
        try store.append(EventLine(300))
        store.store.close()
        #expect(files.calls(.write) == opening + 3)
    }

    @Test("a buffer that can never be written is bounded, and counted at the end")
    func unwritableBufferIsBounded() throws {
        let store = try opened(.buffered)
        files.fail(.write, with: .noSpace)
        var accepted = 0
        for number in 0..<300 {
            do {
                try store.append(EventLine(number, padding: 1_000))
                accepted += 1
            } catch {
                #expect(error.code == .inputOutput)
            }
        }
        #expect(accepted < 65)
        #expect(accepted > 50)
        store.store.close()
        #expect(store.dropped == [.storeFailed: accepted])
        store.expectConservation()
    }

    @Test("with .full each event is synchronized, and each new file's directories")
    func fullSynchronizesEachEvent() throws {
        let store = try opened(.full)
        // A file for trial, the store's directory, the root and the parents of the root.
        #expect(files.calls(.synchronize) == 1 + directories)
        try store.append(EventLine(0))
        #expect(files.calls(.synchronize) == 3 + directories)
        try store.append(EventLine(1))
        #expect(files.calls(.synchronize) == 4 + directories)
        try store.append(EventLine(2, .critical))
        #expect(files.calls(.synchronize) == 6 + directories)
    }

    @Test("the parents of the root are synchronized, also if their owner can't be read now")
    func parentsAreSynchronized() {
        let root = RootDirectory(path: directory.path, route: "main", files: files)
        let all = [directory.path] + FilePath.ancestors(of: directory.path)
        files.fail(.status, with: .inputOutput)
        #expect(root.synchronizedDirectories == all)
        files.heal()
        files.fail(.status, with: .accessDenied)
        #expect(root.synchronizedDirectories == [directory.path])
    }

    @Test("with .full an event whose synchronization fails is refused, and its file is not used again")
    func fullRefusesUnsynchronizedEvent() throws {
        let store = try opened(.full)
        try store.append(EventLine(0))
        files.fail(.synchronize, with: .inputOutput, times: 1)
        #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        #expect(try directory.segments().count == 1)
        try store.append(EventLine(2))
        #expect(try directory.segments().count == 2)
        #expect(try openedAfterKill().drain() == texts([0, 2]))
        #expect(try store.drain() == texts([0, 2]))
    }

    @Test("with .interval all written files are synchronized once an interval, and nothing if nothing was written")
    func intervalSynchronizesOnce() async throws {
        let store = try opened(.interval(milliseconds: 10))
        for number in 0..<1_200 { try store.append(EventLine(number)) }
        let before = files.calls(.synchronize)
        try await passInterval()
        // A call is counted when it begins.
        await until {
            files.calls(.synchronize) == before + 4
                && !store.store.access.read(\.stored.directories.synchronization.isScheduled)
        }
        time.advance(by: .seconds(1))
        #expect(time.deadlines.isEmpty)
        try store.append(EventLine(1_200))
        try await passInterval()
        await until { files.calls(.synchronize) == before + 5 }
        #expect(try store.drain() == texts(0...1_200))
    }

    @Test("an event that is stored during a synchronization waits one interval from its start, not from its end")
    func intervalCountsFromStartOfSynchronization() async throws {
        let store = try opened(.interval(milliseconds: 10))
        try store.append(EventLine(0))
        let due = time.continuousTime() + .milliseconds(20)
        files.duringNextSynchronization { [time] in
            do {
                try store.append(EventLine(1))
            } catch {
                Issue.record(error)
            }
            time.advance(by: .milliseconds(7))
        }
        let before = files.calls(.synchronize)
        try await passInterval()
        await until { files.calls(.synchronize) == before + 2 && time.deadlines.count == 1 }
        #expect(time.deadlines == [due])
    }

    @Test("a synchronization that failed is reported, and not tried again on the same file")
    func failedSynchronizationIsReported() async throws {
        let store = try opened(.interval(milliseconds: 10))
        try store.append(EventLine(0))
        // The store's directory comes first.
        files.fail(.synchronize, with: .inputOutput, after: 1, times: 1)
        try await passInterval()
        await until { store.notes.count == 1 }
        try store.append(EventLine(1))
        #expect(try directory.segments().count == 2)
        #expect(try store.drain() == texts([0, 1]))
    }

    @Test("files that could not be opened for want of a descriptor are synchronized an interval later")
    func synchronizationWaitsForDescriptor() async throws {
        let store = try opened(.interval(milliseconds: 10))
        try store.append(EventLine(0))
        files.fail(.open, with: .tooManyOpenFiles)
        try await passInterval()
        await until { store.notes.count == 1 && time.deadlines.count == 1 }
        let before = files.calls(.synchronize)
        files.heal()
        try await passInterval()
        // The segment and its directory.
        await until { files.calls(.synchronize) == before + 2 }
        #expect(try store.drain() == texts([0]))
    }

    @Test(
        "synchronize() synchronizes everything that this process has written, closed segments included",
        arguments: [true, false])
    func synchronizeCoversClosedSegments(isBuffered: Bool) throws {
        let store = try opened(isBuffered ? .buffered : .process)
        for number in 0..<1_200 { try store.append(EventLine(number)) }
        try store.store.synchronize()
        #expect(files.calls(.synchronize) == 3 + directories)
        try store.store.synchronize()
        #expect(files.calls(.synchronize) == 3 + directories)
        files.fail(.synchronize, with: .inputOutput)
        try store.append(EventLine(1_200))
        #expect(throws: SluiceError.self) { try store.store.synchronize() }
        files.heal()
        #expect(try store.drain() == texts(0...1_200))
    }

    @Test(
        "below a symbolic link, events are stored and synchronized, and no failure is reported",
        arguments: [JSONLStore.Durability.full, .process])
    func storesBelowSymbolicLink(durability: JSONLStore.Durability) throws {
        try SystemFileSystem().makeDirectory("\(directory.path)/target", mode: 0o700)
        symlink("\(directory.path)/target", "\(directory.path)/link")
        let store = try TestedStore.opened(
            JSONLStore(at: "\(directory.path)/link/a/b", durability: durability, files: files))
        try store.append(EventLine(0))
        try store.store.synchronize()
        #expect(try directory.segments().contains { $0.hasPrefix("target/a/b/") })
        #expect(store.notes.isEmpty)
    }

    @Test(
        "directories that can't be synchronized, as on some network drives, refuse no event",
        arguments: [FileError.invalidArgument, .notSupported])
    func unsynchronizableDirectoriesRefuseNothing(error: FileError) throws {
        files.fail(.synchronizeDirectory, with: error)
        for durability in [JSONLStore.Durability.full, .process] {
            let store = try opened(durability)
            try store.append(EventLine(0))
            try store.store.synchronize()
            #expect(store.notes.isEmpty)
            store.store.close()
        }
    }

    @Test("a level that the file system can't keep is refused when the store is opened")
    func impossibleLevelIsRefused() throws {
        files.fail(.synchronize, with: .invalidArgument)
        for durability in [JSONLStore.Durability.full, .interval(milliseconds: 10)] {
            expectError(.storageUnavailable, says: "durability") { try opened(durability) }
        }
        try opened(.process).append(EventLine(0))
    }

    @Test("synchronize(while:) stops between two files, and the next call continues with the rest")
    func synchronizationStopsBetweenFiles() throws {
        let store = try opened(.process)
        for number in 0..<5_000 { try store.append(EventLine(number)) }
        var rest = 3
        try store.store.synchronize {
            rest -= 1
            return rest >= 0
        }
        #expect(files.calls(.synchronize) == 3)
        try store.store.synchronize()
        #expect(files.calls(.synchronize) == 10 + directories)
    }

    @Test("with .interval closing synchronizes at most eight files, and nothing without new events")
    func closingSynchronizesFewFiles() throws {
        let store = try opened(.interval(milliseconds: 10_000))
        for number in 0..<8_000 { try store.append(EventLine(number)) }
        let before = files.calls(.synchronize)
        store.store.close()
        #expect(files.calls(.synchronize) == before + 8)
        let next = try opened(.interval(milliseconds: 10_000))
        let opened = files.calls(.synchronize)
        next.store.close()
        #expect(files.calls(.synchronize) == opened)
    }

    @Test("a synchronization opens one file after another, and lets events be stored meanwhile")
    func synchronizationHoldsNoLock() throws {
        let store = try opened(.interval(milliseconds: 10_000))
        for number in 0..<5_000 { try store.append(EventLine(number)) }
        var number = 5_000
        var failure: (any Error)?
        try store.store.synchronize {
            do {
                // It would not return if the lock were held.
                try store.append(EventLine(number))
                number += 1
            } catch {
                failure = error
            }
            return true
        }
        #expect(failure == nil)
        #expect(number == 5_000 + 10 + 1)
        #expect(files.mostOpenFiles <= 5)
        #expect(try store.drain() == texts(0..<number))
    }

    /// 9,500 events each second, a drive that takes 10 ms for each file, and a task that doesn't get its turn.
    @Test("with .interval, appends wait for a slow drive before many files are unsynchronized")
    func appendsWaitForSlowDrive() throws {
        files.becomeSlow(by: .milliseconds(10), on: time)
        let store = try TestedStore.opened(
            JSONLStore(
                at: directory.path, durability: .interval(milliseconds: 100), capacity: 1 << 30, files: files),
            in: VirtualTime().environment)
        for number in 0..<30_000 {
            // Segments of 100 events, as with a transport that takes as many.
            if number == 0 { _ = try store.nextBatch(events: 100) }
            time.advance(by: .microseconds(105))
            try store.append(EventLine(number))
        }
        let (mostFiles, longest) = files.unsynchronized
        #expect(mostFiles == 18, "16 closed files, one more, and the open one")
        #expect(longest < .milliseconds(1_300))
        #expect(store.notes.isEmpty)
        #expect(store.store.backlog.events == 30_000)
    }

    @Test("with .interval, files that can't be synchronized now don't make each append wait")
    func stuckFilesDoNotStopAppends() throws {
        let store = try opened(.interval(milliseconds: 10_000))
        _ = try store.nextBatch(events: 20)
        files.fail(.synchronize, with: .noMemory)
        for number in 0..<2_000 { try store.append(EventLine(number)) }
        #expect((1..<10).contains(store.notes.count))
        files.heal()
        for number in 2_000..<2_500 { try store.append(EventLine(number)) }
        let before = files.calls(.synchronize)
        try store.store.synchronize()
        #expect(files.calls(.synchronize) < before + 30)
        #expect(try store.drain() == texts(0..<2_500))
    }

    @Test("with .interval, a diagnostic that appends doesn't wait for itself", .timeLimit(.minutes(1)))
    func appendInNoteDoesNotWait() throws {
        let store = JSONLStore(at: directory.path, durability: .interval(milliseconds: 10_000), files: files)
        let appended = Locked(0)
        let observer = StoreObserver(onNote: { [weak store] _ in
            do {
                for number in 0..<500 { try store?.append(EventLine(number)) }
                appended.withLock { $0 += 1 }
            } catch {
                Issue.record(error)
            }
        })
        try store.open(observer, in: time.environment)
        _ = try store.nextBatch(BatchSize(events: 20, bytes: .max))
        files.fail(.synchronize, with: .noMemory, times: 1)
        for number in 0..<400 { try store.append(EventLine(number)) }
        #expect(appended.withLock(\.self) == 1)
    }

    private func passInterval() async throws {
        await until { time.deadlines.count == 1 }
        time.advance(by: .milliseconds(10))
    }

    /// The store's own directory, the root and its parents, which may be new.
    private var directories: Int { 2 + FilePath.ancestors(of: directory.path).count }

    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }
}
