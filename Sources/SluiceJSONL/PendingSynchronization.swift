internal import Sluice
internal import SluiceFiles

/// Written files that a loss of power could still take, apart from the open segments.
struct PendingSynchronization {
    private struct Written {
        var bytes: Int
        /// Kept open if a synchronization is due soon.
        var file: OpenFile?
    }

    /// Files and directories to synchronize while the lock is free.
    struct Work {
        fileprivate struct Item {
            var path: String
            var bytes: Int
            var file: OpenFile?
            /// The priority whose open segment it is.
            var lane: Int?
        }

        fileprivate var items: [Item] = []
        fileprivate var directories: [String: Int] = [:]
        fileprivate var failedPaths: Set<String> = []
        private(set) var failure: FileError?
    }

    /// By path.
    private var files: [String: Written] = [:]
    /// Whether a task waits for the end of the interval.
    var isScheduled = false

    var isEmpty: Bool { files.isEmpty }

    /// Adds a file, or corrects its size.
    mutating func add(_ path: String, bytes: Int, file: OpenFile?) {
        files[path] = Written(bytes: bytes, file: file)
    }

    mutating func remove(_ path: String) {
        files[path] = nil
    }

    func work(_ appenders: [Appender], _ directories: Directories) -> Work {
        var work = Work()
        for (lane, appender) in appenders.enumerated() {
            guard let writer = appender.writer, !writer.isSynchronized else { continue }
            work.items.append(
                Work.Item(path: writer.path, bytes: writer.usage.fileBytes, file: writer.file, lane: lane))
        }
        for (path, file) in files.sorted(by: { $0.key < $1.key }) {
            work.items.append(Work.Item(path: path, bytes: file.bytes, file: file.file))
        }
        work.directories = directories.unsynchronized
        return work
    }

    /// Notes which files are safe. A file whose synchronization failed is not tried again: the system may have dropped the
    /// bytes and would report a success.
    ///
    /// - Returns: the priorities whose open segments must be closed.
    mutating func finish(_ work: Work, _ appenders: [Appender], _ directories: inout Directories) -> [Int] {
        var failedLanes: [Int] = []
        for item in work.items {
            let hasFailed = work.failedPaths.contains(item.path)
            if let lane = item.lane, let writer = appenders[lane].writer, writer.path == item.path {
                if hasFailed || writer.usage.fileBytes == item.bytes { writer.isSynchronized = true }
                if hasFailed { failedLanes.append(lane) }
            } else if hasFailed || files[item.path]?.bytes == item.bytes {
                remove(item.path)
            }
        }
        for (path, change) in work.directories where !work.failedPaths.contains(path) {
            directories.synchronized(path, upTo: change)
        }
        return failedLanes
    }
}

extension PendingSynchronization.Work {
    /// Takes as long as the drive takes. It touches only the files.
    mutating func run(in files: any FileSystem) {
        for item in items {
            attempt(item.path) { () throws(FileError) in
                if let file = item.file { return try file.synchronize() }
                try OpenFile(item.path, [], in: files).synchronize()
            }
        }
        for path in directories.keys.sorted() {
            attempt(path) { () throws(FileError) in try files.synchronizeEntries(path) }
        }
    }

    private mutating func attempt(_ path: String, _ body: () throws(FileError) -> Void) {
        do throws(FileError) {
            try body()
        } catch {
            // The batch was settled meanwhile.
            if error == .noSuchFile { return }
            failedPaths.insert(path)
            failure = error
        }
    }
}

extension SegmentWriter {
    fileprivate var path: String { directory.path(of: name) }
}
