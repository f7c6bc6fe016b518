import Sluice
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Changes to the directory and the process by others while the store is open.
struct DeletionTests {
    private let directory = TemporaryDirectory()
    private let time = VirtualTime()
    private var root: String { "\(directory.path)/root" }

    @Test("a deleted directory is noticed by the first append after a millisecond, counted, and created again")
    func deletedDirectoryIsNoticed() throws {
        let store = try TestedStore.opened(JSONLStore(at: root), in: time.environment)
        for number in 0..<600 { try store.append(EventLine(number)) }
        for number in 600..<610 { try store.append(EventLine(number, .critical)) }
        directory.remove("root")
        time.advance(by: .microseconds(999))
        try store.append(EventLine(610))
        #expect(store.dropped == [:])
        time.advance(by: .microseconds(1))
        try store.append(EventLine(1_000))
        #expect(store.dropped == [.vanished: 611])
        #expect(store.notes.count == 1)
        store.expectConservation()
        for number in 1_001..<1_010 { try store.append(EventLine(number)) }
        #expect(try store.drain() == texts(1_000..<1_010))
    }

    #if os(Linux)
        @Test(
            "a host that has closed our files keeps its own under their numbers, and loses no event after a millisecond",
            arguments: [JSONLStore.Durability.process, .full, .interval(milliseconds: 100)])
        func replacedDescriptorsAreNotUsed(durability: JSONLStore.Durability) throws {
            let store = try TestedStore.opened(
                JSONLStore(at: root, durability: durability), in: time.environment)
            func reject(_ number: Int) throws {
                try store.append(EventLine(number))
                try store.rejectFirst()
            }
            try reject(100)  // The file of dead letters stays open.
            try store.append(EventLine(1, .critical))
            try store.append(EventLine(0))
            // As if the host had closed them, and had opened files of its own.
            let numbers = try SystemFileSystem().list("/proc/self/fd").compactMap { CInt($0) }.filter { number in
                var bytes = [CChar](repeating: 0, count: 4_096)
                let count = readlink("/proc/self/fd/\(number)", &bytes, bytes.count)
                return count > 0 && String(decoding: bytes[..<count].map(UInt8.init), as: UTF8.self).hasPrefix(root)
            }
            try #require(numbers.count >= 4)
            for number in numbers {
                let own = open("\(directory.path)/own-\(number)", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
                try #require(own > 0 && write(own, "own\n", 4) == 4 && dup2(own, number) == number)
                close(own)
            }
            defer { for number in numbers { close(number) } }
            time.advance(by: .milliseconds(1))
            for number in 2..<100 { try store.append(EventLine(number)) }
            #expect(store.dropped.isEmpty && store.notes.count == 1)
            #expect(try store.drain() == texts([1], .critical) + texts([0]) + texts(2..<100))
            try reject(101)
            store.store.close()
            #expect(try numbers.allSatisfy { try directory.read("own-\($0)") == Array("own\n".utf8) })
            for number in numbers {
                var (held, named) = (stat(), stat())
                #expect(fstat(number, &held) == 0 && stat("\(directory.path)/own-\(number)", &named) == 0)
                #expect(held.st_ino == named.st_ino)
            }
            let next = try TestedStore.opened(JSONLStore(at: root), in: time.environment)
            #expect(try next.drain() == [])
            #expect(try next.letters().map(\.line.text) == texts([100, 101]))
        }
    #endif

    @Test(
        "events in a directory that others move are kept, with and without later ones",
        arguments: [0, 5, 700], [JSONLStore.Durability.process, .full, .buffered])
    func movedDirectory(later: Int, durability: JSONLStore.Durability) throws {
        for isReplaced in [false, true] {
            let store = try TestedStore.opened(JSONLStore(at: root, durability: durability), in: time.environment)
            // The file of the first batch is used again where the file system allows it.
            for number in 0..<30 { try store.append(EventLine(number)) }
            #expect(try store.drain().count == 30)
            for number in 0..<5 { try store.append(EventLine(number)) }
            try store.store.synchronize { true }
            try directory.rename("root", to: "moved")
            if isReplaced { try SystemFileSystem().makeDirectory(root, mode: 0o700) }
            time.advance(by: .milliseconds(1))
            for number in 0..<later { try store.append(EventLine(5 + number)) }
            #expect(try store.drain() == texts(0..<5 + later))
            #expect(store.dropped.isEmpty && store.notes.count == 1)
            store.store.close()
            for name in ["moved", "root"] { directory.remove(name) }
        }
    }

    @Test("a batch that was read before its file was deleted is delivered and not counted as lost")
    func batchReadBeforeDeletionIsDelivered() throws {
        let store = try TestedStore.opened(JSONLStore(at: root), in: time.environment)
        let batch = try store.batch([EventLine(0)])
        directory.remove("root")
        try store.append(EventLine(1))
        #expect(store.dropped.isEmpty)
        try store.settle(batch)
        #expect(try store.drain() == texts([1]))
    }

    @Test("single files that were deleted are counted when they would be read")
    func deletedFilesAreCounted() throws {
        let store = try TestedStore.opened(JSONLStore(at: root), in: time.environment)
        for number in 0..<1_000 { try store.append(EventLine(number)) }
        try SystemFileSystem().removeFile("\(directory.path)/\(try directory.segments()[0])")
        #expect(try store.drain() == texts(500..<1_000))
        #expect(store.dropped == [.vanished: 500])
    }

    @Test("files of an earlier process that were deleted unread are not counted")
    func deletedUnreadFilesAreNotCounted() throws {
        let earlier = try TestedStore.opened(JSONLStore(at: root), in: time.environment)
        try earlier.append(EventLine(0))
        earlier.store.close()
        let store = try TestedStore.opened(JSONLStore(at: root), in: time.environment)
        directory.remove("root")
        #expect(try store.nextBatch() == nil)
        #expect(store.dropped.isEmpty)
        #expect(store.store.backlog.isEmpty)
    }

    @Test("a replacement of the deleted directory is checked as at opening")
    func replacementOfDirectoryIsChecked() throws {
        let store = try TestedStore.opened(JSONLStore(at: root), in: time.environment)
        try store.append(EventLine(0))
        directory.remove("root")
        try SystemFileSystem().makeDirectory("\(directory.path)/elsewhere", mode: 0o700)
        symlink("\(directory.path)/elsewhere", root)
        time.advance(by: .milliseconds(1))
        #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        #expect(try SystemFileSystem().list("\(directory.path)/elsewhere").isEmpty)
        store.expectConservation()
    }
}
