import Sluice
import SluiceLibC
import TestSupport
import Testing

@testable import SluiceJSONL

struct OpeningTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()

    private func expectUnavailable(
        _ path: String, says advice: String, _ location: SourceLocation = #_sourceLocation
    ) {
        expectError(.storageUnavailable, says: advice, location) { try JSONLStore(at: path, files: files).open() }
    }

    /// Its files would seem to be missing, or an empty one would be removed.
    @Test("a directory that is replaced while a store reads it is not listed", arguments: [0, 10])
    func replacedDirectoryIsNotListed(size: Int) throws {
        let files = SystemFileSystem()
        let (path, moved) = ("\(directory.path)/instance", "\(directory.path)/moved")
        let name = SegmentName(.normal, sequence: 1, created: Timestamp(milliseconds: 1)).text
        try files.makeDirectory(path, mode: 0o700)
        let claimed = try #require(try InstanceDirectory(claiming: path, files: files))
        try files.rename(path, to: moved)
        try files.makeDirectory(path, mode: 0o700)
        try directory.write(Array(repeating: 65, count: size), to: "moved/\(name)")
        try directory.write(Array(repeating: 65, count: 10), to: "instance/\(name)")
        #expect(throws: FileError.badDescriptor) { try claimed.listing(largest: 100) }
        #expect(try directory.read("instance/\(name)").count == 10)
    }

    @Test("a file, a symbolic link, and a directory of others or for everyone are refused, and named")
    func unsafePlaceIsRefused() throws {
        try directory.write([], to: "file")
        try directory.makeDirectory("target")
        symlink("\(directory.path)/target", "\(directory.path)/link")
        expectUnavailable("\(directory.path)/file", says: "is a file")
        expectUnavailable("\(directory.path)/file/below", says: "file among its parents")
        expectUnavailable("\(directory.path)/link", says: "symbolic link")
        expectUnavailable("\(directory.path)/link/", says: "symbolic link")
        #expect(try SystemFileSystem().list("\(directory.path)/target").isEmpty)
        chmod(directory.path, 0o777)
        expectUnavailable(directory.path, says: "chmod 700")
        chmod(directory.path, 0o700)
        files.pretend(userID: SystemFileSystem().userID + 1)
        expectUnavailable(directory.path, says: "belongs to user")
    }

    @Test("an invalid path is refused, with the reason, also by a tool", arguments: flawedPaths)
    func invalidPathIsRefused(path: String, reason: String) {
        expectError(.invalidArgument, says: reason) { try JSONLStore(at: path, files: files).open() }
        expectError(.invalidArgument, says: reason) { try JSONLStore.erase(at: path) { _ in true } }
        expectError(.invalidArgument, says: reason) { try JSONLStore.export(at: path) { _ in true } }
    }

    @Test("a store accepts events from its only opening to its close, and its errors say what to do")
    func secondOpeningIsRefused() throws {
        let store = TestedStore(JSONLStore(at: directory.path, files: files))
        #expect(throws: SluiceError.self) { try store.append(EventLine(0)) }
        store.store.close()
        try store.open()
        expectError(.invalidPipeline, says: "in use by another") { try store.open() }
        store.store.close()
        expectError(.invalidPipeline, says: "create a new one") { try store.open() }
        #expect(throws: SluiceError.self) { try store.nextBatch() }
    }

    @Test(
        "a directory that cannot be written to is refused, used before or not",
        arguments: [
            (FileError.accessDenied, "chmod"), (.notPermitted, "chmod"), (.readOnly, "read-only"),
        ], [true, false])
    func unwritableDirectoryIsRefused(fault: (error: FileError, advice: String), isUsed: Bool) throws {
        if isUsed { try directory.leave([EventLine(0)]) }
        files.failChanges(with: fault.error)
        expectUnavailable(directory.path, says: fault.advice)
        files.heal()
        let store = try opened()
        #expect(try store.drain().count == (isUsed ? 1 : 0))
    }

    @Test(
        "limits that allow no event, and an age or an interval that is not positive, are refused",
        arguments: [
            (0, 1_000, .process, .seconds(1)), (-1, 1_000, .process, .seconds(1)), (1_000, 0, .process, .seconds(1)),
            (1_000, -1, .process, .seconds(1)), (1_000, 1_000, .process, .zero), (1_000, 1_000, .process, .seconds(-1)),
            (1_000, 1_000, .process, .seconds(Int64.min)), (1_000, 1_000, .interval(milliseconds: 0), .seconds(1)),
            (1_000, 1_000, .interval(milliseconds: .min), .seconds(1)),
        ] as [(capacity: Int, event: Int, JSONLStore.Durability, age: Duration)])
    func impossibleLimitsAreRefused(capacity: Int, event: Int, durability: JSONLStore.Durability, age: Duration) throws
    {
        expectError(.invalidArgument) {
            try JSONLStore(
                at: directory.path, durability: durability, capacity: capacity, maximumAge: age,
                maximumEventBytes: event, files: files
            ).open()
        }
        #expect(directory.names.isEmpty)
    }

    @Test("a store opens on a full disk: stored events can be delivered", arguments: [true, false])
    func opensOnFullDisk(isUsed: Bool) throws {
        if isUsed { try directory.leave([EventLine(0)]) }
        files.failChanges(with: .noSpace)
        let store = try opened()
        #expect(store.notes.count == 1)
        #expect(throws: SluiceError.self) { try store.append(EventLine(1)) }
        if isUsed { #expect(try store.drain() == texts([0])) }
        files.heal()
        try store.append(EventLine(2))
        #expect(try store.drain() == texts([2]))
    }

    @Test("a disk that stays full collects no directories")
    func fullDiskCollectsNoDirectories() throws {
        files.fail(.create, with: .noSpace)
        let store = try opened()
        for number in 0..<10 { #expect(throws: SluiceError.self) { try store.append(EventLine(number)) } }
        #expect(directory.names.isEmpty)
    }

    @Test("after a failed opening the same store can be opened")
    func canBeOpenedAfterFailure() throws {
        try directory.leave([EventLine(0)])
        let store = TestedStore(JSONLStore(at: directory.path, files: files))
        files.fail(.list, with: .inputOutput)
        #expect(throws: SluiceError.self) { try store.open() }
        files.heal()
        try store.open()
        #expect(try store.drain() == texts([0]))
    }

    @Test("a relative path leads to a directory below the working directory")
    func relativePathIsResolved() throws {
        let before = try SystemFileSystem().currentDirectory()
        let name = String(directory.path.dropFirst("/tmp/".count))
        // The working directory is the whole process's: from the root, no other test can notice.
        let root = FilePath.parent(of: directory.path)
        let up = String(repeating: "../", count: before.split(separator: "/").count)
        let store = try TestedStore.opened(JSONLStore(at: "\(up)\(root.dropFirst())/\(name)"))
        try store.append(EventLine(0))
        #expect(try directory.segments().count == 1)
    }
}

extension FaultyFileSystem {
    /// Everything that changes a directory or a file fails, as on a read-only or a full file system.
    func failChanges(with error: FileError) {
        fail(.create, with: error)
        for operation in [Operation.write, .removeFile, .makeDirectory, .rename]
        where error != .noSpace || operation != .removeFile {
            fail(operation, with: error)
        }
    }
}
