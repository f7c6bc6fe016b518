import SluiceFiles

/// A directory of its own for one test, removed with everything in it at the end.
final class TemporaryDirectory: Sendable {
    let path: String
    private static let files = SystemFileSystem()

    init() throws {
        path = "/tmp/sluice-plugins-\(UInt64.random(in: 0 ... .max))"
        try TemporaryDirectory.files.makeDirectory(path, mode: 0o700)
    }

    deinit {
        do {
            try removeTree(path)
        } catch {
            // It stays in /tmp; no other test can meet it.
        }
    }

    var names: [String] {
        get throws { try TemporaryDirectory.files.list(path).sorted() }
    }

    func read(_ name: String) throws -> [UInt8]? {
        try StateFile(path: "\(path)/\(name)").read()
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try StateFile(path: "\(path)/\(name)").write(bytes)
    }

    /// A directory where a file should be: nobody can read it as one, not even root.
    func makeDirectory(_ name: String) throws {
        try TemporaryDirectory.files.makeDirectory("\(path)/\(name)", mode: 0o700)
    }

    func remove(_ name: String) throws {
        try removeTree("\(path)/\(name)")
    }

    /// A file where a directory should be: nobody can write below it, not even root.
    func block() throws {
        try removeTree(path)
        try StateFile(path: path).write([])
    }

    func unblock() throws {
        try removeTree(path)
        try TemporaryDirectory.files.makeDirectory(path, mode: 0o700)
    }

    private func removeTree(_ path: String) throws {
        guard try TemporaryDirectory.files.status(of: path).kind == .directory else {
            return try TemporaryDirectory.files.removeFile(path)
        }
        for name in try TemporaryDirectory.files.list(path) { try removeTree("\(path)/\(name)") }
        try TemporaryDirectory.files.removeDirectory(path)
    }
}
