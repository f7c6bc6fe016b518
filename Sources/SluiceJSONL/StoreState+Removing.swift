internal import Sluice
internal import SluiceFiles

extension StoreState {
    // MARK: Capacity

    /// Makes sure that `size` more bytes fit, if necessary by evicting dead letters and segments.
    mutating func makeRoom(for size: Int, _ priority: Event.Priority) throws(SluiceError) {
        let capacity = configuration.capacity
        guard storedBytes + size > capacity else { return }
        guard size <= capacity else {
            throw SluiceError(
                .eventTooLarge, "an event of \(size) bytes in a store of \(capacity): raise its capacity")
        }
        removeUnremoved()
        // Nothing is evicted if it would not be enough.
        if usage.fileBytes - evictableBytes(for: priority) + size <= capacity {
            evict(downTo: capacity - size, for: priority)
        }
        guard storedBytes + size <= capacity else {
            throw SluiceError(
                .storageFull, "all \(capacity) bytes hold events that may not make room for this one")
        }
    }

    private var storedBytes: Int { usage.fileBytes + deadLetters.bytes }

    private func evictableBytes(for priority: Event.Priority) -> Int {
        appenders.prefix { $0.priority <= priority }.reduce(0) { bytes, appender in
            let open = appender.priority < priority ? appender.usage.fileBytes : 0
            return bytes + index.evictableBytes(appender.priority) + open
        }
    }

    /// Evicts dead letters, then segments, the lowest priority first and the oldest first, until at most `limit` bytes are
    /// left or nothing more may be evicted for an event of this priority.
    mutating func evict(downTo limit: Int, for incoming: Event.Priority) {
        evictDeadLetters(downTo: limit)
        let priorities = Event.Priority.allCases.filter { $0 <= incoming }  // mutant: evict-highest-first
        for priority in priorities {
            while storedBytes > limit {
                let lane = Int(priority.rawValue)
                // mutant: evict-newest-first
                if let segment = index.firstWaiting(priority) {
                    guard evict(segment) else { return }
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

    mutating func evictDeadLetters(downTo limit: Int) {
        while storedBytes > limit, let file = deadLetters.files.first {
            do throws(FileError) {
                observer.deadLettersDropped(try deadLetters.evict(file, files), .evicted)
                synchronization.remove(file.path)
            } catch {
                return
            }
        }
    }

    /// - Returns: false if files can't be removed.
    private mutating func evict(_ segment: Segment) -> Bool {
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
        synchronization.remove(segment.path)
    }

    /// Removes a retired segment's file now, or as soon as possible.
    mutating func remove(_ segment: Segment) {
        if deadLetters.isPending(segment) { return unremoved.append(segment) }
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

    mutating func removeUnremoved() {
        guard !unremoved.isEmpty else { return }
        let segments = unremoved
        unremoved = []
        for segment in segments { remove(segment) }
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
            // Its dead letters stay there, with its lock.
        }
    }

    // MARK: Deletion by others

    /// Accounts for files that someone else has deleted. The next write creates a new directory if necessary.
    mutating func handleDeletedDirectory() {
        for lane in appenders.indices {
            guard let writer = appenders[lane].writer, writer.isDeleted else { continue }
            _ = appenders[lane].takeWriter()
            writer.directory.segments -= 1
            observer.dropped(writer.usage.events, .vanished)
        }
        for segment in index.segments where segment.condition == .waiting && isMissing(segment.path) { lost(segment) }
        for file in deadLetters.files where isMissing(file.path) {
            observer.deadLettersDropped(deadLetters.forget(file), .vanished)
        }
        removeUnremoved()
        guard directories.dropDeletedDirectory() else { return }
        for lane in appenders.indices { closeWriter(lane) }
        notes.append("someone has deleted the store's directory: its events are lost, and a new one is created")
    }

    /// Accounts for a segment whose file is missing.
    mutating func lost(_ segment: Segment) {
        retire(segment)
        unreadable.removeAll { $0 === segment }
        observer.dropped(segment.events ?? 0, .vanished)
        subtractFromUsage(segment)
    }

    private func isMissing(_ path: String) -> Bool {
        do throws(FileError) {
            _ = try files.status(of: path)
            return false
        } catch {
            return error == .noSuchFile
        }
    }
}
