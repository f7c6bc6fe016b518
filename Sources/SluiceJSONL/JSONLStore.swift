public import Sluice
package import SluiceFiles

/// A store on disk: a directory of JSON Lines files that outlives the process, and can be read with `jq` and `grep`.
///
/// By default an event has survived the end of the process, by whatever cause, when ``append(_:)`` returns; see
/// ``Durability``. Events that another life of the host left in the same directory are delivered by the next; several
/// processes may share a directory, in which each has its own folder.
///
/// When more than `capacity` bytes wait, whole segments are evicted: those of the lowest priority first, the oldest of
/// them first; never above the priority of the incoming event, which is refused instead, and never what is being
/// delivered. Events that no retry can bring home are kept as dead letters, in `rejected/` beside the segments.
///
/// Each line carries a CRC-32C; a line that is not what was written is skipped and counted, never delivered.
public final class JSONLStore: Store {
    private let configuration: Configuration
    private let files: any FileSystem
    private let state: Locked<StoreState>

    /// - Parameters:
    ///   - directory: where the events are kept. It is made (0700) with the directories above it if it is missing, and
    ///     must otherwise be a directory that belongs to this user. A relative path is resolved when the store is opened.
    ///   - durability: what an accepted event has survived.
    ///   - capacity: the most bytes of files that wait for delivery in this store: 10 MiB by default. Each process that
    ///     shares the directory has as much to itself. Dead letters take an eighth of it more, at most 1 MiB.
    ///   - maximumAge: events that are older are dropped, at the latest when they are older by a twenty-fifth: 25 days,
    ///     and one, by default. Within a life their age follows the monotonic clock. Time between lives counts only if
    ///     it is not longer than this: a wall clock that stands years ahead expires nothing, and neither do years in a
    ///     drawer.
    ///   - maximumEventBytes: the longest event that is accepted: 1 MB by default, 512 MiB at most.
    ///   - sealing: encryption of the lines; none by default.
    ///   - environment: the clocks, and the randomness for the folder's name.
    public convenience init(
        at directory: String,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        sealing: LineSealing? = nil,
        environment: PipelineEnvironment = PipelineEnvironment()
    ) {
        self.init(
            at: directory, durability: durability, capacity: capacity, maximumAge: maximumAge,
            maximumEventBytes: maximumEventBytes, sealing: sealing, environment: environment,
            files: SystemFileSystem())
    }

    /// The same, on other files than the system's.
    package init(
        at directory: String,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        sealing: LineSealing? = nil,
        environment: PipelineEnvironment = PipelineEnvironment(),
        files: any FileSystem
    ) {
        configuration = Configuration(
            directory: directory, durability: durability, capacity: capacity,
            maximumAge: min(maximumAge, Configuration.longestAge),
            maximumEventBytes: min(maximumEventBytes, 1 << 29),
            sealing: sealing, environment: environment)
        self.files = files
        state = Locked(StoreState(configuration, files: files))
    }

    deinit {
        close()
    }

    // MARK: Store

    /// Takes over what earlier lives left: it lists directories, and reads no events. Only what it must evict or expire at
    /// once, because it is too much or too old, is read to be counted.
    ///
    /// - Throws: ``SluiceError/Code/storageUnavailable`` with what to do about it, if the directory cannot be made or
    ///   written to, is a file or a symbolic link, or belongs to someone else; ``SluiceError/Code/invalidPipeline`` if
    ///   this store was opened before; ``SluiceError/Code/invalidArgument`` if no event can fit into its limits, or its
    ///   age or interval is not positive. A full disk is no error: what waits already can be delivered.
    public func open(_ observer: StoreObserver) throws(SluiceError) {
        guard configuration.capacity > 0, configuration.maximumEventBytes > 0 else {
            throw SluiceError(
                .invalidArgument,
                "a capacity of \(configuration.capacity) bytes, for events of at most \(configuration.maximumEventBytes), "
                    + "holds none: give positive numbers")
        }
        guard configuration.maximumAge > .zero else {
            throw SluiceError(
                .invalidArgument,
                "a maximumAge of \(configuration.maximumAge), at which every event is too old: give a positive one")
        }
        if case .interval(let milliseconds) = configuration.durability, milliseconds < 1 {
            throw SluiceError(
                .invalidArgument, "an interval of \(milliseconds) milliseconds: give 1 at least, or choose .full")
        }
        try use { state throws(SluiceError) in try state.open(observer) }
    }

    /// Writes one event to the end of its segment, as well as the ``Durability`` says. Safe from any thread.
    ///
    /// - Throws: ``SluiceError/Code/storageFull`` when nothing may make room for it; ``SluiceError/Code/eventTooLarge``;
    ///   ``SluiceError/Code/malformedLine`` for bytes that are no object on one line; ``SluiceError/Code/inputOutput``
    ///   when the file system refused; the next event may go well again. Nothing of the refused one is left then, unless
    ///   the file system would not even take back what it had taken: then a later life may deliver it.
    public func append(_ line: EventLine) throws(SluiceError) {
        guard line.bytes.count <= configuration.maximumEventBytes else {
            throw SluiceError(
                .eventTooLarge,
                "an event of \(line.bytes.count) bytes, of at most \(configuration.maximumEventBytes): "
                    + "send less in it, or raise the store's maximumEventBytes")
        }
        guard LineFormat.canStore(line.bytes) else {
            throw SluiceError(.malformedLine, "an event must be one JSON object without a newline")
        }
        // Before the lock: sealing is the host's code, and the checksum is the longer part of the work.
        let stored = try configuration.sealing?.sealed(line.bytes) ?? line.bytes
        let checksum = Checksum.of(stored)
        let isDue = try perform { state throws(SluiceError) in
            try state.append(stored, checksum: checksum, eventBytes: line.bytes.count, priority: line.priority)
            return state.scheduleSynchronization()
        }
        if isDue { startSynchronization() }
    }

    /// Hands out the oldest segment of the highest priority as one batch; if there is none, what is being written is
    /// sealed for it. The size that is asked for is what later segments are made to, between 20 and 500 events.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if a segment could not be read at present. After three attempts it is
    ///   given up, so that others can be delivered, and looked at again when nothing else waits.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        let reader = SegmentReader(files: files, sealing: configuration.sealing)
        while true {
            let candidate = try perform { state throws(SluiceError) in
                state.aim(at: size)
                return try state.takeCandidate()
            }
            guard let candidate else { return nil }
            // Without the lock: those who track events must not wait for a file to be read.
            let result = Result { () throws(SegmentReader.Failure) in
                try reader.read(candidate.path, limit: candidate.limit, priority: candidate.priority)
            }
            let batch = try perform { state throws(SluiceError) -> Batch? in
                switch result {
                case .success(let contents): return state.batch(from: candidate, contents)
                case .failure(let failure):
                    try state.unreadable(candidate, failure)
                    return nil
                }
            }
            if let batch { return batch }
        }
    }

    /// Removes the batch's file, after its rejected events were written to the dead letters.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if the file could not be removed. Its events are not handed out again
    ///   in this life, and the removal is tried again; a later life may send them once more.
    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        let segment = try perform { state throws(SluiceError) in
            state.removeUnremoved()
            return try state.settle(batch)
        }
        // Without the lock, as in reading: to free a file's blocks takes a while.
        let path = segment.path
        let removal = Result { () throws(FileError) in try files.removeFile(path) }
        try use { state throws(SluiceError) in
            defer { state.settled() }
            do throws(FileError) {
                try state.removed(segment, removal)
            } catch {
                throw SluiceError(
                    .inputOutput, "a delivered segment could not be removed; this is tried again", cause: error)
            }
        }
    }

    /// Writes events of a batch to the dead letters.
    public func reject(_ events: [RejectedEvent], in batch: Batch.ID) {
        use { $0.writeDeadLetters(events) }
    }

    /// Takes a batch back: it is the next of its priority to be handed out, since it is the oldest.
    public func release(_ batch: Batch.ID) {
        use { $0.release(batch) }
    }

    /// What waits, without reading anything: bytes that an earlier life left count as the size of their files.
    public var backlog: Backlog {
        state.withLock { $0.backlog }
    }

    /// Writes out what is buffered, and waits until the drive has everything that this life has written.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if any of it may still be lost with the power.
    public func synchronize() throws(SluiceError) {
        let outcome = try synchronizeWritten(includingClosed: true)
        if let failure = outcome.failure {
            throw SluiceError(.inputOutput, "what was written may not be safe from a loss of power", cause: failure)
        }
    }

    /// Writes out what is buffered, and gives the folder free for the next life.
    public func close() {
        use { $0.close() }
    }

    // MARK: Helpers

    /// Runs `body` on the open store.
    private func perform<Result>(
        _ body: (inout StoreState) throws(SluiceError) -> Result
    ) throws(SluiceError) -> Result {
        try use { state throws(SluiceError) in
            try state.enter()
            return try body(&state)
        }
    }

    /// Runs `body` with the lock held, and hands on afterwards what it has to say.
    private func use<Result, Failure: Error>(
        _ body: (inout StoreState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var notes: [String] = []
        var observer: StoreObserver?
        defer {
            for note in notes { observer?.note(note) }
        }
        return try state.withLock { state throws(Failure) in
            defer {
                if !state.notes.isEmpty {
                    notes = state.takeNotes()
                    observer = state.observer
                }
            }
            return try body(&state)
        }
    }

    // MARK: Synchronising

    private func synchronizeWritten(includingClosed: Bool) throws(SluiceError) -> StoreState.Synchronized {
        let work = try perform { state throws(SluiceError) in
            try state.flushAll()
            return state.unsynchronized(includingClosed: includingClosed)
        }
        let outcome = work.synchronize()
        use { $0.finish(work, outcome) }
        return outcome
    }

    private func startSynchronization() {
        guard let interval = configuration.interval else { return }
        let time = configuration.environment.time
        let deadline = time.continuousTime() + interval
        Task { [weak self] in
            do {
                try await time.sleep(until: deadline)
                _ = try self?.synchronizeWritten(includingClosed: false)
            } catch {
                // Closed meanwhile; a failure of the drive has been reported where it was found.
            }
            self?.endSynchronization()
        }
    }

    /// Whether no synchronisation is due.
    var isIdle: Bool {
        state.withLock { !$0.isSynchronizationScheduled }
    }

    private func endSynchronization() {
        let isDue = use { state in
            state.isSynchronizationScheduled = false
            return state.phase == .open && state.scheduleSynchronization()
        }
        if isDue { startSynchronization() }
    }
}
