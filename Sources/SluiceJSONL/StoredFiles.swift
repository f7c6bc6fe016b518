internal import Sluice

/// The closed segments and the dead letters of a store: removes their files, and accounts for those that are lost.
struct StoredFiles {
    let configuration: Configuration
    let files: any FileSystem
    var observer = StoreObserver(onRecovered: { _ in }, onDropped: { _, _ in }, onNote: { _ in })
    /// Messages to report when the lock is free: the host's code may call the store.
    var notes: [String] = []
    var directories: Directories
    var index = SegmentIndex()
    var deadLetters = DeadLetters()
    /// The size of unread segments that the observer knows.
    private var reportedUnread = 0
    /// Segments that are accounted for, but whose files could not be removed yet.
    private(set) var unremoved: [Segment] = []
    /// Adopted directories without segments, whose dead letters could not be moved yet.
    private var uncleared: [InstanceDirectory] = []

    init(_ configuration: Configuration, files: any FileSystem) {
        self.configuration = configuration
        self.files = files
        directories = Directories(configuration, files: files)
    }

    var fileBytes: Int { index.usage.fileBytes + deadLetters.bytes }

    /// Tells the observer the size of unread segments if it has changed.
    mutating func reportUnread() {
        let bytes = index.usage.unreadBytes
        guard bytes != reportedUnread else { return }
        reportedUnread = bytes
        observer.unread(bytes)
    }

    mutating func takeNotes() -> [String] {
        defer { notes = [] }
        return notes
    }

    /// Adds the files of adopted directories.
    mutating func take(_ claims: [Directories.Claim]) {
        var segments: [Segment] = []
        for (directory, listing) in claims {
            directory.segments += listing.segments.count
            segments += listing.segments.map { Segment($0.name, in: directory.path, fileBytes: $0.bytes) }
            deadLetters.add((directory, listing))
            if listing.segments.isEmpty, directory !== directories.ownDirectory { clearAway(directory) }
        }
        for segment in segments.sorted(by: { $0.precedes($1) }) { index.insertSorted(segment) }
        if let note = directories.takeForeignNote() { notes.append(note) }
    }

    /// Evicts whole files of dead letters, the oldest first, until at most `limit` bytes are left.
    mutating func evictDeadLetters(downTo limit: Int) {
        while fileBytes > limit, let file = deadLetters.files.first {
            do throws(FileError) {
                observer.deadLettersDropped(try deadLetters.evict(file, files), .evicted)
                directories.synchronization.remove(file.path)
            } catch {
                return
            }
        }
    }

    /// Evicts a segment. Returns false if files can't be removed.
    mutating func evict(_ segment: Segment) -> Bool {
        let unread = countUnread(segment)  // mutant: count-before-evicting
        do throws(FileError) {
            try files.removeFile(segment.path)
        } catch {
            if error == .noSuchFile { lost(segment) }
            return error == .noSuchFile
        }
        count(segment, unread)
        retire(segment)
        observer.dropped(segment.events ?? 0, .evicted)
        subtractFromUsage(segment)
        return true
    }

    /// Takes note of the contents of a file. If it can't be read, it is left alone.
    mutating func setContents(
        of file: DeadLetterFile,
        _ contents: Result<(lines: [(range: Range<Int>, line: DeadLetterLine)], damaged: Int), SegmentReader.Failure>
    ) {
        switch contents {
        case .success(let contents):
            deadLetters.setContents(of: file, contents.lines)
            if contents.damaged > 0 { notes.append(StoredFiles.damagedNote(contents.damaged, file.path)) }
        case .failure(let failure):
            deadLetters.setContents(of: file, [])
            notes.append("dead letters that can't be read are left alone: \(file.path) (\(failure))")
        }
    }

    static func damagedNote(_ count: Int, _ path: String) -> String {
        "\(count) dead letters are damaged or can't be decrypted, and are skipped: \(path)"
    }

    // MARK: Age

    /// Whether the last event of a waiting segment may be older than the age limit.
    func isExpired(_ segment: Segment) -> Bool {
        let age = configuration.maximumAge + configuration.segmentAge
        let limit = directories.clock.now.milliseconds - age.wholeMilliseconds
        return segment.created < limit && segment.condition == .waiting && segment.hasPlausibleAge
    }

    mutating func expire(_ segment: Segment) {
        count(segment, countUnread(segment))
        retire(segment)
        observer.dropped(segment.events ?? 0, .expired)
        remove(segment)
    }

    /// Counts the events of an earlier process's segment that nobody has read. Returns nil if they are counted already.
    private mutating func countUnread(_ segment: Segment) -> Int? {
        guard segment.events == nil else { return nil }
        do throws(SegmentReader.Failure) {
            return try SegmentReader(files: files, encryption: nil).countLines(segment.path, limit: segment.fileBytes)
        } catch {
            notes.append("the events of a segment that can't be read are not counted: \(segment.path)")
            return 0
        }
    }

    private mutating func count(_ segment: Segment, _ unread: Int?) {
        guard let unread else { return }
        index.setContents(of: segment, events: unread, eventBytes: 0)
        observer.recovered(unread)
    }

    // MARK: Files

    mutating func retire(_ segment: Segment) {
        index.retire(segment)
        directories.synchronization.remove(segment.path)
    }

    /// Removes a retired segment's file now, or as soon as possible.
    mutating func remove(_ segment: Segment) {
        if deadLetters.isPending(segment) { return removeLater(segment) }
        do throws(FileError) {
            try removed(segment, Result { () throws(FileError) in try files.removeFile(segment.path) })
        } catch {
            // It is in the list and tried again.
        }
    }

    /// Notes the result of removing a retired segment's file.
    mutating func removed(_ segment: Segment, _ removal: Result<Void, FileError>) throws(FileError) {
        switch removal {
        case .success, .failure(.noSuchFile): subtractFromUsage(segment)
        case .failure(let error):
            // mutant: send-unremoved-again
            unremoved.append(segment)
            throw error
        }
    }

    /// Removes a retired segment's file later: its dead letters are not written yet.
    mutating func removeLater(_ segment: Segment) { unremoved.append(segment) }

    /// Tries again what has failed before.
    mutating func removeUnremoved() {
        guard !unremoved.isEmpty || !uncleared.isEmpty else { return }
        let (segments, directories) = (unremoved, uncleared)
        forgetUnremoved()
        for segment in segments { remove(segment) }
        for directory in directories { clearAway(directory) }
    }

    /// Leaves these files to a later process.
    mutating func forgetUnremoved() { (unremoved, uncleared) = ([], []) }

    /// Leaves an adopted directory to a later process, which may deliver again what can't be removed there.
    mutating func leave(_ directory: InstanceDirectory) {
        for segment in unremoved where segment.directory == directory.path { index.subtractFromUsage(segment) }
        unremoved.removeAll { $0.directory == directory.path }
        clearAway(directory)
    }

    private mutating func subtractFromUsage(_ segment: Segment) {
        index.subtractFromUsage(segment)
        if let directory = directories.removed(segment) { clearAway(directory) }
    }

    /// Removes an adopted directory without segments. Its dead letters move to the own one.
    mutating func clearAway(_ directory: InstanceDirectory) {
        do throws(FileError) {
            try deadLetters.move(from: directory, &directories)
            directories.clearAway(directory)
        } catch {
            // Its dead letters stay there, with its lock, until the next attempt.
            uncleared.append(directory)
        }
    }

    /// Accounts for a segment whose file is missing.
    mutating func lost(_ segment: Segment) {
        retire(segment)
        observer.dropped(segment.events ?? 0, .vanished)
        subtractFromUsage(segment)
    }

    func isMissing(_ path: String) -> Bool {
        do throws(FileError) {
            return try files.statusIfPresent(of: path) == nil
        } catch {
            return false
        }
    }
}
