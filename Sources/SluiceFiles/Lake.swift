import Sluice

/// The folder with all files of events.
///
/// A file is written below `.writing` and renamed, so no reader sees a part of it. Nothing that has its name is changed later.
struct Lake: Sendable {
    /// An absolute path.
    let path: String
    private let files: any FileSystem
    private let random: @Sendable () -> UInt64
    /// The device and the inode of the folder. Nil before its first use.
    private let identity = Locked<[UInt64]?>(nil)

    init(_ path: String, _ files: any FileSystem, random: @escaping @Sendable () -> UInt64) {
        (self.path, self.files, self.random) = (path, files, random)
    }

    private var writing: String { path + "/.writing" }

    // MARK: The folder

    /// Finds the folder, or makes it at its first use, for this user only. Its contents get the permissions of the process's
    /// umask, so the folder alone decides who can read the events.
    ///
    /// - Throws: ``FileError/stale`` if the folder was there before and isn't now. A folder that was not mounted again must not be
    ///   replaced by an empty one.
    func enter() throws(FileError) {
        let known = identity.withLock(\.self)
        if known == nil, try files.statusIfPresent(of: "\(path)/.") == nil {
            try files.makeDirectories(path)
            try files.synchronizeDirectory(FilePath.parent(of: path))
        }
        let status = try files.statusIfPresent(of: "\(path)/.")
        guard let status, known ?? [status.device, status.inode] == [status.device, status.inode] else { throw .stale }
        if known == nil {
            // The parts of files that killed processes have left. A file that is being written is locked.
            for name in try listed(".writing") { files.discardAbandonedFile("\(writing)/\(name)") }
        }
        identity.withLock { $0 = [status.device, status.inode] }
    }

    // MARK: Files

    /// The names in a folder; empty if it is missing.
    private func listed(_ folder: String) throws(FileError) -> [String] {
        do throws(FileError) {
            return try files.list("\(path)/\(folder)")
        } catch {
            guard error == .noSuchFile else { throw error }
            return []
        }
    }

    /// Returns how many of the first events of a batch are in the folder's files.
    ///
    /// After a crash, events of the last file come once more, at the beginning of a batch that can have more events.
    func overlap(of batch: Batch, in folder: String) throws(FileError) -> Int {
        guard let first = batch.events.first?.id?.description else { return 0 }
        let names = try listed(folder).filter { $0.hasPrefix(first) }
        return names.compactMap { EventFile(name: $0)?.overlap(with: batch) }.max() ?? 0
    }

    /// Writes a file, or replaces it.
    func write(_ contents: inout FileContents, to name: String, in folder: String) throws(FileError) {
        let temporary = "\(writing)/\(String(random(), radix: 36)).tmp"
        do throws(FileError) {
            try makeFolder(".writing")
            let file = try files.makeFile(temporary, mode: 0o666) { file throws(FileError) in
                while let piece = try contents.next() { try file.write(piece) }
            }
            defer { withExtendedLifetime(file) {} }
            try makeFolder(folder)
            try files.rename(temporary, to: "\(path)/\(folder)/\(name)")
        } catch {
            files.discardFile(temporary)
            throw error
        }
    }

    private func makeFolder(_ folder: String) throws(FileError) {
        var path = path
        for name in folder.split(separator: "/") {
            path += "/\(name)"
            let failure = FileError.of(try files.makeDirectory(path, mode: 0o777))
            if let failure, failure != .exists { throw failure }
        }
    }

    /// Makes the names in a folder, and its own name, survive a loss of power.
    func synchronize(_ folder: String) throws(FileError) {
        let folder = "\(path)/\(folder)"
        for folder in [folder] + FilePath.ancestors(of: folder) where folder.utf8.count >= path.utf8.count {
            try files.synchronizeDirectory(folder)
        }
    }
}

// MARK: Expiry

extension Lake {
    /// The files and events that were removed.
    struct Expired {
        var files = 0
        var events = 0
        /// The dates whose files stay.
        var kept = 0
        var failure: FileError?
    }

    /// Removes the files of the dates that end within so many milliseconds before `limit`, and the folders that are
    /// then empty. Earlier dates stay, and are counted. A folder or file that fails costs no other one.
    func removeFiles(before limit: Timestamp, within delay: Int64) -> Expired {
        var expired = Expired()
        for date in names(in: ".", &expired) {
            guard let end = EventCalendar.end(ofFolder: date), end <= limit else { continue }
            guard limit.milliseconds - end.milliseconds < delay else {
                expired.kept += 1
                continue
            }
            remove(date, &expired)
        }
        return expired
    }

    private func names(in folder: String, _ expired: inout Expired) -> [String] {
        do throws(FileError) {
            return try listed(folder)
        } catch {
            expired.failure = error
            return []
        }
    }

    private func remove(_ folder: String, _ expired: inout Expired) {
        for name in names(in: folder, &expired) {
            if name.hasPrefix("hour=") { remove("\(folder)/\(name)", &expired) }
            guard let file = EventFile(name: name) else { continue }
            do throws(FileError) {
                try files.removeFile("\(path)/\(folder)/\(name)")
                expired.files += 1
                expired.events += file.count
            } catch {
                // Another process can have removed it.
                if error != .noSuchFile { expired.failure = error }
            }
        }
        files.discardDirectory("\(path)/\(folder)")
    }
}
