import Foundation

/// A new folder for one test. It is removed with its contents when the object is released.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "sluice-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // A folder that can't be removed stays where the system looks for old files.
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }
}
