import Sluice
import SluiceFiles
import SluiceTesting
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

struct StateFileTests {
    private let directory: TemporaryDirectory
    private let files = SystemFileSystem()

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("the last write is read back")
    func lastWriteIsReadBack() throws {
        let file = StateFile(path: "\(directory.path)/state")
        #expect(try file.read() == nil)
        try file.write([1, 2, 3])
        #expect(try file.read() == [1, 2, 3])
        try file.write([])
        #expect(try file.read() == [])
        #expect(try files.list(directory.path) == ["state"])
    }

    @Test("only its owner can access the file and its directories")
    func fileIsForItsOwnerAlone() throws {
        let file = StateFile(path: "\(directory.path)/a/b/state")
        try file.write([1])
        #expect(try files.status(of: "\(directory.path)/a").mode == 0o700)
        #expect(try files.status(of: "\(directory.path)/a/b").mode == 0o700)
        #expect(try files.status(of: "\(directory.path)/a/b/state").mode == 0o600)
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
            ("", "is empty"), ("a\u{0}b", "has a NUL"), ("~/state", "not expanded"), ("file:///tmp/state", "is a URL"),
            ("/dev/null/state", "another path"), ("/dev/zero", "another path"),
        ])
    func unusablePathIsAnError(path: String, advice: String) {
        let file = StateFile(path: path)
        let error = #expect(throws: SluiceError.self) { try file.write([1]) }
        #expect(error?.code == .storageUnavailable)
        #expect(error?.message.contains(advice) == true)
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

    @Test("short writes are continued")
    func shortWritesAreContinued() throws {
        let faulty = FaultyFileSystem()
        faulty.limitWrites(to: 3)
        let file = StateFile(path: "\(directory.path)/state", fileSystem: faulty)
        let bytes = Array(UInt8(0)...200)
        try file.write(bytes)
        #expect(try file.read() == bytes)
    }
}
