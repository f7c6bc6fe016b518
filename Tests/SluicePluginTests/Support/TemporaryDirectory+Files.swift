import Sluice
import SluiceTesting

extension TemporaryDirectory {
    private static let files = SystemFileSystem()

    func read(_ name: String) throws -> [UInt8]? {
        try StateFile(path: "\(path)/\(name)").read()
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try StateFile(path: "\(path)/\(name)").write(bytes)
    }

    /// Creates a directory in place of a file, which nobody can read as a file, not even root.
    func makeDirectory(_ name: String) throws {
        try Self.files.makeDirectory("\(path)/\(name)", mode: 0o700)
    }

    /// Replaces the directory by a file. Nobody can write below it, not even root.
    func block() throws {
        for name in names { remove(name) }
        try Self.files.removeDirectory(path)
        try StateFile(path: path).write([])
    }

    func unblock() throws {
        try Self.files.removeFile(path)
        try Self.files.makeDirectory(path, mode: 0o700)
    }
}
