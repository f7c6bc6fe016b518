import Sluice
import SluiceLibC
import TestSupport
import Testing

struct StateFileTests {
    private let directory = TemporaryDirectory()
    private let files = SystemFileSystem()

    @Test("the last write is read back, and only its owner can access the file and its directories")
    func lastWriteIsReadBack() throws {
        let file = StateFile(path: "\(directory.path)/a/b/state")
        #expect(try file.read() == nil)
        for bytes in [[1, 2, 3], []] as [[UInt8]] {
            try file.write(bytes)
            #expect(try file.read() == bytes)
        }
        #expect(try files.list("\(directory.path)/a/b") == ["state"])
        for (name, mode) in [("a", 0o700), ("a/b", 0o700), ("a/b/state", 0o600)] as [(String, UInt32)] {
            #expect(try files.status(of: "\(directory.path)/\(name)").mode == mode, "\(name)")
        }
    }

    @Test("a symbolic link is neither read nor replaced")
    func symbolicLinkIsRefused() throws {
        try StateFile(path: "\(directory.path)/target").write([1])
        symlink("\(directory.path)/target", "\(directory.path)/link")
        let file = StateFile(path: "\(directory.path)/link")
        #expect(throws: SluiceError.self) { try file.read() }
        #expect(throws: SluiceError.self) { try file.write([2]) }
        #expect(try StateFile(path: "\(directory.path)/target").read() == [1])
    }

    @Test(
        "a path that cannot hold a file is an error with advice",
        arguments: [
            ("/dev/null/state", "a path that consists of directories"), ("/dev/zero", "another path"),
        ])
    func unusablePathIsAnError(path: String, advice: String) {
        let file = StateFile(path: path)
        expectError(.storageUnavailable, says: advice) { try file.write([1]) }
    }

    @Test("a directory of states that means no folder is an invalid argument", arguments: flawedPaths)
    func flawedDirectoryIsRefused(path: String, advice: String) {
        let encryption = LineEncryption(encrypt: { $0 }, decrypt: { $0 })
        for place in Persistence.file(path).backedUp(by: .file(path).encrypted(with: encryption)).places {
            for use in [{ _ = try place.read("item") }, { try place.write("item", [1]) }, { try place.remove("item") }]
            {
                expectError(.invalidArgument, says: advice) { try use() }
            }
        }
    }

    @Test(
        "a folder whose name looks like another path can be used with ./",
        arguments: ["~root", "$HOME", "%a%", "s3:", "a:b"])
    func oddNameIsUsed(name: String) throws {
        let place = Persistence.file("\(directory.path)/./\(name)").places[0]
        try place.write("item", [1])
        #expect(directory.names == [name])
        let path = FilePath.absolute("./\(name)/a", in: SystemFileSystem())
        #expect(throws: Never.self) { try FilePath.require(path, "the path") }
    }

    @Test("a failed write leaves the old contents and no other file")
    func failedWriteChangesNothing() throws {
        try StateFile(path: "\(directory.path)/state").write([1])
        for operation in [FaultyFileSystem.Operation.write, .synchronize, .rename] {
            let faulty = FaultyFileSystem()
            faulty.fail(operation, with: .noSpace)
            let file = StateFile(path: "\(directory.path)/state", fileSystem: faulty)
            #expect(throws: SluiceError.self) { try file.write([2]) }
            #expect(try file.read() == [1])
            #expect(try files.list(directory.path) == ["state"])
        }
    }

    @Test("a write whose bytes are in place succeeds, although its directory can't be synchronized")
    func writeInPlaceSucceeds() throws {
        try files.makeDirectory("\(directory.path)/target", mode: 0o700)
        symlink("\(directory.path)/target", "\(directory.path)/link")
        let linked = StateFile(path: "\(directory.path)/link/state")
        try linked.write([1])
        #expect(try linked.read() == [1])
        let faulty = FaultyFileSystem()
        faulty.fail(.synchronizeDirectory, with: .inputOutput)
        let file = StateFile(path: "\(directory.path)/state", fileSystem: faulty)
        try file.write([2])
        #expect(try file.read() == [2])
    }

    @Test("the temporary files of processes that were killed are removed, and those of living ones are not")
    func abandonedTemporaryFilesAreRemoved() throws {
        let names = ["state.1-1.tmp", "state.2-7.tmp", "state.3-1.tmp"]
        for name in names { try directory.write([1], to: name) }
        for name in ["state.tmp", "state2.1-1.tmp", "state.x.tmp"] { try directory.write([1], to: name) }
        let living = try OpenFile("\(directory.path)/state.3-1.tmp", [.write], in: files)
        #expect(try living.lock())
        let file = StateFile(path: "\(directory.path)/state")
        #expect(try file.read() == nil)
        #expect(directory.names == ["state.3-1.tmp", "state.tmp", "state.x.tmp", "state2.1-1.tmp"])
        try file.write([1])
        #expect(try file.read() == [1])
    }

    @Test("a temporary file that another process takes for an abandoned one is written again")
    func stolenTemporaryFileIsWrittenAgain() throws {
        let faulty = FaultyFileSystem()
        let path = "\(directory.path)/state"
        faulty.beforeLock {
            // Before the new file is locked, another process reads the state, and cleans up.
            do {
                _ = try StateFile(path: path).read()
            } catch {
                Issue.record(error)
            }
        }
        let file = StateFile(path: path, fileSystem: faulty)
        try file.write([1])
        #expect(try file.read() == [1])
        #expect(directory.names == ["state"])
    }
}
