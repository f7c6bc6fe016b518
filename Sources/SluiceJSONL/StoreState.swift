internal import Sluice

/// The state of a ``JSONLStore``: connects its parts, and reports to the observer.
struct StoreState {
    enum Phase {
        case new, open, closed
    }

    let configuration: Configuration
    let files: any FileSystem
    var phase = Phase.new
    private var processID: Int32
    var stored: StoredFiles

    /// By the priority's raw value.
    var appenders = Event.Priority.allCases.map { Appender($0) }
    /// The size at which an open segment is full.
    var segmentSize: BatchSize
    var batches = Batches()
    private var hasReportedDeadLetters = false

    init(_ configuration: Configuration, files: any FileSystem) {
        self.configuration = configuration
        self.files = files
        processID = files.processID
        stored = StoredFiles(configuration, files: files)
        segmentSize = BatchSize(
            events: configuration.segmentEvents.upperBound, bytes: configuration.segmentBytes.upperBound)
    }

    // MARK: Opening and closing

    /// Call ``enforceLimits()`` when the dead letters are read.
    mutating func open(_ observer: StoreObserver) throws(SluiceError) {
        switch phase {
        case .new: break
        case .open: throw SluiceError(.invalidPipeline, "this JSONLStore is in use by another pipeline or route")
        case .closed:
            throw SluiceError(
                .invalidPipeline,
                "this JSONLStore was closed with its pipeline: create a new one for the same directory")
        }
        stored.observer = observer
        processID = files.processID
        do throws(SluiceError) {
            try stored.directories.prepareRoot()
            stored.take(try stored.directories.claimAll())
            if let error = try stored.directories.checkOwnDirectory() {
                stored.notes.append("events can't be stored at present: \(error)")
            }
        } catch {
            self = StoreState(configuration, files: files)
            throw error
        }
        phase = .open
    }

    /// Applies the age limit and the capacity to the events of earlier processes.
    mutating func enforceLimits() {
        stored.index.markImplausibleAges(at: stored.directories.clock.now, maximumAge: configuration.maximumAge)
        for segment in stored.index.segments where stored.isExpired(segment) { stored.expire(segment) }
        // mutant: ignore-capacity-at-open
        evict(downTo: configuration.capacity, for: .critical)
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
        stored.observer.dropped(usage.events, .leftToParentProcess)
        stored.observer.deadLettersDropped(stored.deadLetters.count, .leftToParentProcess)
        let parent = stored
        self = StoreState(configuration, files: files)
        stored.observer = parent.observer
        stored.directories.resumeAfterFork(of: parent.directories)
        phase = .open
        do throws(SluiceError) {
            try stored.directories.prepareRoot()
        } catch {
            stored.notes.append("\(error)")
        }
    }

    /// Ends the use of the files. Their events are for a later process.
    mutating func close() {
        guard phase == .open else { return }
        if files.processID != processID { resetAfterFork() }
        for lane in appenders.indices {
            do throws(FileError) {
                try closeSegment(lane)
            } catch {
                closeWriter(lane)
                stored.observer.dropped(appenders[lane].takeBuffered().events, .storeFailed)
            }
        }
        stored.removeUnremoved()
        stored.deadLetters.close()
        stored.directories.close()
        stored.directories.synchronization = PendingSynchronization()
        batches = Batches()
        stored.forgetUnremoved()
        phase = .closed
    }

    // MARK: Sizes

    var now: Duration { configuration.environment.time.continuousTime() }

    /// Everything apart from dead letters.
    var usage: Usage { appenders.reduce(stored.index.usage) { $0 + $1.usage } }

    var backlog: Backlog {
        let usage = usage
        return Backlog(
            events: usage.events, bytes: usage.eventBytes + usage.unreadBytes,
            deadLetters: stored.deadLetters.count)
    }

    // MARK: Appending

    mutating func append(_ line: StoredLine, _ priority: Event.Priority, at now: Duration) throws(SluiceError) {
        // mutant: ignore-capacity, ignore-incoming-priority
        try makeRoom(for: line.size, priority)
        try store(line, priority, at: now)
    }

    /// One of several lines that are appended together.
    struct Entry {
        let index: Int
        let line: StoredLine
        let priority: Event.Priority

        var lane: Int { Int(priority.rawValue) }
    }

    /// Appends lines, and returns the errors of those that are refused, by their indices.
    mutating func append(_ entries: [Entry]) -> [Int: SluiceError] {
        var errors: [Int: SluiceError] = [:]
        // For each appender, the positions of the lines in its buffer.
        var unwritten = appenders.map { _ in [Int]() }
        let now = now
        for position in entries.indices {
            let (line, priority) = (entries[position].line, entries[position].priority)
            let lane = entries[position].lane
            do throws(SluiceError) {
                // Eviction can close a segment, so none of these lines may be in its buffer.
                if !hasRoom(for: line.size) { for lane in appenders.indices { write(&unwritten[lane]) } }
                try makeRoom(for: line.size, priority)
                // Otherwise the buffer can begin with other lines, and is written in large parts anyway.
                guard !configuration.isBuffered else {
                    try store(line, priority, at: now)
                    continue
                }
            } catch {
                errors[entries[position].index] = error
                continue
            }
            while !appenders[lane].add(line, at: now, segmentSize) {
                write(&unwritten[lane])
                closeWriter(lane)
            }
            unwritten[lane].append(position)
        }
        for lane in appenders.indices { write(&unwritten[lane]) }  // mutant: acknowledge-group-before-writing
        return errors

        /// Writes a buffer, which has these lines. If that fails, each of them is tried on its own.
        func write(_ positions: inout [Int]) {
            guard let lane = positions.first.map({ entries[$0].lane }) else { return }
            defer { positions.removeAll(keepingCapacity: true) }
            do throws(FileError) {
                try flush(lane, at: now)
            } catch {
                // mutant: keep-refused-group
                for position in positions.reversed() { appenders[lane].removeLast(entries[position].line) }
                for position in positions {
                    do throws(SluiceError) {
                        try store(entries[position].line, entries[position].priority, at: now)
                    } catch {
                        errors[entries[position].index] = error  // mutant: accept-refused-group
                    }
                }
            }
        }
    }

    /// Appends a line without regard to the capacity.
    private mutating func store(
        _ line: StoredLine, _ priority: Event.Priority, at now: Duration
    ) throws(SluiceError) {
        let lane = Int(priority.rawValue)
        do throws(FileError) {
            while !appenders[lane].add(line, at: now, segmentSize) { try closeSegment(lane) }
            // mutant: acknowledge-before-writing
            if configuration.isBuffered, appenders[lane].bufferedBytes < configuration.bufferBytes { return }
            do throws(FileError) {
                try flush(lane, at: now)
            } catch {
                // Only this line is refused. Others in the buffer were accepted and stay.
                appenders[lane].removeLast(line)
                throw error
            }
        } catch {
            throw SluiceError(.inputOutput, "the event could not be written: see the cause", cause: error)
        }
    }

    /// Writes all buffered lines.
    mutating func flushAll() throws(SluiceError) {
        for lane in appenders.indices {
            do throws(FileError) {
                try flush(lane, at: now)
            } catch {
                throw SluiceError(.inputOutput, "buffered events could not be written: see the cause", cause: error)
            }
        }
    }

    /// Writes the buffered lines. If this throws, all of them are still in the buffer.
    private mutating func flush(_ lane: Int, at now: Duration) throws(FileError) {
        var attempts = 8
        while true {
            do throws(FileError) {
                return try appenders[lane].flush(to: &stored.directories, at: now)
            } catch {
                guard error == .noSuchFile else {
                    closeWriter(lane)  // mutant: continue-after-failed-write
                    throw error
                }
                // The directory was deleted. The next attempt creates it, and may fail while the deletion goes on.
                handleDeletedDirectory()
                attempts -= 1
                guard attempts > 0 else { throw error }
            }
        }
    }

    /// Closes the open segment of a priority, if there is one, so that it can be handed out.
    mutating func closeSegment(_ lane: Int) throws(FileError) {
        try flush(lane, at: now)
        closeWriter(lane)
    }

    /// Closes the file of the open segment. Buffered lines stay for the next one.
    mutating func closeWriter(_ lane: Int) {
        guard let writer = appenders[lane].takeWriter() else { return }
        let segment = Segment(closing: writer)
        guard writer.usage.events > 0 else { return stored.remove(segment) }
        stored.index.insertSorted(segment)
        if !writer.isSynchronized { stored.directories.synchronization.add(segment.path) }
    }

    // MARK: Synchronizing

    /// The files and directories that a loss of power could still take.
    var unsynchronized: [PendingSynchronization.Item] { stored.directories.synchronization.work(appenders) }

    /// Notes that an item is safe, or that the drive has failed to keep it.
    mutating func finish(_ item: PendingSynchronization.Item, hasFailed: Bool) {
        if let lane = item.lane, let writer = appenders[lane].writer, writer.path == item.path {
            if hasFailed || writer.usage.fileBytes == item.version { writer.isSynchronized = true }
            if hasFailed { closeWriter(lane) }
        } else {
            stored.directories.synchronization.finish(item, hasFailed: hasFailed)
        }
    }

    /// Returns whether the caller must synchronize, one interval from now.
    mutating func scheduleSynchronization() -> Bool {
        guard configuration.interval != nil, !stored.directories.synchronization.isScheduled else { return false }
        let isDue = !stored.directories.synchronization.isEmpty || appenders.contains { $0.unsynchronized != nil }
        stored.directories.synchronization.isScheduled = isDue
        return isDue
    }

    // MARK: Dead letters

    /// Writes pending dead letters, and removes the lines of replayed ones from their files.
    mutating func finishDeadLetters() {
        if phase == .open, files.processID != processID { resetAfterFork() }
        var attempts = 8
        while phase == .open, stored.deadLetters.isUnfinished {
            do throws(FileError) {
                try stored.deadLetters.write(to: &stored.directories)
                if stored.deadLetters.hasRemovedLines {
                    // The replayed events must be in a file before.
                    for lane in appenders.indices { try flush(lane, at: now) }
                    stored.observer.deadLettersDropped(try stored.deadLetters.removeLines(files), .vanished)
                }
                if stored.deadLetters.pending.isEmpty { hasReportedDeadLetters = false }
                return
            } catch {
                attempts -= 1
                guard error == .noSuchFile, attempts > 0 else { return deadLettersFailed(error) }
                handleDeletedDirectory()
            }
        }
    }

    mutating func deadLettersFailed(_ error: any Error) {
        if hasReportedDeadLetters { return }
        hasReportedDeadLetters = true
        stored.notes.append("dead letters can't be written at present; this is tried again: \(error)")
    }

    /// Appends events that were dead letters. Moving them needs no room: a dead letter is longer than its event.
    ///
    /// - Returns: the number of events. Letters that were evicted meanwhile are ignored.
    mutating func replay(
        _ letters: [(id: DeadLetter.ID, line: StoredLine, priority: Event.Priority)]
    ) throws(SluiceError) -> Int {
        let existing = stored.deadLetters.existing(letters.map(\.id))
        var replayed: Set<DeadLetter.ID> = []
        defer { _ = stored.deadLetters.remove(replayed) }
        do throws(SluiceError) {
            for letter in letters where existing.contains(letter.id) {
                try store(letter.line, letter.priority, at: now)
                replayed.insert(letter.id)
            }
        } catch {
            if replayed.isEmpty { throw error }
        }
        return replayed.count
    }
}
