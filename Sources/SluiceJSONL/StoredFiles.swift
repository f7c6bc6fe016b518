internal import Sluice

/// The closed segments of a store: removes their files, and accounts for lines that are lost.
struct StoredFiles {
    let configuration: Configuration
    let files: any FileSystem
    var observer = StoreObserver()
    /// Messages to report when the lock is free: the host's code may call the store.
    var notes: [String] = []
    var directories: Directories
    var index = SegmentIndex()
    var deadLetters = DeadLetters()
    /// The size of unread segments that the observer knows.
    private var reportedUnread = 0
    /// The places to mark in the files of segments, because their events need no further attempt.
    private(set) var marks: [(segment: Segment, places: [LinePlace])] = []
    /// Segments that are accounted for, but whose files could not be removed yet.
    private(set) var unremoved: [Segment] = []
    /// Adopted directories without events, whose dead letters could not be moved yet.
    private var uncleared: [InstanceDirectory] = []

    init(_ configuration: Configuration, files: any FileSystem, in environment: PipelineEnvironment) {
        self.configuration = configuration
        self.files = files
        directories = Directories(configuration, files: files, in: environment)
    }

    /// Tells the observer the size of unread segments if it has changed.
    mutating func reportUnread() {
        let bytes = index.events.unreadBytes
        guard bytes != reportedUnread else { return }
        reportedUnread = bytes
        observer.unread(bytes)
    }

    /// Adds the files of adopted directories.
    mutating func take(_ claims: [Directories.Claim]) {
        var segments: [Segment] = []
        for (directory, listing) in claims {
            directory.segments += listing.segments.count { $0.name.lane.holdsEvents }
            segments += listing.segments.map {
                let created = directory.continuousTime(of: $0.name)
                return Segment($0.name, created: created, in: directory.path, at: $0.path, fileBytes: $0.bytes)
            }
        }
        for segment in segments.sorted(by: { $0.precedes($1) }) { index.insertSorted(segment) }
        for (directory, _) in claims where directory.segments == 0 && directory !== directories.ownDirectory {
            clearAway(directory)
        }
        let foreign = exchange(&directories.foreign, with: [])
        if let first = foreign.first {
            notes.append("this store leaves files alone that it can't use: \(foreign.count), such as \(first)")
        }
    }

    /// Evicts a segment. Returns false if files can't be removed.
    mutating func evict(_ segment: Segment) -> Bool {
        let unread = countUnread(segment)
        if let error = FileError.of(try files.removeFile(segment.path)) {
            if error == .noSuchFile { lost(segment) }
            return error == .noSuchFile
        }
        count(segment, unread)
        lost(segment, .evicted)
        return true
    }

    private func dropped(_ segment: Segment, _ reason: DropReason) { dropped(segment.count ?? 0, reason, segment.lane) }

    /// Reports that events or dead letters are lost.
    func dropped(_ count: Int, _ reason: DropReason, _ lane: Lane) {
        if lane.holdsEvents {
            observer.dropped(count, reason)
        } else {
            observer.deadLettersDropped(count, reason)
        }
    }

    // MARK: Age

    /// Whether the last line of a segment may be older than the age limit. The events of a batch don't expire.
    func isExpired(_ segment: Segment) -> Bool {
        let limit = directories.continuousTime - configuration.maximumAge - configuration.segmentAge
        return segment.created < limit
    }

    /// The next segment of a lane to deliver. Expires the segments before it, whether they can be read or not.
    mutating func oldestWaiting(_ lane: Lane) -> Segment? {
        while let segment = index.segments(lane).first(where: {
            $0.condition == .waiting || $0.condition == .givenUp && isExpired($0)
        }) {
            guard isExpired(segment) else { return segment }
            expire(segment)
        }
        return nil
    }

    mutating func expire(_ segment: Segment) {
        count(segment, countUnread(segment))
        retire(segment)
        dropped(segment, .expired)
        remove(segment)
    }

    /// Counts the lines of an earlier process's segment that was not read. Returns nil if they are counted already.
    private mutating func countUnread(_ segment: Segment) -> Int? {
        guard segment.count == nil else { return nil }
        let reader = SegmentReader(files: files, encryption: nil)
        let count = attempt(try reader.countLines(segment.path, limit: segment.fileBytes, segment.name), or: nil)
        if count == nil { notes.append("the lines of a segment that can't be read are not counted: \(segment.path)") }
        return count ?? 0
    }

    private mutating func count(_ segment: Segment, _ unread: Int?) {
        guard let unread else { return }
        index.setContents(of: segment, count: unread, eventBytes: 0)
        if segment.lane.holdsEvents { observer.recovered(unread) }
    }

    // MARK: Reading

    /// Counts the contents of a segment that was read, and takes events out that earlier processes have rejected before they
    /// could settle them.
    mutating func note(_ contents: inout SegmentReader.Contents, of segment: Segment) {
        mark(deadLetters.removeRejected(from: &contents, of: segment), in: segment)
        let lines = contents.lines
        let known = segment.count ?? 0
        let damaged = segment.count == nil ? contents.damaged : max(0, known - lines.count)
        // The events of an earlier process, or copies that others have appended.
        observer.recovered(max(0, lines.count + damaged - known))
        observer.dropped(damaged, .corrupt)
        index.setContents(
            of: segment, count: lines.count, eventBytes: lines.reduce(0) { $0 + $1.bytes.count })
    }

    /// Replaces the file of a segment by a version without erased lines. Leaves that alone if the file was removed in the meantime.
    ///
    /// - Returns: the number of erased events, without the events of a batch that is handed out.
    mutating func erase(
        _ found: LineEraser.Finding, in segment: Segment, by replacement: String
    ) throws(FileError) -> Int {
        guard segment.condition != .retired || unremoved.contains(where: { $0 === segment }) else { return 0 }
        try files.rename(replacement, to: segment.path)
        releaseFile(of: segment)
        guard segment.condition == .waiting else {
            segment.gone.formUnion(found.erased)
            return 0
        }
        var contents = found.contents
        note(&contents, of: segment)
        let kept = contents.places.indices.filter { !found.erased.contains(contents.places[$0]) }
        let erased = (segment.count ?? 0) - kept.count
        index.setContents(
            of: segment, count: kept.count, eventBytes: kept.reduce(0) { $0 + contents.lines[$1].bytes.count })
        if kept.isEmpty {
            retire(segment)
            remove(segment)
        }
        return max(0, erased)
    }

    // MARK: Marks

    /// Notes the places to mark in a segment of a batch that is handed out. Until its file is removed, only the marks tell a
    /// later process which of its events were delivered, or are dead letters that may be gone.
    mutating func mark(_ places: [LinePlace], in segment: Segment) {
        guard !places.isEmpty, segment.condition == .handedOut else { return }
        if let last = marks.indices.last, marks[last].segment === segment {
            marks[last].places += places
        } else {
            marks.append((segment, places))
        }
    }

    mutating func takeMarks() -> [(segment: Segment, places: [LinePlace])] {
        exchange(&marks, with: []).filter { $0.segment.condition == .handedOut }
    }

    // MARK: Files

    mutating func retire(_ segment: Segment) {
        releaseFile(of: segment)
        index.retire(segment)
        directories.synchronization.remove(segment.path)
    }

    /// Stops reading a waiting segment. Its file stays, and is read later, evicted, or deleted with other events.
    mutating func giveUp(_ segment: Segment) {
        releaseFile(of: segment)
        dropped(segment, .unreadable)
        index.giveUp(segment)
        directories.synchronization.remove(segment.path)
    }

    /// Deletes a segment without reading its events, unless it is handed out or gone. Its lines are counted if possible.
    ///
    /// - Returns: the number of its events.
    mutating func delete(_ segment: Segment) -> Int {
        guard segment.condition == .waiting || segment.condition == .givenUp else { return 0 }
        count(segment, countUnread(segment))
        retire(segment)
        remove(segment)
        return segment.count ?? 0
    }

    /// Removes a retired segment's file now, or as soon as possible.
    mutating func remove(_ segment: Segment) {
        var removal: Result<SpareFiles.Spare?, FileError>?
        if !deadLetters.isPending(segment) {
            removal = FileError.of(try files.removeFile(segment.path)).map { .failure($0) } ?? .success(nil)
        }
        // If it is still there, it is in the list and tried again.
        _ = removed(segment, removal)
    }

    /// Notes the result of removing a retired segment's file, or of making it a spare file; nil if its dead letters must be written
    /// first.
    ///
    /// - Returns: why the file is still there.
    mutating func removed(_ segment: Segment, _ removal: Result<SpareFiles.Spare?, FileError>?) -> SluiceError? {
        var failure: SluiceError?
        switch removal {
        case nil:
            failure = SluiceError(.inputOutput, "rejected events can't be written, so their batch's file is kept")
        case .failure(let error) where error != .noSuchFile:
            failure = SluiceError(
                .inputOutput, "a delivered segment could not be removed; this is tried again", cause: error)
        case .success(let spare?): keep(spare)
        default: break
        }
        if failure == nil { subtractFromUsage(segment) } else { unremoved.append(segment) }
        return failure
    }

    /// Repeats removals that have failed before.
    mutating func removeUnremoved() {
        guard !unremoved.isEmpty || !uncleared.isEmpty else { return }
        let (segments, directories) = (unremoved, uncleared)
        forgetUnremoved()
        for segment in segments { remove(segment) }
        for directory in directories { clearAway(directory) }
    }

    /// Retries the removal of adopted directories without events. Returns whether there is one less.
    mutating func clearAgain() -> Bool {
        let before = uncleared.count
        if before > 0 { removeUnremoved() }
        return uncleared.count < before
    }

    /// Leaves these files to a later process.
    mutating func forgetUnremoved() { (unremoved, uncleared) = ([], []) }

    /// Leaves an adopted directory to a later process, which may deliver the events a second time whose files can't be removed.
    mutating func leave(_ directory: InstanceDirectory) {
        for segment in index.unreadable where segment.directory == directory.path {
            index.retire(segment)
            index.subtractFromUsage(segment)
        }
        for segment in unremoved where segment.directory == directory.path { index.subtractFromUsage(segment) }
        unremoved.removeAll { $0.directory == directory.path }
        clearAway(directory)
    }

    private mutating func subtractFromUsage(_ segment: Segment) {
        index.subtractFromUsage(segment)
        if let directory = directories.removed(segment) { clearAway(directory) }
    }

    /// Removes an adopted directory without events. Its dead letters move to the own one.
    mutating func clearAway(_ directory: InstanceDirectory) {
        do throws(FileError) {
            for segment in index.segments(.rejected) where segment.directory == directory.path {
                let own = try directories.makeOwnDirectory()
                let name = try directories.move(segment, to: own)
                index.moved(segment, to: own, as: name)
            }
            directories.clearAway(directory)
        } catch {
            // Its dead letters stay there, with its lock, until the next attempt.
            uncleared.append(directory)
        }
    }

    /// Forgets the own directory if others have deleted or moved it.
    mutating func leaveGoneDirectory() {
        guard let own = directories.ownDirectory, !attempt(try own.checkPresence(), or: false) else { return }
        directories.ownDirectory = nil
        directories.claimed[own.path] = nil
        directories.spares.removeAll(in: files)
        notes.append(
            "someone has deleted or moved the store's directory, or closed its files: "
                + "events are now stored in a new directory")
    }

    /// Gives a file its name back that others have renamed or moved; in a new directory if the own one is gone.
    mutating func restore(_ segment: Segment, _ file: OpenFile) {
        leaveGoneDirectory()
        guard let own = attempt(try directories.makeOwnDirectory(), or: nil) else { return }
        let (name, created) = (segment.name, own.time(at: segment.created))
        if segment.lane.holdsEvents {
            directories.claimed[segment.directory]?.segments -= 1
            own.segments += 1
        }
        index.moved(
            segment, to: own,
            as: SegmentName(name.lane, sequence: name.sequence, created: created, isReused: name.isReused))
        // If this fails, the file can't be read either, and its events are counted then.
        _ = FileError.of(try file.link(at: segment.path, through: segment.path + InstanceDirectory.incompleteSuffix))
    }

    /// Accounts for a segment whose file is gone.
    mutating func lost(_ segment: Segment, _ reason: DropReason = .vanished) {
        retire(segment)
        dropped(segment, reason)
        subtractFromUsage(segment)
    }
}
