internal import Sluice

/// Written files, and directories with changed entries, that a loss of power could still take. It keeps no file open.
///
/// It leaves out open segments, whose writers track their own.
struct PendingSynchronization {
    /// A file or a directory to synchronize while the lock is free.
    struct Item {
        let path: String
        let isDirectory: Bool
        /// The number of the last change, or the size of an open segment.
        let version: Int
        /// The lane whose open segment it is.
        var lane: Lane?

        /// Takes as long as the drive takes. A file that is gone needs no synchronization: its batch was settled. Neither does
        /// a directory that is gone, or one above the root that this user may not read: its entries are others'.
        func synchronize(in files: any FileSystem) throws(FileError) {
            let failure =
                isDirectory
                ? FileError.of(try files.synchronizeDirectory(path))
                : FileError.of(try OpenFile(path, [], in: files).synchronize())
            guard let failure, failure != .noSuchFile else { return }
            if !isDirectory || failure != .accessDenied && failure != .notPermitted { throw failure }
        }
    }

    /// The most closed files that wait for the drive. A synchronization therefore ends, and the age of its events is
    /// bounded, however slow the drive is.
    private static let mostFiles = 16

    private var items: [String: Item] = [:]
    private var files = 0
    /// The number of files at which appends wait for the drive.
    private var limit = PendingSynchronization.mostFiles
    private var lastChange = 0
    /// Whether a task waits for the end of the interval.
    var isScheduled = false

    var isEmpty: Bool { items.isEmpty }

    /// Adds a file that was written and closed.
    mutating func add(_ path: String) { add(path, isDirectory: false) }

    /// Adds a directory in which an entry was created or removed.
    mutating func addEntries(of path: String) { add(path, isDirectory: true) }

    private mutating func add(_ path: String, isDirectory: Bool) {
        lastChange += 1
        let former = items.updateValue(Item(path: path, isDirectory: isDirectory, version: lastChange), forKey: path)
        if former == nil, !isDirectory { files += 1 }
    }

    mutating func remove(_ path: String) {
        if items.removeValue(forKey: path)?.isDirectory == false { files -= 1 }
    }

    /// Whether more files wait than may wait.
    var isBehind: Bool { files > limit }

    /// Call this after appends have waited. Files that could not be synchronized don't make each later append wait.
    mutating func caughtUp(hasFailed: Bool) { limit = PendingSynchronization.mostFiles + (hasFailed ? files : 0) }

    /// The files and directories, the oldest change first.
    var work: [Item] { items.values.sorted { $0.version < $1.version } }

    /// Marks an item as safe, unless it has changed since it was taken. A file whose synchronization failed is not
    /// retried: the system may have dropped the bytes and would report a success.
    mutating func finish(_ item: Item, hasFailed: Bool) {
        let isDone = hasFailed ? !item.isDirectory : items[item.path]?.version == item.version
        if isDone { remove(item.path) }
    }

    /// Synchronizes the directories.
    mutating func synchronizeEntries(in files: any FileSystem) throws(FileError) {
        for item in work where item.isDirectory {
            try item.synchronize(in: files)
            remove(item.path)
        }
    }
}
