internal import Sluice

/// The state of a ``JSONLStore``: connects its parts.
struct StoreState {
    enum Phase {
        case new, open, closed
    }

    let configuration: Configuration
    let files: any FileSystem
    var phase = Phase.new
    private var processID: Int32
    var stored: StoredFiles
    var appenders: Appenders
    var batches = Batches()
    /// Whether the host knows that delivered events can't be marked.
    private var hasReportedMarks = false
    /// Until the store is closed, if a pipeline has opened it.
    private(set) var place: StorePlace?

    init(
        _ configuration: Configuration, files: any FileSystem,
        in environment: PipelineEnvironment = PipelineEnvironment()
    ) {
        self.configuration = configuration
        self.files = files
        processID = files.processID
        stored = StoredFiles(configuration, files: files, in: environment)
        appenders = Appenders(configuration)
    }

    // MARK: Opening and closing

    /// Call ``enforceLimits()`` when the dead letters are read.
    mutating func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        switch phase {
        case .new: break
        case .open: throw SluiceError(.invalidPipeline, "this JSONLStore is in use by another pipeline or route")
        case .closed:
            throw SluiceError(
                .invalidPipeline,
                "this JSONLStore was closed with its pipeline: create a new one for the same directory")
        }
        var configuration = configuration
        configuration.route = observer.route ?? RouteName.main
        self = StoreState(configuration, files: files, in: environment)
        stored.observer = observer
        do throws(SluiceError) {
            try stored.directories.root.prepare()
            // Only tests have other file systems, in which one process stands for several.
            if observer.route != nil, files is SystemFileSystem { place = try stored.directories.occupyRoot() }
            stored.take(try stored.directories.claimAll())
            if let error = try stored.directories.checkOwnDirectory() {
                stored.notes.append("events can't be stored now: \(error)")
            }
            stored.directories.spares.isOn = files.overwritesInPlace(stored.directories.root.path)
        } catch {
            place?.leave()
            self = StoreState(configuration, files: files)
            throw error
        }
        phase = .open
    }

    /// Applies the age limit and the capacity to the files of earlier processes.
    mutating func enforceLimits() {
        for segment in stored.index.segments where stored.isExpired(segment) { stored.expire(segment) }
        appenders.evict(downTo: configuration.capacity, for: .critical, &stored)
        findMoreIfEmpty()
    }

    /// Checks that the store is open, and notices a `fork`. Call it first in every use.
    mutating func enter() throws(SluiceError) {
        switch phase {
        case .open: break
        case .new:
            throw SluiceError(.storageUnavailable, "the store is not open: use it in a pipeline")
        case .closed: throw SluiceError(.shutDown, "the store is closed")
        }
        if files.processID != processID { resetAfterFork() }
    }

    /// The child of a `fork` has a copy of the state, but the files and their events belong to the parent.
    private mutating func resetAfterFork() {
        let backlog = backlog
        stored.observer.dropped(backlog.events, .leftToParentProcess)
        stored.observer.deadLettersDropped(backlog.deadLetters, .leftToParentProcess)
        let parent = stored
        self = StoreState(configuration, files: files, in: parent.directories.environment)
        stored.observer = parent.observer
        // It continues the order of the parent process, which keeps its directories.
        stored.directories.nextSequence = parent.directories.nextSequence
        stored.directories.spares.isOn = parent.directories.spares.isOn
        phase = .open
        if let error = SluiceError.of(try stored.directories.root.prepare()) { stored.notes.append("\(error)") }
    }

    /// Ends the use of the files. Their events are for a later process.
    mutating func close() {
        guard phase == .open else { return }
        if files.processID != processID { resetAfterFork() }
        appenders.closeAll(at: stored.directories.continuousTime, &stored)
        stored.removeUnremoved()
        stored.directories.close()
        stored.directories.synchronization = PendingSynchronization()
        batches = Batches()
        for segment in stored.index.segments { segment.file = nil }
        stored.forgetUnremoved()
        place?.leave()
        phase = .closed
    }

    // MARK: Sizes

    var backlog: Backlog {
        let usage = stored.index.events + appenders.usageOfEvents
        return Backlog(
            events: usage.count, bytes: usage.eventBytes + usage.unreadBytes,
            deadLetters: stored.index.deadLetters.count + appenders.usage(.rejected).count
                + stored.deadLetters.pending.count)
    }

    // MARK: Batches

    /// Notes the result of marking settled events in the files of segments.
    ///
    /// - Returns: whether the caller must synchronize, one interval from now.
    mutating func marked(_ segments: [Segment], _ failure: FileError?) -> Bool {
        if let failure, !hasReportedMarks {
            stored.notes.append("a later process may deliver some events a second time: \(failure)")
        }
        hasReportedMarks = failure != nil
        if failure != nil { stored.stopReusing() }
        guard configuration.interval != nil else { return false }
        for segment in segments where segment.condition == .handedOut {
            stored.directories.synchronization.add(segment.path)
        }
        return scheduleSynchronization()
    }

    /// Call this after a batch was settled. Delivery asks no store for batches whose backlog is empty.
    mutating func settled() {
        guard phase == .open else { return }
        // The dead letters of the batch were counted twice until now.
        appenders.evict(downTo: configuration.capacity, for: .rejected, &stored)
        findMoreIfEmpty()
    }

    private mutating func findMoreIfEmpty() {
        if backlog.isEmpty { _ = batches.findMore(&appenders, &stored) }
    }

    // MARK: Erasing

    /// Closes the open segments, and returns all segments with events, including batches that are handed out and segments that
    /// could not be read or removed. A failure to write is that of buffered events.
    mutating func segmentsToErase() -> (segments: [Segment], failure: FileError?) {
        var failure: FileError?
        for lane in [Lane.critical, .normal] {
            let error = FileError.of(try appenders.close(lane, at: stored.directories.continuousTime, &stored))
            failure = error ?? failure
        }
        stored.removeUnremoved()
        stored.directories.spares.removeAll(in: files)
        let segments = [Lane.critical, .normal].flatMap { stored.index.segments($0) }
        return (segments + stored.unremoved.filter(\.lane.holdsEvents), failure)
    }

    /// The segments that can have events of dead letters: batches that are handed out, and files of earlier processes.
    var segmentsOfLetters: [Segment] {
        (stored.index.segments + stored.unremoved).filter {
            $0.lane.holdsEvents && ($0.isEarlier || $0.condition != .waiting)
        }
    }

    // MARK: Synchronizing

    /// Writes buffered events, and returns the files and directories that a loss of power could still take.
    mutating func unsynchronized() throws(SluiceError) -> [PendingSynchronization.Item] {
        if let failure = FileError.of(try appenders.flush(at: stored.directories.continuousTime, &stored)) {
            throw SluiceError(.inputOutput, "buffered events could not be written: see the cause", cause: failure)
        }
        return stored.directories.synchronization.work + appenders.unsynchronized
    }

    /// Marks an item as safe, or as one that the drive has failed to keep.
    mutating func finish(_ item: PendingSynchronization.Item, hasFailed: Bool) {
        if appenders.finish(item, hasFailed: hasFailed, &stored) { return }
        // An open segment that was closed in the meantime can have more lines. It is among the closed files.
        if item.lane != nil, !hasFailed { return }
        if hasFailed { stored.stopReusing() }
        stored.directories.synchronization.finish(item, hasFailed: hasFailed)
    }

    /// Returns when the caller must synchronize, after an append; nil if it needn't.
    mutating func dueSynchronization() -> Synchronizer.Due? {
        guard configuration.interval != nil else { return nil }
        if stored.directories.synchronization.isBehind { return .now }
        return scheduleSynchronization() ? .afterInterval : nil
    }

    /// Returns whether the caller must synchronize, one interval from now.
    mutating func scheduleSynchronization() -> Bool {
        guard phase == .open, !stored.directories.synchronization.isScheduled else { return false }
        let isDue = !stored.directories.synchronization.isEmpty || !appenders.unsynchronized.isEmpty
        stored.directories.synchronization.isScheduled = isDue
        return isDue
    }

    /// Ends the wait of an append. Segments are as large as possible until the next batch, because each one is a wait.
    mutating func caughtUp(hasFailed: Bool) {
        stored.directories.synchronization.caughtUp(hasFailed: hasFailed)
        appenders.setTarget(BatchSize(events: .max, bytes: .max))
    }

    // MARK: Dead letters

    /// Returns the files of all dead letters. The open one is closed.
    mutating func letterFiles() -> StoredFiles.LetterFiles {
        // Dead letters never wait in a buffer.
        appenders.closeWriter(.rejected, &stored)
        _ = stored.oldestWaiting(.rejected)
        return stored.letterFiles
    }

    /// Writes pending dead letters, and removes the lines of removed ones from their files. Reports the first failure.
    mutating func finishLetters(_ letters: [(id: DeadLetter.ID, line: StoredLine)], _ failure: (any Error)?) {
        let pending = stored.existingLetters(in: nil)
        let letters = letters.filter { pending.contains($0.id) }
        let (written, refusal) = append(letters.map { ($0.id, $0.line, .rejected) })
        for letter in stored.deadLetters.removePending(written) { stored.mark([letter.mark], in: letter.segment) }
        var failure = failure ?? refusal
        do throws(FileError) {
            // The events of replayed letters must be in a file before.
            if stored.hasRemovedLetters {
                try appenders.flush(at: stored.directories.continuousTime, &stored)
                try stored.rewriteLetters()
            }
        } catch {
            failure = failure ?? error
        }
        stored.reportDeadLetterFailure(failure)
    }

    /// Appends events that were dead letters. Moving them needs no room: a dead letter is longer than its event.
    ///
    /// - Returns: the number of events. Letters that were evicted in the meantime are ignored.
    mutating func replay(
        _ letters: [(id: DeadLetter.ID, line: StoredLine, lane: Lane)], from segment: Segment?
    ) throws(SluiceError) -> Int {
        let existing = stored.existingLetters(in: segment)
        let (replayed, failure) = append(letters.filter { existing.contains($0.id) })
        if replayed.isEmpty, let failure { throw failure }
        return stored.removeLetters(replayed, from: segment)
    }

    private mutating func append(
        _ lines: [(id: DeadLetter.ID, line: StoredLine, lane: Lane)]
    ) -> (stored: Set<DeadLetter.ID>, failure: SluiceError?) {
        let entries = lines.indices.map { Appenders.Entry(index: $0, line: lines[$0].line, lane: lines[$0].lane) }
        let errors = appenders.append(entries, isLimited: false, at: stored.directories.continuousTime, &stored)
        return (
            Set(lines.indices.filter { errors[$0] == nil }.map { lines[$0].id }), errors.min { $0.key < $1.key }?.value
        )
    }
}
