public import Sluice

/// A store on disk: a directory of JSON Lines files that outlive the process. You can read them with `jq` and `grep`.
///
/// By default an event survives the end of the process for any reason, `kill -9` included, as soon as ``append(_:)``
/// returns; see ``Durability``. The next process that uses the directory delivers the events that are left in it. Several
/// processes may share a directory: each has its own subdirectory.
///
/// When the store is full, it evicts dead letters first, then whole segments: those of the lowest priority first, the
/// oldest first. It never evicts events that are being delivered or that have a higher priority than the incoming event.
/// If that is not enough, the incoming event is refused.
///
/// Each line carries a CRC-32C. A damaged line is skipped and counted, never delivered. Rejected events are kept as dead
/// letters in segments of their own.
public final class JSONLStore: Store {
    private let access: StateAccess
    private let synchronizer: Synchronizer
    private let deadLetterAccess: DeadLetterAccess
    private let batchAccess: BatchAccess

    private var configuration: Configuration { access.configuration }

    /// Creates a store. A pipeline opens it.
    ///
    /// - Parameters:
    ///   - directory: the place for the events. If it is missing, it is created with its parents (0700). Otherwise it must
    ///     be a directory that belongs to this user. A relative path is resolved when the store is opened.
    ///   - durability: the failures that an accepted event survives.
    ///   - capacity: the most bytes of events and dead letters to keep on disk: 10 MiB by default. Each process that shares
    ///     the directory has this capacity. Until a batch is settled, its dead letters may exceed it.
    ///   - maximumAge: events and dead letters older than this are dropped, a segment at a time, so up to 4 % late: 25 days by default. The
    ///     age follows the monotonic clock while the process runs. Time between two processes counts only if it is shorter
    ///     than `maximumAge`, so a wall clock that is years ahead expires nothing.
    ///   - maximumEventBytes: the longest event to accept: 1 MB by default, at most 512 MiB.
    ///   - encryption: encrypts the lines if you pass one.
    ///   - environment: the clocks, and the random numbers for the name of the subdirectory.
    public convenience init(
        at directory: String,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        encryption: LineEncryption? = nil,
        environment: PipelineEnvironment = PipelineEnvironment()
    ) {
        self.init(
            at: directory, durability: durability, capacity: capacity, maximumAge: maximumAge,
            maximumEventBytes: maximumEventBytes, encryption: encryption, environment: environment,
            files: SystemFileSystem())
    }

    /// Creates a store on another file system.
    package init(
        at directory: String,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        encryption: LineEncryption? = nil,
        environment: PipelineEnvironment = PipelineEnvironment(),
        files: any FileSystem
    ) {
        let configuration = Configuration(
            directory: directory, durability: durability, capacity: capacity,
            maximumAge: min(maximumAge, Configuration.longestAge),
            maximumEventBytes: min(maximumEventBytes, 1 << 29),
            encryption: encryption, environment: environment,
            maximumFileBytes: files.maximumFileBytes)
        access = StateAccess(configuration, files: files)
        synchronizer = Synchronizer(access)
        deadLetterAccess = DeadLetterAccess(access, synchronizer)
        batchAccess = BatchAccess(access, deadLetterAccess)
    }

    deinit {
        close()
    }

    // MARK: Store

    /// Opens the store and takes over the events of earlier processes. It reads directories and dead letters, but no events,
    /// except to count those that it must evict or expire immediately.
    ///
    /// It takes over three directories at a time, and the next ones when nothing waits.
    ///
    /// A full disk is not an error: stored events can be delivered.
    ///
    /// - Throws: ``SluiceError/Code/storageUnavailable`` with advice if the directory can't be created or written to, is a
    ///   file or a symbolic link, or belongs to another user, or if its files can't be synchronized and the durability
    ///   needs that. ``SluiceError/Code/invalidPipeline`` if this store was opened
    ///   before. ``SluiceError/Code/invalidArgument`` if a limit or an interval is not positive.
    public func open(
        _ observer: StoreObserver = StoreObserver(), in environment: PipelineEnvironment = PipelineEnvironment()
    ) throws(SluiceError) {
        try configuration.validate()
        try access.use { state throws(SluiceError) in try state.open(observer) }
        deadLetterAccess.readEarlier()
        deadLetterAccess.finish()
        access.use { $0.enforceLimits() }
    }

    /// Writes one event to the end of its segment. You can call this method from any thread.
    ///
    /// - Throws: ``SluiceError/Code/storageFull`` if nothing may make room for the event.
    ///   ``SluiceError/Code/eventTooLarge`` or ``SluiceError/Code/malformedLine`` if the line is too long or isn't an object
    ///   on one line. ``SluiceError/Code/inputOutput`` if it can't be written; the next event may succeed. The refused event
    ///   is not stored, unless the file system doesn't even allow to remove it: then a later process may deliver it.
    public func append(_ line: EventLine) throws(SluiceError) {
        let stored = try prepare(line)
        // Read outside the lock, because reading the clock takes a considerable part of an append.
        let now = configuration.now
        let isDue = try access.perform { state throws(SluiceError) in
            try state.append(stored, Lane(line.priority), at: now)
            return state.scheduleSynchronization()
        }
        if isDue { synchronizer.start() }
    }

    /// Writes several events with one write for each segment, and with ``Durability/full`` one synchronization. A segment has up
    /// to 500 events of one priority.
    ///
    /// If a write fails, each of its events is tried on its own. If the file system doesn't even allow to remove the part
    /// that it has written, a later process may deliver some of them twice.
    ///
    /// - Returns: the errors of the events that are not stored: see ``append(_:)``.
    public func append(contentsOf lines: [EventLine]) -> [Int: SluiceError] {
        var errors: [Int: SluiceError] = [:]
        var entries: [Appenders.Entry] = []
        entries.reserveCapacity(lines.count)
        for (index, line) in lines.enumerated() {
            do throws(SluiceError) {
                entries.append(.init(index: index, line: try prepare(line), lane: Lane(line.priority)))
            } catch {
                errors[index] = error
            }
        }
        do throws(SluiceError) {
            let (newErrors, isDue) = try access.perform { state throws(SluiceError) in
                (state.append(entries), state.scheduleSynchronization())
            }
            errors.merge(newErrors) { $1 }
            if isDue { synchronizer.start() }
        } catch {
            for entry in entries { errors[entry.index] = error }
        }
        return errors
    }

    private func prepare(_ line: EventLine) throws(SluiceError) -> StoredLine {
        guard line.bytes.count <= configuration.maximumEventBytes else {
            throw SluiceError(
                .eventTooLarge,
                "an event of \(line.bytes.count) bytes, of at most \(configuration.maximumEventBytes): "
                    + "send less in it, or raise the store's maximumEventBytes")
        }
        if !line.isEncoded, !LineFormat.canStore(line.bytes) {
            throw SluiceError(.malformedLine, "an event must be one JSON object without a newline")
        }
        return try StoredLine(line.bytes, configuration.encryption)
    }

    /// Hands out the oldest segment of the highest priority as one batch, or several small ones together.
    ///
    /// Segments of one priority are joined, in their order, as long as all of their events fit into the requested size and
    /// into one full segment. The open segment is closed for that. Later segments get the requested size, between 20 and 500
    /// events.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if a segment can't be read at present. After three attempts it is skipped,
    ///   so that it doesn't block later events, and its events count as ``DropReason/unreadable``. It is tried again
    ///   by the next call when nothing else waits, which delivery makes after the next event. If that succeeds, its events
    ///   count as recovered and come after later ones.
    public func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try batchAccess.next(size)
    }

    /// Removes the batch's files.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if a file can't be removed, or must stay because rejected events of the
    ///   batch can't be written. Removing it is tried again. Its events are not handed out again in this process, but may
    ///   be in a later one.
    public func settle(_ batch: Batch.ID) throws(SluiceError) {
        try batchAccess.settle(batch)
    }

    /// The number and size of the waiting events. Events of earlier processes count as the size of their files until they
    /// are read, and don't count until their directory is taken over.
    public var backlog: Backlog {
        access.read { $0.backlog }
    }

    /// Writes buffered events, and waits until the drive has everything that this process has written: one file after
    /// another, the oldest first. Other threads can append in the meantime.
    ///
    /// - Parameter mayContinue: returns whether there is time for another file. The next call continues with the rest.
    /// - Throws: ``SluiceError/Code/inputOutput`` if events may still be lost with the power.
    public func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {
        deadLetterAccess.finish()
        if let failure = try synchronizer.run(while: mayContinue) {
            throw SluiceError(.inputOutput, "events may not survive a loss of power", cause: failure)
        }
    }

    /// Writes buffered events, and leaves all events to the next process.
    ///
    /// With ``Durability/interval(milliseconds:)`` it synchronizes at most eight files, so that a shutdown keeps its
    /// deadline. Call ``synchronize(while:)`` before if you have more time, as ``Pipeline/shutdown(timeout:)`` does.
    public func close() {
        deadLetterAccess.finish()
        if configuration.interval != nil { synchronizer.runBriefly() }
        access.use { $0.close() }
    }

    // MARK: Dead letters

    /// Writes rejected events to a segment of dead letters, and synchronizes them if the durability promises anything for a
    /// loss of power.
    ///
    /// If they can't be written, they are kept in memory and tried again, and the files with their events stay on
    /// disk. An event that isn't in the batch, or is rejected a second time, is ignored.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        deadLetterAccess.reject(letters, in: batch)
    }

    /// Reads all dead letters, oldest first, including those of earlier processes. Damaged ones are removed,
    /// and counted as ``DropReason/corrupt``.
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if a file can't be read.
    public func deadLetters() throws(SluiceError) -> [DeadLetter] {
        try deadLetterAccess.letters(nil).flatMap(\.letters)
    }

    /// Appends the events of dead letters to the waiting events, and removes the dead letters.
    ///
    /// The capacity doesn't matter: a dead letter takes more room than its event. If the process ends in between, an event
    /// can wait and stay a dead letter.
    ///
    /// - Returns: the number of events that wait again. Unknown ids are ignored. If an event can't be written, it and the
    ///   remaining ones stay dead letters.
    /// - Throws: ``SluiceError/Code/inputOutput`` if no event can be read or written.
    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try deadLetterAccess.replay(ids)
    }

    /// Deletes dead letters.
    ///
    /// - Returns: the number of deleted dead letters. Unknown ids are ignored.
    /// - Throws: ``SluiceError/Code/inputOutput`` if a file can't be replaced. This is tried again, and the dead letters are
    ///   not listed any more, but a later process may find them.
    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try deadLetterAccess.discard(ids)
    }
}

extension DropReason {
    /// The file of the event can't be read at present. If it can be read later, the event counts as
    /// ``RouteLedger/recovered`` and is delivered.
    public static let unreadable = DropReason(rawValue: "unreadable")
}
