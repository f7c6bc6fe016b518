import SluiceFiles

/// A directory of its own for one test, removed with everything in it at the end.
final class TemporaryDirectory: Sendable {
    let path: String
    private static let files = SystemFileSystem()

    init() throws {
        path = "/tmp/sluice-\(UInt64.random(in: 0 ... .max))"
        try TemporaryDirectory.files.makeDirectory(path, mode: 0o700)
    }

    deinit {
        do {
            try TemporaryDirectory.remove(path)
        } catch {
            // A directory without permissions stays in /tmp. No other test uses it.
        }
    }

    static func remove(_ path: String) throws {
        guard try files.status(of: path).kind == .directory else { return try files.removeFile(path) }
        for name in try files.list(path) { try remove("\(path)/\(name)") }
        try files.removeDirectory(path)
    }
}
