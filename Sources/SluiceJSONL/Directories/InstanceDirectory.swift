internal import Sluice

/// The directory of one process at a time: the one that holds the locks on it and on the file `lock` in it.
///
/// The system releases the locks when the process ends, for whatever reason. The directory then belongs to the first
/// process that takes them. The file can be removed by others while it is locked, and some network drives can't lock
/// directories; so there are two locks.
final class InstanceDirectory {
    let path: String
    private let lockPath: String
    private let handle: OpenFile
    private var lock: OpenFile
    private let files: any FileSystem
    /// The time of the next check whether the directory is in its place.
    private var nextCheck = Duration.seconds(-1)
    /// The number of its segments of events that the store knows.
    var segments = 0
    /// The clock that its segments get their age by.
    private var clock: StoreClock?
    /// Whether the lock file has this clock's reading.
    private var isClockKept = false

    static let lockName = "lock"
    /// See ``JSONLStore/keep(_:)``.
    static let statusName = "status.json"
    /// Ends the name of a file that replaces another one as soon as it is complete.
    static let incompleteSuffix = ".new"

    /// Takes a directory whose process has ended. Returns nil if a process uses it, or has just removed it.
    init?(claiming path: String, files: any FileSystem) throws(FileError) {
        let status = try files.status(of: path)
        guard status.kind == .directory else { throw .notADirectory }
        guard status.owner == files.userID else { throw .notPermitted }
        handle = try OpenFile(path, .directory, in: files)
        lockPath = "\(path)/\(InstanceDirectory.lockName)"
        guard handle.tryLock(), let lock = try InstanceDirectory.lockFile(lockPath, files: files) else { return nil }
        (self.path, self.lock, self.files) = (path, lock, files)
    }

    func path(of name: SegmentName) -> String { "\(path)/\(name.text)" }

    /// Creates a directory with a unique name.
    static func create(
        in root: String, of route: String, random: () -> UInt64, files: any FileSystem, attempts: Int = 8
    ) throws(FileError) -> InstanceDirectory {
        let path = "\(root)/\(EventID.random(random))\(RouteName.suffix(for: route) ?? "")"
        do throws(FileError) {
            try files.makeDirectory(path, mode: 0o700)
            // Nil if another process took it for an abandoned one in between, and is about to remove it.
            if let directory = try claimNew(path, files: files) { return directory }
            if attempts == 1 { throw .exists }
        } catch {
            guard attempts > 1, error == .exists || error == .noSuchFile,
                attempt(try files.status(of: root).kind == .directory, or: false)
            else { throw error }
        }
        return try create(in: root, of: route, random: random, files: files, attempts: attempts - 1)
    }

    /// Leaves nothing behind if it fails. Otherwise a full disk would collect a directory with every attempt.
    private static func claimNew(_ path: String, files: any FileSystem) throws(FileError) -> InstanceDirectory? {
        do throws(FileError) {
            return try InstanceDirectory(claiming: path, files: files)
        } catch {
            files.discardFile("\(path)/\(lockName)")
            files.discardDirectory(path)
            throw error
        }
    }

    private static func lockFile(_ path: String, files: any FileSystem) throws(FileError) -> OpenFile? {
        let found = try files.statusIfPresent(of: path)
        // The directory is locked, so no process uses an entry of this name that isn't a regular file.
        if let found, found.kind != .file { try files.rename(path, to: "\(path).unusable") }
        // Without a lock and without segments, it is the directory of another program.
        let names = found == nil ? try files.list(FilePath.parent(of: path)) : []
        guard names.isEmpty || names.contains(where: { SegmentName($0) != nil }) else { throw .notPermitted }
        let lock = try OpenFile(path, [.write, .append, .create], in: files)
        guard try lock.status().kind == .file else { throw .invalidArgument }
        guard try lock.lock() else { return nil }
        // The previous owner may have removed the file, and another process may have created and locked a new one.
        return try lock.isAt(path) ? lock : nil
    }

    /// Whether others have moved the directory, deleted its contents, or closed its files. It is called before every write,
    /// and repeats the check after 1 ms.
    ///
    /// A check takes as long as two writes: 1.4 µs. Events that were written to deleted files before it are counted as vanished.
    ///
    /// The lock is checked, not the file that is written to: after reading a file's times, the next write updates them
    /// on the disk, which took as long as the write itself (Linux 6.18, ext4).
    func isGone(at now: Duration) -> Bool {
        if now < nextCheck { return false }
        nextCheck = now + .milliseconds(1)
        do throws(FileError) {
            return try !lock.isAt(lockPath)
        } catch {
            // Ignore other errors: a write shows whether the file can be used.
            return error == .badDescriptor
        }
    }

    /// Whether the directory is still where it was created. If only its lock file is gone, it is created.
    func checkPresence() throws(FileError) -> Bool {
        guard try handle.isAt(path) else { return false }
        guard try !lock.isAt(lockPath) else { return true }
        lock = try OpenFile(lockPath, [.write, .append, .create, .exclusive], in: files)
        guard try lock.lock() else { return false }
        isClockKept = false
        keepClock()
        return true
    }

    // MARK: Age

    /// The most readings in the lock file.
    private static let mostReadings = 32

    /// Continues the clock by the readings in the lock file, and leaves a new one there if it differs.
    func startClock(_ time: any TimeSource, newest: Int64?, _ configuration: Configuration) {
        let readings = readings
        let clock = StoreClock(
            time, boot: files.bootID, after: readings, newest: newest, longestGap: configuration.longestGap)
        self.clock = clock
        isClockKept = readings.contains { clock.repeats($0, within: configuration.segmentAge) }
        keepClock(insteadOfOthers: readings.count >= InstanceDirectory.mostReadings)
    }

    private var readings: [StoreClock] {
        let reader = SegmentReader(files: files, encryption: nil)
        let name = SegmentName(.normal, sequence: 0, created: Timestamp(milliseconds: 0))
        // Without readings, the names of segments tell their age well enough.
        return attempt(try reader.read(lockPath, limit: 65_536, name).lines.compactMap { StoreClock($0) }, or: [])
    }

    /// Without its reading, the next process would take the names of segments for times of its own wall clock. So a failure
    /// is followed by another attempt before the next segment.
    ///
    /// A process that is killed here, or a full disk, leaves half a line at most, which is ignored. The next line begins with a
    /// newline.
    private func keepClock(insteadOfOthers isOnly: Bool = false) {
        guard let clock, !isClockKept else { return }
        do {
            if isOnly { try lock.truncate(to: 0) }
            var buffer = LineBuffer()
            buffer.append(try StoredLine(clock.line, nil))
            try lock.write([LineFormat.newline] + buffer.bytes)
            isClockKept = true
        } catch {
            // The next process has the earlier readings.
        }
    }

    /// The time of the clock for the name of a segment that is created now.
    func time(at now: Duration) -> Timestamp {
        keepClock()
        return Timestamp(milliseconds: now.wholeMilliseconds &+ (clock?.offset ?? 0))
    }

    /// When a segment was created, by the continuous clock.
    func continuousTime(of name: SegmentName) -> Duration {
        .milliseconds(name.created.milliseconds &- (clock?.offset ?? 0))
    }

    var statusPath: String { "\(path)/\(InstanceDirectory.statusName)" }

    /// Removes the directory if nothing is left in it. Don't use it afterwards.
    func removeIfEmpty() {
        // The lock file may be gone.
        guard let names = attempt(try files.list(path), or: nil),
            names.allSatisfy({ $0 == InstanceDirectory.lockName || $0.isStatus })
        else { return }
        for name in names where name.isStatus { files.discardFile("\(path)/\(name)") }
        files.discardFile(lockPath)
        files.discardDirectory(path)
    }

    struct Listing {
        /// In the order of their names.
        var segments: [(name: SegmentName, path: String, bytes: Int)] = []
        /// Names that this version of the store hasn't written.
        var foreign: [String] = []
        /// Segments whose status can't be read.
        var unknown: [String] = []

        /// The time of the newest segment with events.
        var newest: Int64? { segments.lazy.filter(\.name.lane.holdsEvents).map(\.name.created.milliseconds).max() }

        /// The size of the segments with events.
        var bytes: Int { segments.reduce(0) { $0 + ($1.name.lane.holdsEvents ? $1.bytes : 0) } }
    }

    /// Reads the directory and the sizes of its files. Removes the status, empty segments, spare files, and new
    /// versions of dead letters that were never completed. Files above the largest size are foreign.
    func listing(largest: Int) throws(FileError) -> Listing {
        var listing = Listing()
        var segments: [(name: SegmentName, text: String)] = []
        for text in try files.list(path) where text != InstanceDirectory.lockName {
            if let name = SegmentName(text) {
                segments.append((name, text))
            } else if text.isStatus || text.isDraftOrSpare {
                // An ended process has left it.
                files.discardFile("\(path)/\(text)")
            } else {
                listing.foreign.append(text)
            }
        }
        var empty: [String] = []
        let userID = files.userID
        // In the order of creation, the system finds their status faster than in the order of the list: opening 100,000
        // segments takes 5 to 13 % less time.
        for (name, text) in segments.sorted(by: { $0.name < $1.name }) {
            do throws(FileError) {
                let path = "\(path)/\(text)"
                let status = try files.status(of: text, in: handle.descriptor, at: path)
                if status.kind != .file || status.owner != userID || status.size > largest {
                    listing.foreign.append(text)
                } else if status.size > 0 {
                    listing.segments.append((name, path, status.size))
                } else {
                    empty.append(text)
                }
            } catch {
                if error != .noSuchFile { listing.unknown.append(text) }
            }
        }
        // Other code can close the descriptor or replace the directory. Files then seem to be missing or empty.
        guard try handle.isAt(path) else { throw .badDescriptor }
        for text in empty {
            let failure = FileError.of(try files.removeFile("\(path)/\(text)"))
            if let failure, failure != .noSuchFile { listing.unknown.append(text) }
        }
        return listing
    }
}

extension String {
    /// Whether it names the status, or one that was never completed.
    fileprivate var isStatus: Bool {
        self == InstanceDirectory.statusName
            || self == InstanceDirectory.statusName + InstanceDirectory.incompleteSuffix
    }

    /// Whether it names a new version of a segment that was never completed, or a spare file.
    fileprivate var isDraftOrSpare: Bool {
        let suffix = [InstanceDirectory.incompleteSuffix, SpareFiles.suffix].first(where: hasSuffix)
        return suffix.map { SegmentName(String(dropLast($0.count))) != nil } ?? false
    }
}
