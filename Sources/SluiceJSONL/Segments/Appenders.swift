internal import Sluice

/// The open segments of a store, one for each lane, and the room for new lines.
struct Appenders {
    /// One of several lines that are appended together.
    struct Entry {
        let index: Int
        let line: StoredLine
        let lane: Lane
    }

    private let configuration: Configuration
    private var appenders = Lane.allCases.map { Appender($0) }
    /// The size at which an open segment is full.
    private(set) var segmentSize: BatchSize

    init(_ configuration: Configuration) {
        self.configuration = configuration
        segmentSize = BatchSize(
            events: configuration.segmentEvents.upperBound, bytes: configuration.segmentBytes.upperBound)
    }

    /// Makes new segments as large as the requested size. Each of them is then one batch.
    mutating func setTarget(_ size: BatchSize) {
        let (events, bytes) = (configuration.segmentEvents, configuration.segmentBytes)
        segmentSize.events = min(max(size.events, events.lowerBound), events.upperBound)
        segmentSize.bytes = min(max(size.bytes, bytes.lowerBound), bytes.upperBound)
    }

    // MARK: Sizes

    func usage(_ lane: Lane) -> Usage { appenders[lane.rawValue].usage }

    var usageOfEvents: Usage { usage(.normal) + usage(.critical) }

    /// The size of the open segments and of the buffers.
    private var fileBytes: Int {
        var bytes = 0
        // A loop over the elements would copy and retain them for each event.
        for lane in appenders.indices { bytes += appenders[lane].fileBytes }
        return bytes
    }

    private func bytes(_ stored: StoredFiles) -> Int {
        stored.index.fileBytes + fileBytes + stored.directories.spares.bytes
    }

    private func hasRoom(for size: Int, _ stored: StoredFiles) -> Bool {
        bytes(stored) + size <= configuration.capacity
    }

    // MARK: Appending

    mutating func append(
        _ line: StoredLine, _ lane: Lane, at now: Duration, _ stored: inout StoredFiles
    ) throws(SluiceError) {
        try makeRoom(for: line.size, lane, &stored)
        try store(line, lane, at: now, &stored)
    }

    /// Appends lines with one write for each segment.
    ///
    /// The capacity holds if `isLimited`.
    ///
    /// - Returns: the errors of the lines that are refused, by their indices.
    mutating func append(
        _ entries: [Entry], isLimited: Bool, at now: Duration, _ stored: inout StoredFiles
    ) -> [Int: SluiceError] {
        var errors: [Int: SluiceError] = [:]
        // For each lane, the positions of the lines in its buffer.
        var unwritten = appenders.map { _ in [Int]() }
        for position in entries.indices {
            let (line, lane) = (entries[position].line, entries[position].lane)
            do throws(SluiceError) {
                if isLimited {
                    // Eviction can close a segment, so none of these lines may be in its buffer.
                    if !hasRoom(for: line.size, stored) { for lane in Lane.allCases { write(lane) } }
                    try makeRoom(for: line.size, lane, &stored)
                }
                // Otherwise the buffer can begin with other lines, and is written in large parts anyway.
                guard !configuration.isBuffered(lane) else {
                    try store(line, lane, at: now, &stored)
                    continue
                }
            } catch {
                errors[entries[position].index] = error
                continue
            }
            while !appenders[lane.rawValue].add(line, at: now, segmentSize) {
                write(lane)
                closeWriter(lane, &stored)
            }
            unwritten[lane.rawValue].append(position)
        }
        for lane in Lane.allCases { write(lane) }
        return errors

        /// Writes a lane's buffer, which has its unwritten lines. If that fails, each of them is tried on its own.
        func write(_ lane: Lane) {
            let positions = unwritten[lane.rawValue]
            guard !positions.isEmpty else { return }
            unwritten[lane.rawValue].removeAll(keepingCapacity: true)
            do throws(FileError) {
                try flush(lane, at: now, &stored)
            } catch {
                for position in positions.reversed() { appenders[lane.rawValue].removeLast(entries[position].line) }
                for position in positions {
                    errors[entries[position].index] = SluiceError.of(
                        try store(entries[position].line, lane, at: now, &stored))
                }
            }
        }
    }

    /// Appends a line without regard to the capacity.
    private mutating func store(
        _ line: StoredLine, _ lane: Lane, at now: Duration, _ stored: inout StoredFiles
    ) throws(SluiceError) {
        let index = lane.rawValue
        do throws(FileError) {
            while !appenders[index].add(line, at: now, segmentSize) { try close(lane, at: now, &stored) }
            if configuration.isBuffered(lane), appenders[index].bufferedBytes < configuration.bufferBytes { return }
            do throws(FileError) {
                try flush(lane, at: now, &stored)
            } catch {
                // Only this line is refused. Others in the buffer were accepted and stay.
                appenders[index].removeLast(line)
                throw error
            }
        } catch {
            throw SluiceError(.inputOutput, "the event could not be written: see the cause", cause: error)
        }
    }

    /// Writes all buffered lines.
    mutating func flush(at now: Duration, _ stored: inout StoredFiles) throws(FileError) {
        for lane in Lane.allCases { try flush(lane, at: now, &stored) }
    }

    /// Writes the buffered lines. If this throws, all of them are still in the buffer.
    private mutating func flush(_ lane: Lane, at now: Duration, _ stored: inout StoredFiles) throws(FileError) {
        var attempts = 8
        while true {
            do throws(FileError) {
                return try appenders[lane.rawValue].flush(to: &stored.directories, at: now)
            } catch {
                guard error == .noSuchFile else {
                    freeSpares(&stored)
                    closeWriter(lane, &stored)
                    throw error
                }
                // The directory is gone. The next attempt creates it, and may fail while a deletion goes on.
                handleGoneDirectory(&stored)
                attempts -= 1
                guard attempts > 0 else { throw error }
            }
        }
    }

    /// Closes the open segment of a lane, if there is one.
    mutating func close(_ lane: Lane, at now: Duration, _ stored: inout StoredFiles) throws(FileError) {
        try flush(lane, at: now, &stored)
        closeWriter(lane, &stored)
    }

    /// Closes all open segments. Lines that can't be written are lost.
    mutating func closeAll(at now: Duration, _ stored: inout StoredFiles) {
        for lane in Lane.allCases {
            if FileError.of(try close(lane, at: now, &stored)) != nil {
                closeWriter(lane, &stored)
                stored.dropped(appenders[lane.rawValue].takeBuffered().count, .storeFailed, lane)
            }
        }
    }

    /// Closes the segment of dead letters if its first one is so old that no more may be added.
    mutating func closeOldDeadLetters(_ stored: inout StoredFiles) {
        guard let writer = appenders[Lane.rejected.rawValue].writer, stored.directories.continuousTime > writer.deadline
        else { return }
        closeWriter(.rejected, &stored)
    }

    /// Closes the file of the open segment, and returns it to its place. Buffered lines stay for the next one.
    mutating func closeWriter(_ lane: Lane, _ stored: inout StoredFiles) {
        guard let writer = appenders[lane.rawValue].takeWriter() else { return }
        // Others may have appended much more than a segment has.
        let segment = Segment(
            writer.name, created: writer.created, in: writer.directory.path, at: writer.path,
            fileBytes: min(writer.seal(), configuration.largestSegment), usage: writer.usage)
        if writer.isForsaken { stored.stopReusing() }
        guard writer.usage.count > 0 else { return stored.remove(segment) }
        if lane.holdsEvents { segment.file = stored.directories.spares.keep(writer.file) }
        stored.index.insertSorted(segment)
        if writer.isMoved { stored.restore(segment, writer.file) }
        if !writer.isSynchronized { stored.directories.synchronization.add(segment.path) }
    }

    // MARK: Synchronizing

    /// The open segments that a loss of power could still take.
    var unsynchronized: [PendingSynchronization.Item] {
        appenders.indices.compactMap { appenders[$0].unsynchronized }
    }

    /// Marks an open segment as safe as far as it was written, or as one that the drive has failed to keep.
    ///
    /// - Returns: false if the segment isn't open any more.
    mutating func finish(
        _ item: PendingSynchronization.Item, hasFailed: Bool, _ stored: inout StoredFiles
    ) -> Bool {
        guard let lane = item.lane, let writer = appenders[lane.rawValue].writer, writer.path == item.path else {
            return false
        }
        if hasFailed || writer.usage.fileBytes == item.version { writer.isSynchronized = true }
        if hasFailed {
            stored.stopReusing()
            closeWriter(lane, &stored)
        }
        return true
    }

    // MARK: Capacity

    /// Makes sure that `size` more bytes fit, if necessary by evicting segments.
    private mutating func makeRoom(for size: Int, _ lane: Lane, _ stored: inout StoredFiles) throws(SluiceError) {
        guard !hasRoom(for: size, stored) else { return }
        let capacity = configuration.capacity
        guard size <= capacity else {
            throw SluiceError(
                .eventTooLarge, "an event of \(size) bytes in a store of \(capacity): raise its capacity")
        }
        stored.removeUnremoved()
        freeSpares(&stored)
        if hasRoom(for: size, stored) { return }
        // Nothing is evicted if it would not be enough.
        if canFree(bytes(stored) + size - capacity, for: lane, stored) {
            evict(downTo: capacity - size, for: lane, &stored)
        }
        guard hasRoom(for: size, stored) else {
            throw SluiceError(
                .storageFull, "all \(capacity) bytes hold events that may not make room for this one")
        }
    }

    /// Frees the disk of everything that isn't an event.
    private mutating func freeSpares(_ stored: inout StoredFiles) {
        stored.directories.spares.removeAll(in: stored.files)
        for lane in appenders.indices { appenders[lane].cutRest() }
    }

    /// Whether the segments that may be evicted for a line of this lane have as many bytes.
    private func canFree(_ bytes: Int, for incoming: Lane, _ stored: StoredFiles) -> Bool {
        var rest = bytes
        for lane in Lane.allCases where lane <= incoming {
            if lane < incoming { rest -= appenders[lane.rawValue].usage.fileBytes }
            rest -= stored.index.evictableBytes(lane, upTo: rest)
        }
        return rest <= 0
    }

    /// Evicts segments, until at most `limit` bytes are left or nothing more may be evicted for a line of this lane: the lowest
    /// lane first, and within a lane the unreadable ones and then the oldest first.
    mutating func evict(downTo limit: Int, for incoming: Lane, _ stored: inout StoredFiles) {
        guard bytes(stored) > limit else { return }
        freeSpares(&stored)
        let lanes = Lane.allCases.filter { $0 <= incoming }
        for lane in lanes {
            while bytes(stored) > limit {
                if let segment = stored.index.firstEvictable(lane) {
                    // If its file can't be removed, others can't be either.
                    guard stored.evict(segment) else { return }
                    continue
                }
                // The open segment goes before any line of a higher lane. Dead letters are no incoming lines: theirs goes too.
                guard lane < incoming || !lane.holdsEvents, appenders[lane.rawValue].usage.count > 0,
                    FileError.of(try close(lane, at: stored.directories.continuousTime, &stored)) == nil
                else { break }
            }
        }
    }

    // MARK: Deletion by others

    /// Accounts for files that others have deleted or moved. The next write creates a new directory if necessary.
    private mutating func handleGoneDirectory(_ stored: inout StoredFiles) {
        for lane in Lane.allCases { closeWriter(lane, &stored) }
        for segment in stored.index.segments where segment.condition == .waiting {
            if FileError.of(try stored.files.status(of: segment.path)) == .noSuchFile { stored.lost(segment) }
        }
        stored.removeUnremoved()
        stored.leaveGoneDirectory()
    }
}
