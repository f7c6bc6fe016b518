public import Sluice

/// A store on disk: a directory of JSON Lines files that outlive the process. You can read them with `jq` and `grep`.
///
/// ```swift
/// let pipeline = try Pipeline {
///     JSONLStore(at: stateDirectory)
///     StdoutTransport()
/// }
/// ```
///
/// By default an event survives the end of the process for any reason, `kill -9` included, as soon as ``append(_:)``
/// returns; see ``Durability``. The next process that uses the directory delivers the events that are left in it.
/// Several processes and routes may share a directory: each has its own subdirectories. You choose the level of
/// durability when you create the store:
///
/// ```swift
/// let store = JSONLStore(at: stateDirectory, durability: .interval(milliseconds: 500))
/// ```
///
/// When the store is full, it evicts dead letters first, then whole segments: the lowest priority first, and within a
/// priority the oldest first. It never evicts events of an open batch, which was handed out and isn't settled, or events
/// with a higher priority than the incoming one. If even that would not be enough, nothing is evicted, and the incoming
/// event is refused. You can raise the capacity:
///
/// ```swift
/// let large = JSONLStore(at: stateDirectory, capacity: 100 << 20)
/// ```
///
/// Events that are too old are dropped. You can choose the age:
///
/// ```swift
/// let brief = JSONLStore(at: stateDirectory, maximumAge: .seconds(7 * 86_400))
/// ```
///
/// Each line carries a CRC-32C. A damaged line is skipped and counted, never delivered. Rejected events are kept as dead
/// letters in segments of their own. You list, replay and discard them with your pipeline:
///
/// ```swift
/// for letter in try await pipeline.deadLetters() { print(letter.reason) }
/// ```
///
/// Replay them when the receiver accepts them. They then wait like new events:
///
/// ```swift
/// try await pipeline.replayDeadLetters { $0.reason.contains("400") }
/// ```
///
/// ## Levels of durability
/// Choose ``Durability/buffered`` for the highest speed, if a crash may take some events:
///
/// ```swift
/// let fast = JSONLStore(at: stateDirectory, durability: .buffered)
/// ```
///
/// Choose ``Durability/full`` if a loss of power must take no event:
///
/// ```swift
/// let safe = JSONLStore(at: stateDirectory, durability: .full)
/// ```
///
/// ## Using a store without a pipeline
/// A tool or a test can use a store of its own. Open it first. Then read the waiting events:
///
/// ```swift
/// let inspected = JSONLStore(at: stateDirectory)
/// try inspected.open()
/// print(inspected.backlog.events)
/// ```
///
/// You can wait until the drive has all events:
///
/// ```swift
/// try inspected.synchronize(while: { !Task.isCancelled })
/// ```
///
/// Close the store at the end. The next process delivers the events that are left:
///
/// ```swift
/// inspected.close()
/// ```
///
/// Its clocks and random numbers are the ones of the pipeline that opens it. Without a pipeline, pass an environment:
///
/// ```swift
/// let repeatable = JSONLStore(at: stateDirectory)
/// try repeatable.open(in: .virtual(VirtualTime(), seed: 42))
/// ```
public final class JSONLStore: Store {
    let access: StateAccess
    private let synchronizer: Synchronizer
    let deadLetterAccess: DeadLetterAccess
    let erasureAccess: ErasureAccess

    private var configuration: Configuration { access.configuration }

    /// Creates a store. A pipeline opens it.
    ///
    /// ```swift
    /// let store = JSONLStore(at: stateDirectory, maximumEventBytes: 65_536)
    /// ```
    ///
    /// - Parameters:
    ///   - directory: the place for the events. If it is missing, it is created with its parents (0700). Otherwise it must
    ///     be a directory that belongs to this user. A relative path is resolved by this call.
    ///   - durability: the failures that an accepted event survives.
    ///   - capacity: the most bytes of events and dead letters to keep on disk: 10 MiB by default. Each process that shares
    ///     the directory has this capacity. Until a batch is settled, its dead letters may exceed it.
    ///   - maximumAge: the age from which events and dead letters are dropped: 25 days by default. They are dropped a
    ///     segment at a time, so up to 4 % late. While the machine runs, the age follows the monotonic clock, also from one
    ///     process to the next. The time for which the machine was off counts by the wall clock, up to a year, or up to
    ///     `maximumAge` if that is longer. So a wall clock that has lost its time expires nothing.
    ///   - maximumEventBytes: the longest event to accept: 1 MB by default, at most 512 MiB.
    ///   - encryption: encrypts the lines if you pass one.
    public convenience init(
        at directory: String,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        encryption: LineEncryption? = nil
    ) {
        self.init(
            at: directory, durability: durability, capacity: capacity, maximumAge: maximumAge,
            maximumEventBytes: maximumEventBytes, encryption: encryption, files: SystemFileSystem())
    }

    /// Creates a store on another file system.
    package init(
        at directory: String,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        encryption: LineEncryption? = nil,
        files: any FileSystem
    ) {
        let configuration = Configuration(
            directory: FilePath.absolute(directory, in: files), durability: durability, capacity: capacity,
            maximumAge: min(maximumAge, Configuration.longestAge),
            maximumEventBytes: min(maximumEventBytes, 1 << 29),
            encryption: encryption, maximumFileBytes: files.maximumFileBytes)
        access = StateAccess(configuration, files: files)
        synchronizer = Synchronizer(access)
        deadLetterAccess = DeadLetterAccess(access: access, synchronizer: synchronizer)
        erasureAccess = ErasureAccess(access: access, deadLetters: deadLetterAccess)
    }

    deinit {
        close()
    }

    // MARK: Store

    /// Opens the store and takes over the events of earlier processes. A pipeline calls this method for you.
    ///
    /// It reads directories and dead letters, but no events, except to count the events that it must evict or expire
    /// immediately.
    ///
    /// It takes over three directories at a time, and the next ones when nothing waits.
    ///
    /// A full disk is not an error: stored events can be delivered.
    ///
    /// - Throws: ``SluiceError/Code/storageUnavailable`` with advice if the directory can't be created or written to,
    ///   is a file or a symbolic link, or belongs to another user, or if its files can't be synchronized and the
    ///   durability needs that. ``SluiceError/Code/invalidPipeline`` if this store was opened before, or if another
    ///   pipeline of this process uses the directory for a route of the same name. ``SluiceError/Code/invalidArgument``
    ///   if a limit or an interval is not positive.
    public func open(
        _ observer: StoreObserver = StoreObserver(), in environment: PipelineEnvironment = PipelineEnvironment()
    ) throws(SluiceError) {
        try configuration.validate()
        try access.open(observer, in: environment)
        deadLetterAccess.read(access.read(\.stored.unreadLetters))
        deadLetterAccess.finish()
        access.use { $0.enforceLimits() }
    }

    /// Writes one event to the end of its segment. You can call this method from any thread.
    ///
    /// ```swift
    /// try store.append(EventLine(Event(name: "Purchase")))
    /// ```
    ///
    /// - Throws: ``SluiceError/Code/storageFull`` if nothing may be evicted for the event.
    ///   ``SluiceError/Code/eventTooLarge`` or ``SluiceError/Code/malformedLine`` if the line is too long or isn't an
    ///   object on one line. ``SluiceError/Code/inputOutput`` if it can't be written; the next event may succeed. The
    ///   refused event is not stored. If the file system doesn't even allow its removal, a later process may deliver
    ///   it.
    public func append(_ line: EventLine) throws(SluiceError) {
        let stored = try prepare(line)
        // Read outside the lock, because reading the clock takes a considerable part of an append.
        let now = access.now
        let due = try access.perform { state throws(SluiceError) in
            try state.appenders.append(stored, Lane(line.priority), at: now, &state.stored)
            return state.dueSynchronization()
        }
        if let due { synchronizer.follow(due) }
    }

    /// Writes several events with one write for each segment, and with ``Durability/full`` one synchronization. A segment has up
    /// to 500 events of one priority.
    ///
    /// ```swift
    /// let lines = try requests.map { try EventLine(Event(name: $0.path, time: $0.time)) }
    /// let errors = store.append(contentsOf: lines)
    /// ```
    ///
    /// If a write fails, each of its events is tried on its own. If the file system doesn't even allow the removal of
    /// the part that it has written, a later process may deliver some of them twice.
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
            let (newErrors, due) = try access.perform { state throws(SluiceError) in
                let now = state.stored.directories.continuousTime
                let errors = state.appenders.append(entries, isLimited: true, at: now, &state.stored)
                return (errors, state.dueSynchronization())
            }
            errors.merge(newErrors) { $1 }
            if let due { synchronizer.follow(due) }
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

    /// The number and size of the waiting events. Events of earlier processes count as the size of their files until they
    /// are read, and don't count until their directory is taken over.
    public var backlog: Backlog {
        access.read { $0.backlog }
    }

    /// The most bytes of events and dead letters that it keeps.
    public var capacity: Int { configuration.capacity }

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

    /// Writes buffered events, and leaves all events to the next process. A pipeline calls this method when you shut it
    /// down.
    ///
    /// With ``Durability/interval(milliseconds:)`` it synchronizes at most eight files, because a shutdown must keep
    /// its deadline. If you have more time, call ``synchronize(while:)`` before, as ``Pipeline/shutdown(timeout:)``
    /// does.
    public func close() {
        deadLetterAccess.finish()
        // If this fails, the store is closed, or can't write, which closing it reports.
        if configuration.interval != nil { _ = SluiceError.of(try synchronizer.run(most: 8)) }
        access.use { $0.close() }
    }

    // MARK: Dead letters

    /// Writes rejected events to a segment of dead letters, and synchronizes them if the durability promises anything for a
    /// loss of power.
    ///
    /// This marks their events, as ``settle(_:of:)`` does. Otherwise they would come back when the dead letters are evicted or
    /// expire before the batch is settled. If they can't be written, they are kept in memory until a retry succeeds, and the
    /// files with their events stay on disk. An event that isn't in the batch, or is rejected a second time, is ignored.
    public func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        deadLetterAccess.reject(letters, in: batch)
    }

    /// Reads all dead letters, oldest first, including the letters of earlier processes. Damaged ones are removed,
    /// and counted as ``DropReason/corrupt``.
    ///
    /// ```swift
    /// let letters = try store.deadLetters()
    /// ```
    ///
    /// - Throws: ``SluiceError/Code/inputOutput`` if a file can't be read.
    public func deadLetters() throws(SluiceError) -> [DeadLetter] {
        try deadLetterAccess.letters(nil).flatMap(\.letters)
    }

    /// Appends the events of dead letters to the waiting events, and removes the dead letters.
    ///
    /// ```swift
    /// let count = try store.replayDeadLetters(Set(letters.map(\.id)))
    /// ```
    ///
    /// The capacity doesn't matter: a dead letter takes more room than its event. If the process ends in between, an event
    /// can wait and stay a dead letter.
    ///
    /// - Returns: the number of events that wait to be delivered. Unknown ids are ignored. If an event can't be
    ///   written, it and the remaining ones stay dead letters.
    /// - Throws: ``SluiceError/Code/inputOutput`` if no event can be read or written.
    public func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try deadLetterAccess.replay(ids)
    }

    /// Deletes dead letters.
    ///
    /// ```swift
    /// let count = try store.discardDeadLetters(Set(letters.map(\.id)))
    /// ```
    ///
    /// - Returns: the number of deleted dead letters. Unknown ids are ignored.
    /// - Throws: ``SluiceError/Code/inputOutput`` if a file can't be read or changed. If it has dead letters, the store retries
    ///   this: they are not listed any more, but a later process may find them. If it has waiting events, the dead letters stay:
    ///   without them, a later process would deliver their events.
    public func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        try deadLetterAccess.discard(ids)
    }
}

extension DropReason {
    /// The file of the event can't be read now. If it can be read later, the event counts as
    /// ``RouteLedger/recovered`` and is delivered. If the file is evicted, expires or is deleted before, its events count as
    /// recovered too, and then as lost for that reason. You find the count in the ledger:
    ///
    /// ```swift
    /// for route in pipeline.ledger.routes { print(route.dropped[.unreadable] ?? 0) }
    /// ```
    public static let unreadable = DropReason(rawValue: "unreadable")
}
