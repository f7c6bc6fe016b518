package import Foundation
import Sluice

extension TemporaryDirectory {
    private static let system = SystemFileSystem()

    package var url: URL { URL(filePath: path) }

    package func read(_ name: String) throws -> [UInt8] {
        try OpenFile("\(path)/\(name)", [], in: Self.system).read(upTo: 1 << 24)
    }

    /// Replaces the contents of a file. Creates it if it is missing, and the directories above it.
    package func write(_ bytes: [UInt8], to name: String) throws {
        try Self.system.makeDirectories(FilePath.parent(of: "\(path)/\(name)"))
        let file = try OpenFile("\(path)/\(name)", [.write, .create], in: Self.system)
        try file.truncate(to: 0)
        try file.write(bytes[...])
    }

    /// Creates a directory in place of a file. Reading it as a file fails, even for root.
    package func makeDirectory(_ name: String) throws {
        try Self.system.makeDirectory("\(path)/\(name)", mode: 0o700)
    }

    /// Replaces the directory by a file. Writing below it fails, even for root.
    package func block() throws {
        for name in names { remove(name) }
        try Self.system.removeDirectory(path)
        try StateFile(path: path).write([])
    }

    package func unblock() throws {
        try Self.system.removeFile(path)
        try Self.system.makeDirectory(path, mode: 0o700)
    }
}
