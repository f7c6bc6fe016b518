package import SluiceEvents

/// A small file that is replaced as a whole: after a crash or a loss of power it holds the old bytes or the new ones,
/// never a mixture.
///
/// Only its owner can read it (0600); missing directories above it are created (0700). A symbolic link in its place is
/// refused. You can use it from any thread; if several write at the same time, the last one wins.
package struct StateFile: Sendable {
    /// Far more than any state takes.
    private static let maximumBytes = 16 * 1_024 * 1_024
    /// Numbers the temporary files of this process.
    private static let writes = Locked<UInt64>(0)
    /// With a pause of a millisecond each, 5 s: far longer than any change takes.
    private static let maximumLockAttempts = 5_000

    package let path: String
    private let fileSystem: any FileSystem
    private let pause: @Sendable () -> Void

    /// Creates a file. `pause` waits for a millisecond, between two attempts to take the lock.
    package init(
        path: String, fileSystem: any FileSystem = SystemFileSystem(),
        pause: @escaping @Sendable () -> Void = SystemFileSystem.pause
    ) {
        self.path = path
        self.fileSystem = fileSystem
        self.pause = pause
    }

    /// A file in a directory.
    package init(_ name: String, in directory: String) { self.init(path: "\(directory)/\(name)") }

    /// The bytes that were written last; nil if there is no such file. By default, it removes the temporary files of
    /// processes that were killed during a write.
    package func read(removingAbandonedFiles: Bool = true) throws(SluiceError) -> [UInt8]? {
        do throws(FileError) {
            if removingAbandonedFiles { discardAbandonedFiles() }
            let file = try OpenFile(path, [], in: fileSystem)
            let status = try file.status()
            guard status.kind == .file else { throw .invalidArgument }
            let bytes = try file.read(upTo: min(status.size, StateFile.maximumBytes) + 1)
            guard bytes.count <= StateFile.maximumBytes else { throw .invalidArgument }
            return bytes
        } catch {
            if error == .noSuchFile { return nil }
            throw failure("cannot be read", error)
        }
    }

    /// Replaces the bytes. If this throws, the old ones are still there. If the directory can't be synchronized, the new
    /// ones are in place, but a loss of power can bring the old ones back.
    package func write(_ bytes: [UInt8]) throws(SluiceError) {
        try SluiceError.require(
            bytes.count <= StateFile.maximumBytes,
            "\(path) would take \(bytes.count) bytes, more than it may have: keep less there")
        do throws(FileError) {
            if let status = try fileSystem.statusIfPresent(of: path), status.kind != .file { throw .tooManyLinks }
            let directory = FilePath.parent(of: path)
            try fileSystem.makeDirectories(directory)
            let temporary = "\(path).\(fileSystem.processID)-\(StateFile.writes.next()).tmp"
            try fileSystem.replaceFile(path, by: bytes, through: temporary)
            // Without its error, because the new bytes are in place: the write must not be reported as failed.
            _ = FileError.of(try fileSystem.synchronizeDirectory(directory))
        } catch {
            throw failure("cannot be written", error)
        }
    }

    /// Takes the lock that processes hold while they read the file, change it and write it: an exclusive `flock` of a file
    /// beside it, whose name ends in `.lock`. The kernel releases the lock of a process that ends.
    ///
    /// It waits up to 5 s while another holder has the lock. It does nothing on a file system without locks.
    ///
    /// - Returns: The lock, which ends with its last reference. Nil if this user may not write there: then it can't change
    ///   the file either.
    package func lock() throws(SluiceError) -> OpenFile? {
        do throws(FileError) {
            try fileSystem.makeDirectories(FilePath.parent(of: path))
            for attempt in 1...StateFile.maximumLockAttempts {
                // Opened each time, because another process may have removed the file.
                let file = try OpenFile("\(path).lock", [.write, .create], in: fileSystem)
                if file.tryLock() { return file }
                if attempt < StateFile.maximumLockAttempts { pause() }
            }
        } catch {
            if [.accessDenied, .notPermitted, .readOnly].contains(error) { return nil }
            throw failure("cannot be locked", error)
        }
        throw SluiceError(
            .storageUnavailable,
            "the file \(path) has been locked by another process for 5 s: try again, and continue a process that is stopped"
        )
    }

    /// Removes the file, and the temporary files of processes that were killed during a write. Does nothing if there is
    /// no such file.
    package func remove() throws(SluiceError) {
        do throws(FileError) {
            discardAbandonedFiles()
            guard try fileSystem.statusIfPresent(of: path) != nil else { return }
            try fileSystem.removeFile(path)
            _ = FileError.of(try fileSystem.synchronizeDirectory(FilePath.parent(of: path)))
        } catch {
            throw failure("cannot be removed", error)
        }
    }

    /// Removes the temporary files that no living process has locked. They may contain ids of users.
    private func discardAbandonedFiles() {
        let directory = FilePath.parent(of: path)
        let prefix = path.dropFirst(directory == "/" ? 1 : directory.count + 1) + "."
        // With the dot, it follows a symbolic link. If it is missing, or can only be searched, reading the file tells.
        let names = attempt(try fileSystem.list("\(directory)/."), or: [])
        for name in names where name.hasPrefix(prefix) && name.hasSuffix(".tmp") {
            let number = name.dropFirst(prefix.count).dropLast(4)
            guard number.contains("-"), number.allSatisfy({ $0 == "-" || $0.isNumber }) else { continue }
            fileSystem.discardAbandonedFile("\(directory)/\(name)")
        }
    }

    private func failure(_ problem: String, _ error: FileError) -> SluiceError {
        let isNoFile = error == .tooManyLinks || error == .invalidArgument
        let advice = isNoFile ? "put a regular file of this user's there, or another path here" : "it \(error.advice)"
        return SluiceError(.storageUnavailable, "the file \(path) \(problem): \(advice)", cause: error)
    }
}
