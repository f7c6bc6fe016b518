import SluiceEvents

extension FileSystem {
    /// Makes a directory and its missing parents, each with permissions 0700.
    package func makeDirectories(_ path: String) throws(FileError) {
        let parent = FilePath.parent(of: path)
        var failure = FileError.of(try makeDirectory(path, mode: 0o700))
        if failure == .noSuchFile, parent != path {
            try makeDirectories(parent)
            failure = FileError.of(try makeDirectory(path, mode: 0o700))
        }
        if let failure, failure != .exists { throw failure }
    }

    /// The status of a path; nil if nothing is there.
    package func statusIfPresent(of path: String) throws(FileError) -> FileStatus? {
        do throws(FileError) {
            return try status(of: path)
        } catch {
            guard error == .noSuchFile else { throw error }
            return nil
        }
    }

    /// Replaces a file as a whole. If this throws, the old bytes are still there.
    package func replaceFile(
        _ path: String, by bytes: [UInt8], through temporary: String
    ) throws(FileError) {
        let file = try makeFile(temporary) { file throws(FileError) in try file.write(bytes[...]) }
        defer { withExtendedLifetime(file) {} }
        do throws(FileError) {
            try rename(temporary, to: path)
        } catch {
            discardFile(temporary)
            throw error
        }
    }

    /// Makes a file, whose bytes then survive a loss of power, and returns it open, with a lock by which others see that it isn't
    /// abandoned. If this throws, no file is left.
    package func makeFile(
        _ path: String, mode: UInt32 = 0o600, attempts: Int = 8, _ write: (OpenFile) throws(FileError) -> Void
    ) throws(FileError) -> OpenFile {
        // An earlier process may have left it.
        discardFile(path)
        do throws(FileError) {
            let file = try OpenFile(path, [.write, .create, .exclusive], mode: mode, in: self)
            guard file.tryLock() else { throw .exists }
            try write(file)
            try file.synchronize()
            return file
        } catch {
            discardFile(path)
            // Before it is locked, another process can take it for an abandoned one.
            guard error == .exists, attempts > 1 else { throw error }
            return try makeFile(path, mode: mode, attempts: attempts - 1, write)
        }
    }

    /// Removes a file from ``makeFile(_:mode:attempts:_:)`` if the process that has made it was killed. If this fails, the file is
    /// gone, or not this user's.
    package func discardAbandonedFile(_ path: String) {
        let file = attempt(try OpenFile(path, .write, in: self), or: nil)
        if let file, attempt(try file.lock(), or: false) { discardFile(path) }
    }

    /// Removes a file if possible. Use it for files that do no harm if they stay.
    package func discardFile(_ path: String) { _ = FileError.of(try removeFile(path)) }

    /// Removes a directory if it is empty and can be removed.
    package func discardDirectory(_ path: String) { _ = FileError.of(try removeDirectory(path)) }

    /// Makes creations, renames and removals in a directory survive a loss of power. Follows a symbolic link.
    ///
    /// It does nothing if the file system can't synchronize directories, as CIFS and some FUSE drives can't.
    package func synchronizeDirectory(_ path: String) throws(FileError) {
        let directory = try OpenFile("\(path)/.", .directory, in: self)
        let failure = FileError.of(try directory.synchronize())
        if let failure, failure != .invalidArgument, failure != .notSupported { throw failure }
    }
}
