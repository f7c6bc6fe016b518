import SluiceLibC

/// A new directory for one test. It is removed with its contents when the object is released.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Creates it. Without a directory in /tmp, no test can run, so the process ends.
    package init() {
        var template = Array("/tmp/sluice-XXXXXX".utf8CString)
        let path = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let path else { fatalError("no directory can be created in /tmp: errno \(errno)") }
        self.path = path
    }

    deinit {
        TemporaryDirectory.removeTree(path)
    }

    /// The sorted names of the files and directories in it.
    package var names: [String] { TemporaryDirectory.names(in: path).sorted() }

    /// Removes a file or a directory in it, with its contents.
    package func remove(_ name: String) {
        TemporaryDirectory.removeTree("\(path)/\(name)")
    }

    /// Doesn't follow symbolic links. A file that can't be removed stays in /tmp, where no other test finds it.
    private static func removeTree(_ path: String) {
        if Self.removeOne(path) { return }
        chmod(path, 0o700)
        for name in names(in: path) { removeTree("\(path)/\(name)") }
        _ = Self.removeOne(path)
    }

    private static func removeOne(_ path: String) -> Bool { unlink(path) == 0 || rmdir(path) == 0 }

    private static func names(in path: String) -> [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
                    String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
