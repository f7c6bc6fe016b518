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
    ///
    /// - Throws: ``FileError/exists`` if another process has taken the temporary file for an abandoned one.
    package func replaceFile(
        _ path: String, by bytes: [UInt8], through temporary: String
    ) throws(FileError) {
        let file = try makeFile(temporary, of: bytes)
        defer { withExtendedLifetime(file) {} }
        do throws(FileError) {
            try rename(temporary, to: path)
        } catch {
            discardFile(temporary)
            throw error
        }
    }

    /// Makes a file, whose bytes then survive a loss of power. If this throws, no file is left.
    ///
    /// - Returns: the open file, with a lock by which others see that it isn't abandoned.
    /// - Throws: ``FileError/exists`` if another process has taken it for an abandoned one before.
    package func makeFile(_ path: String, of bytes: [UInt8]) throws(FileError) -> OpenFile {
        // An earlier process may have left it.
        discardFile(path)
        do throws(FileError) {
            let file = try OpenFile(path, [.write, .create, .exclusive], in: self)
            guard file.tryLock() else { throw .exists }
            try file.write(bytes[...])
            try file.synchronize()
            return file
        } catch {
            discardFile(path)
            throw error
        }
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
