internal import Sluice

extension StoreState {
    /// Makes new segments as large as the requested size, so that each of them is one batch.
    mutating func setTarget(_ size: BatchSize) {
        let (events, bytes) = (configuration.segmentEvents, configuration.segmentBytes)
        segmentSize.events = min(max(size.events, events.lowerBound), events.upperBound)
        segmentSize.bytes = min(max(size.bytes, bytes.lowerBound), bytes.upperBound)
    }

    /// Hands out the next segment: the oldest one of the highest priority.
    mutating func takeSegment() throws(SluiceError) -> Segment? {
        var failure: FileError?
        repeat {
            for lane in appenders.indices.reversed() {
                if let segment = handOutNext(appenders[lane].priority) { return segment }
                do throws(FileError) {
                    try closeSegment(lane)
                } catch {
                    failure = error
                }
                if let segment = handOutNext(appenders[lane].priority) { return segment }
            }
        } while findMore()
        if let failure {
            throw SluiceError(.inputOutput, "buffered events could not be written: see the cause", cause: failure)
        }
        return nil
    }

    private mutating func handOutNext(_ priority: Event.Priority) -> Segment? {
        while let segment = stored.index.firstWaiting(priority) {
            guard stored.isExpired(segment) else {
                stored.index.handOut(segment)
                return segment
            }
            stored.expire(segment)
        }
        return nil
    }

    /// Looks for events elsewhere. Call it when nothing waits.
    ///
    /// - Returns: whether there is something to deliver now.
    mutating func findMore() -> Bool {
        repeat {
            while let claim = stored.directories.claimAnother(
                room: usage.fileBytes == 0 ? .max : configuration.capacity - usage.fileBytes)
            {
                stored.take([claim])
                stored.index.markImplausibleAges(at: stored.directories.clock.now, maximumAge: configuration.maximumAge)
                evict(downTo: configuration.capacity, for: .critical)
                if stored.index.usage.unreadBytes > 0 { return true }
            }
        } while stored.directories.isFull && batches.leaveStuckDirectory(in: &stored)
        return batches.retryUnreadable(in: &stored, at: now)
    }

    /// Call this after a batch was settled. Delivery asks no store for batches whose backlog is empty.
    mutating func settled() {
        guard phase == .open else { return }
        // The dead letters of the batch were counted twice until now.
        stored.evictDeadLetters(downTo: configuration.capacity - openBytes)
        findMoreIfEmpty()
    }

    mutating func findMoreIfEmpty() {
        if usage.events == 0, usage.unreadBytes == 0 { _ = findMore() }
    }

    // MARK: Capacity

    /// Makes sure that `size` more bytes fit, if necessary by evicting dead letters and segments.
    mutating func makeRoom(for size: Int, _ priority: Event.Priority) throws(SluiceError) {
        guard !hasRoom(for: size) else { return }
        let capacity = configuration.capacity
        guard size <= capacity else {
            throw SluiceError(
                .eventTooLarge, "an event of \(size) bytes in a store of \(capacity): raise its capacity")
        }
        stored.removeUnremoved()
        // Nothing is evicted if it would not be enough.
        if usage.fileBytes - evictableBytes(for: priority) + size <= capacity {
            evict(downTo: capacity - size, for: priority)
        }
        guard storedBytes + size <= capacity else {
            throw SluiceError(
                .storageFull, "all \(capacity) bytes hold events that may not make room for this one")
        }
    }

    func hasRoom(for size: Int) -> Bool { storedBytes + size <= configuration.capacity }

    /// The size of the open segments and of the buffers.
    var openBytes: Int {
        var bytes = 0
        // A loop over the elements would copy and retain them for each event.
        for lane in appenders.indices { bytes += appenders[lane].fileBytes }
        return bytes
    }

    private var storedBytes: Int { stored.fileBytes + openBytes }

    private func evictableBytes(for priority: Event.Priority) -> Int {
        appenders.prefix { $0.priority <= priority }.reduce(0) { bytes, appender in
            let open = appender.priority < priority ? appender.fileBytes : 0
            return bytes + stored.index.evictableBytes(appender.priority) + open
        }
    }

    /// Evicts dead letters, then segments, the lowest priority first and the oldest first, until at most `limit` bytes are
    /// left or nothing more may be evicted for an event of this priority.
    mutating func evict(downTo limit: Int, for incoming: Event.Priority) {
        stored.evictDeadLetters(downTo: limit - openBytes)
        let priorities = Event.Priority.allCases.filter { $0 <= incoming }  // mutant: evict-highest-first
        for priority in priorities {
            while storedBytes > limit {
                let lane = Int(priority.rawValue)
                // mutant: evict-newest-first, evict-in-flight
                if let segment = stored.index.firstWaiting(priority) {
                    guard stored.evict(segment) else { return }
                    continue
                }
                guard priority < incoming, appenders[lane].usage.events > 0 else { break }
                // The open segment goes before any event of a higher priority.
                do throws(FileError) {
                    try closeSegment(lane)
                } catch {
                    break
                }
            }
        }
    }

    // MARK: Deletion by others

    /// Accounts for files that someone else has deleted. The next write creates a new directory if necessary.
    mutating func handleDeletedDirectory() {
        for lane in appenders.indices {
            guard let writer = appenders[lane].writer, writer.isDeleted else { continue }
            _ = appenders[lane].takeWriter()
            writer.directory.segments -= 1
            stored.observer.dropped(writer.usage.events, .vanished)
        }
        for segment in stored.index.segments where segment.condition == .waiting && stored.isMissing(segment.path) {
            stored.lost(segment)
        }
        for file in stored.deadLetters.files where stored.isMissing(file.path) {
            stored.observer.deadLettersDropped(stored.deadLetters.forget(file), .vanished)
        }
        stored.removeUnremoved()
        for lane in appenders.indices { closeWriter(lane) }
        guard stored.directories.dropDeletedDirectory() else { return }
        stored.notes.append(
            "someone has deleted the store's directory or closed its files: events are now stored in a new directory")
    }
}
