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
        // An earlier process may have left it.
        discardFile(temporary)
        do throws(FileError) {
            let file = try OpenFile(temporary, [.write, .create, .exclusive], in: self)
            guard file.tryLock() else { throw .exists }
            try file.write(bytes[...])
            try file.synchronize()
            try rename(temporary, to: path)
        } catch {
            discardFile(temporary)
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

/// Operations on paths.
package enum FilePath {
    /// The directory of a path: `/` for `/a`, and `.` for `a`.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// All directories above a path, the nearest first.
    package static func ancestors(of path: String) -> [String] {
        let parent = parent(of: path)
        return parent == path ? [] : [parent] + ancestors(of: parent)
    }

    /// The same text for all absolute paths to a file, even if they lead through symbolic links, or through directories that
    /// don't exist yet.
    package static func identity(of path: String, in fileSystem: some FileSystem) -> String {
        for ancestor in path.hasPrefix("/") ? ancestors(of: path) : [] {
            // With the dot, it follows a symbolic link. A directory that is missing or may not be looked into doesn't count.
            guard let status = attempt(try fileSystem.status(of: "\(ancestor)/."), or: nil) else { continue }
            let rest = path.dropFirst(ancestor.count).split(separator: "/").filter { $0 != "." }
            // `..` undoes a directory that is missing, but not a link to one. What remains may exist.
            if let up = rest.firstIndex(of: ".."), up > 0,
                attempt(try fileSystem.status(of: "\(ancestor)/\(rest[0])"), or: nil) == nil
            {
                let parts = [Substring(ancestor)] + rest[..<(up - 1)] + rest[(up + 1)...]
                return identity(of: parts.joined(separator: "/"), in: fileSystem)
            }
            return "\(status.device) \(status.inode) \(rest.joined(separator: "/"))"
        }
        return path
    }

    /// Why a path is invalid, and how to correct it; nil if it is valid.
    package static func flaw(of path: String) -> String? {
        if path.isEmpty { return "is empty: give a path" }
        // The system would ignore everything behind it.
        if path.utf8.contains(0) { return "has a NUL in it: give a path without" }
        // A shell or Foundation would expand it, so it is not meant as the name of a folder.
        if path == "~" || path.hasPrefix("~/") {
            return "begins with ~, which is not expanded here: give the path of the home directory instead"
        }
        if path.hasPrefix("file:/") { return "is a URL: give the path alone" }
        return nil
    }

    /// Returns the absolute path, as ``normalized(_:in:)`` does. A path that is invalid or can't be resolved stays as it is,
    /// and its first use throws.
    package static func absolute(_ path: String, in fileSystem: some FileSystem) -> String {
        attempt(try normalized(path, in: fileSystem), or: path)
    }

    /// The absolute path without slashes at the end, which would follow a symbolic link. It stays valid if the working
    /// directory changes.
    package static func normalized(_ path: String, in fileSystem: some FileSystem) throws(FileError) -> String {
        guard flaw(of: path) == nil else { throw .invalidArgument }
        var path = path
        if !path.hasPrefix("/") { path = try fileSystem.currentDirectory() + "/" + path }
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
