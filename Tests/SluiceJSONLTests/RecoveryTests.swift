import Sluice
import SluiceLibC
import TestSupport
import Testing

@testable import SluiceJSONL

struct RecoveryTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem(reusesFiles: true)

    @Test("a file is never written to by a later process")
    func filesAreNeverReopened() throws {
        try directory.leave([EventLine(0)])
        let before = try directory.segments()
        let content = try directory.read(before[0])
        let store = try opened()
        try store.append(EventLine(1))
        #expect(try directory.segments().count == 2)
        #expect(try directory.read(before[0]) == content)
    }

    @Test("opening reads directories and their locks, and no events")
    func openingReadsNoEvents() throws {
        try directory.leave((0..<2_000).map { EventLine($0) })
        let store = try opened()
        #expect(files.calls(.read) == 1)
        #expect(files.calls(.list) == 2)
        #expect(store.unreadBytes > 100_000)
    }

    @Test("of many stores at the same time, exactly one adopts each event of the ended processes")
    func eachDirectoryIsAdoptedOnce() async throws {
        try directory.leaveSideBySide((0..<6).map { group in (0..<20).map { EventLine(group * 20 + $0) } })
        let path = directory.path
        let received = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let store = try TestedStore.opened(JSONLStore(at: path))
                    defer { store.store.close() }
                    return try store.drain()
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(received.sorted() == texts(0..<120).sorted())
        #expect(try directory.segments().isEmpty)
    }

    @Test("a lock whose file was just replaced does not count as the directory's lock")
    func replacedLockDoesNotCount() throws {
        try directory.leave([EventLine(0)])
        let root = directory.path
        let other = Locked<OpenFile?>(nil)
        // After the lock of the directory.
        files.beforeLock(skipping: 1) {
            do {
                let system = SystemFileSystem()
                let lock = "\(root)/\(try system.list(root)[0])/lock"
                try system.removeFile(lock)
                let file = try OpenFile(lock, [.write, .create], in: system)
                #expect(try file.lock())
                other.withLock { $0 = file }
            } catch {
                Issue.record(error)
            }
        }
        let store = try opened()
        #expect(store.store.backlog.isEmpty)
        #expect(try SystemFileSystem().list(root).count == 2)
        #expect(try store.drain().isEmpty)
        other.withLock { $0 = nil }
        #expect(try store.drain() == texts([0]))
    }

    @Test("segments that are adopted later take their place by age")
    func adoptedSegmentsTakeTheirPlace() throws {
        let first = try opened()
        let second = try opened()
        try first.append(EventLine(0))
        try second.append(EventLine(1))
        _ = try second.drain()
        try second.append(EventLine(2))
        _ = try #require(try second.nextBatch())
        first.store.close()
        _ = try #require(try second.nextBatch())
        #expect(try reopened(second).drain() == texts([0, 2]))
    }

    @Test("a store that has delivered its last event looks for more before it reports that it is empty")
    func looksForMoreAfterLastBatch() throws {
        let first = try opened()
        try first.append(EventLine(1))
        let second = try opened()
        let batch = try second.batch([EventLine(2)])
        first.store.close()
        try second.settle(batch)
        #expect(!second.store.backlog.isEmpty)
        #expect(try second.drain() == texts([1]))
    }

    @Test("directories that exceed the capacity wait until there is room, and are not evicted")
    func largeDirectoriesWaitForRoom() throws {
        try directory.leaveSideBySide(
            (0..<3).map { group in (0..<50).map { EventLine(group * 50 + $0, padding: 1_000) } })
        let store = try opened(capacity: 80_000)
        #expect(store.unreadBytes < 80_000)
        #expect(try store.drain().sorted() == texts(0..<150, padding: 1_000).sorted())
        #expect(store.dropped.isEmpty)
    }

    @Test("a living process keeps its directory, although someone has removed its lock file")
    func livingProcessKeepsDirectoryWithoutLockFile() throws {
        let first = try opened()
        for number in 0..<400 { try first.append(EventLine(number)) }
        let name = try #require(directory.names.first)
        try SystemFileSystem().removeFile("\(directory.path)/\(name)/lock")
        let second = try opened()
        #expect(try second.drain().isEmpty)
        try first.append(EventLine(400))
        #expect(try second.drain().isEmpty)
        #expect(try first.drain() == texts(0...400))
        #expect(first.dropped.isEmpty)
        first.store.close()
        second.store.close()
        #expect(directory.names.isEmpty)
    }

    @Test("a planted segment with the highest sequence number strands no later event")
    func highestSequenceStrandsNothing() throws {
        try directory.leave([EventLine(0)])
        let name = try directory.segments()[0]
        let home = FilePath.parent(of: name)
        let created = try #require(name.split(separator: "-").last)
        for number in ["3ffffffffffffffe", "7fffffffffffffff"] {
            try directory.write(try directory.read(name), to: "\(home)/normal-\(number)-\(created)")
        }
        try directory.leave([EventLine(1)])
        try directory.leave([EventLine(2)])
        let store = try opened()
        #expect(try store.drain().filter { $0 != EventLine(0).text } == texts([1, 2]))
        #expect(store.notes.isEmpty)
    }

    @Test("a directory that is a symbolic link or belongs to another user is left alone", arguments: ["link", "owner"])
    func foreignDirectoryIsLeftAlone(kind: String) throws {
        let other = TemporaryDirectory()
        try other.leave([EventLine(0)])
        let name = try #require(try SystemFileSystem().list(other.path).first)
        if kind == "link" {
            symlink("\(other.path)/\(name)", "\(directory.path)/\(name)")
        } else {
            try SystemFileSystem().rename("\(other.path)/\(name)", to: "\(directory.path)/\(name)")
            // Only root can change the owner.
            guard chown("\(directory.path)/\(name)", 1, 1) == 0 else { return }
        }
        let store = try opened()
        #expect(try store.drain().isEmpty)
        #expect(store.notes.count == 1)
    }

    @Test(
        "an unusable or missing entry doesn't keep events from being delivered",
        arguments: [
            ("rejected", "file"), ("rejected", "fifo"), ("rejected", "link"), ("rejected", "giant"), ("lock", "fifo"),
            ("lock", "link"), ("lock", "directory"), ("lock", "full directory"), ("lock", "missing"),
        ])
    func unusableEntryStrandsNoEvents(name: String, kind: String) throws {
        try directory.leave([EventLine(0)])
        let home = try #require(directory.names.first)
        let path = "\(directory.path)/\(home)/\(name)"
        if name == "lock" { try SystemFileSystem().removeFile(path) }
        switch kind {
        case "missing": break
        case "file": try directory.write([1], to: "\(home)/\(name)")
        case "fifo": try #require(mkfifo(path, 0o600) == 0)
        case "link": try #require(symlink(directory.path, path) == 0)
        case "directory": try SystemFileSystem().makeDirectory(path, mode: 0o700)
        case "full directory": try directory.write([1], to: "\(home)/\(name)/file")
        default:
            try SystemFileSystem().makeDirectory(path, mode: 0o700)
            let letters = try OpenFile(
                path + "/0000000000000009.jsonl", [.write, .create], in: SystemFileSystem())
            try letters.truncate(to: 1 << 40)
        }
        let store = try opened()
        #expect(try store.drain() == texts([0]))
        #expect(store.notes.count == (kind == "missing" ? 0 : 1))
        // Dead letters need a directory of their own, in which they can be kept.
        try store.append(EventLine(1))
        try store.rejectFirst()
        let next = try reopened(store)
        #expect(try next.drain() == [])
        #expect(try next.letters().map(\.line.text) == texts([1]))
        if kind == "link" { #expect(try !SystemFileSystem().list(directory.path).contains { $0.hasSuffix(".jsonl") }) }
    }

    @Test(
        "a directory of another program with a store's name is left alone, and reported",
        arguments: ["data.db", "status.json", "normal-0000000000000000-5.jsonl.new"])
    func otherProgramsDirectoryIsLeftAlone(file: String) throws {
        let name = "\(EventID.random { 1 })"
        try directory.write([1], to: "\(name)/\(file)")
        let store = try opened()
        try store.append(EventLine(0))
        #expect(try store.drain() == texts([0]))
        store.store.close()
        #expect(store.notes.count == 1)
        #expect(directory.names == [name])
        #expect(try SystemFileSystem().list("\(directory.path)/\(name)") == [file])
    }

    @Test("files that are foreign or of a later version are left alone and reported once")
    func foreignFilesAreReportedOnce() throws {
        try directory.leave([EventLine(0)])
        let home = try #require(directory.names.first)
        let names = [
            "notes.txt", "\(home)/normal-0000000000000000-5.v2.jsonl", "\(home)/urgent-0000000000000000-5.jsonl",
            "\(home)/x",
        ]
        for name in names { try directory.write([1, 2, 3], to: name) }
        let store = try opened()
        #expect(try store.drain() == texts([0]))
        #expect(store.notes.count == 1)
        #expect(store.notes.first?.contains("4") == true)
        store.store.close()
        #expect(try directory.files() == names.sorted())
        store.expectConservation()
    }
}
