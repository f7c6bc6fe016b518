internal import Sluice
internal import SluiceFiles

extension StoreState {
    /// A segment that is handed out next, and the values that are needed to read it without the lock.
    struct Candidate {
        let segment: Segment
        let path: String
        let limit: Int
        let priority: Event.Priority
        /// Its events that are dead letters are known only after these are read.
        let hasUnreadDeadLetters: Bool
    }

    private static let readAttempts = 3
    private static let unreadableInterval = Duration.seconds(60)

    /// Makes new segments as large as the requested size, so that each of them is one batch.
    mutating func setTarget(_ size: BatchSize) {
        let (events, bytes) = (configuration.segmentEvents, configuration.segmentBytes)
        limits.events = min(max(size.events, events.lowerBound), events.upperBound)
        limits.bytes = min(max(size.bytes, bytes.lowerBound), bytes.upperBound)
    }

    /// Hands out the next segment: the oldest one of the highest priority.
    mutating func takeCandidate() throws(SluiceError) -> Candidate? {
        var failure: FileError?
        repeat {
            for lane in appenders.indices.reversed() {
                if let segment = nextSegment(appenders[lane].priority) { return handOut(segment) }
                do throws(FileError) {
                    try closeSegment(lane)
                } catch {
                    failure = error
                }
                if let segment = nextSegment(appenders[lane].priority) { return handOut(segment) }
            }
        } while findMore()
        if let failure {
            throw SluiceError(.inputOutput, "buffered events could not be written: see the cause", cause: failure)
        }
        return nil
    }

    private mutating func nextSegment(_ priority: Event.Priority) -> Segment? {
        while let segment = stored.index.firstWaiting(priority) {
            guard stored.isExpired(segment) else { return segment }
            stored.expire(segment)
        }
        return nil
    }

    private mutating func handOut(_ segment: Segment) -> Candidate {
        stored.index.handOut(segment)
        return Candidate(
            segment: segment, path: segment.path, limit: segment.fileBytes, priority: segment.name.priority,
            hasUnreadDeadLetters: !stored.deadLetters.unreadFiles.isEmpty)
    }

    /// Accounts for the contents of a segment.
    ///
    /// - Returns: nil if no event in it can be handed out.
    mutating func batch(from candidate: Candidate, _ contents: SegmentReader.Contents) -> Batch? {
        let segment = candidate.segment
        segment.readFailures = 0
        unreadable.removeAll { $0 === segment }
        // Events that this process has counted are dead letters only if they were rejected from this segment.
        let isCounted = segment.events != nil
        let lines = contents.lines.filter { line in
            guard let id = line.id else { return true }
            return !segment.rejected.contains(id) && (isCounted || !stored.deadLetters.contains(id))
        }
        let damaged = segment.events.map { max(0, $0 - lines.count) } ?? contents.damaged
        if !isCounted { stored.observer.recovered(lines.count + damaged) }
        stored.observer.dropped(damaged, .corrupt)
        stored.index.setContents(
            of: segment, events: min(lines.count, segment.events ?? .max),
            eventBytes: lines.reduce(0) { $0 + $1.bytes.count })
        guard !lines.isEmpty else {
            stored.retire(segment)
            stored.remove(segment)
            return nil
        }
        lastBatch += 1
        let batch = Batch(id: Batch.ID(rawValue: lastBatch), events: lines)
        handedOut[batch.id] = HandedOut(segment: segment)
        return batch
    }

    /// Tries a segment again later that can't be read, or gives it up.
    ///
    /// - Throws: the reason, if reading it must be tried again later.
    mutating func couldNotRead(_ candidate: Candidate, _ failure: SegmentReader.Failure) throws(SluiceError) {
        let segment = candidate.segment
        stored.index.release(segment)
        let cause: any Error
        switch failure {
        case .file(.noSuchFile), .file(.notADirectory):
            unreadable.removeAll { $0 === segment }
            return stored.lost(segment)
        case .file(let error):
            cause = error
            let isPassing = [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory].contains(error)
            if !isPassing { segment.readFailures += 1 }
        case .encrypted(let error):
            cause = error
            segment.readFailures += 1
        case .foreign:
            cause = FileError.notPermitted
            segment.readFailures = StoreState.readAttempts
        }
        guard segment.readFailures >= StoreState.readAttempts else {
            throw SluiceError(
                .inputOutput, "a segment could not be read; this is tried again: \(segment.path)", cause: cause)
        }
        // One bad file must not block the events behind it.
        stored.retire(segment)
        stored.index.subtractFromUsage(segment)
        stored.observer.dropped(segment.events ?? 0, .storeFailed)
        if !unreadable.contains(where: { $0 === segment }) {
            unreadable.append(segment)
            stored.notes.append("a segment that can't be read is left alone: \(segment.path) (\(cause))")
        }
        lastUnreadableAttempt = now
    }

    /// Looks for events elsewhere. Call it when nothing waits.
    ///
    /// - Returns: whether there is something to deliver now.
    mutating func findMore() -> Bool {
        while let claim = stored.directories.claimAnother(
            room: usage.fileBytes == 0 ? .max : configuration.capacity - usage.fileBytes)
        {
            stored.take([claim])
            stored.index.markImplausibleAges(at: stored.directories.clock.now, maximumAge: configuration.maximumAge)
            evict(downTo: configuration.capacity, for: .critical)
            if stored.index.usage.unreadBytes > 0 { return true }
        }
        return retryUnreadable()
    }

    /// The device may have been unlocked, or the fault may have ended.
    private mutating func retryUnreadable() -> Bool {
        guard !unreadable.isEmpty, now - lastUnreadableAttempt >= StoreState.unreadableInterval else { return false }
        let segment = unreadable.removeFirst()
        unreadable.append(segment)
        lastUnreadableAttempt = now
        stored.index.insertUnread(segment)
        return true
    }

    /// Takes a batch out of the backlog for good.
    ///
    /// - Returns: the segment whose file must be removed, or nil if it must stay until its dead letters are written.
    mutating func settle(_ batch: Batch.ID) throws(SluiceError) -> Segment? {
        guard let segment = handedOut.removeValue(forKey: batch)?.segment else {
            throw SluiceError(.invalidArgument, "batch \(batch.rawValue) is not handed out: settle each batch once")
        }
        stored.retire(segment)
        guard stored.deadLetters.isPending(segment) else { return segment }
        stored.unremoved.append(segment)
        return nil
    }

    /// Call this after ``settle(_:)``. Delivery asks no store for batches whose backlog is empty.
    mutating func settled() {
        guard phase == .open else { return }
        // The dead letters of the batch were counted twice until now.
        stored.evictDeadLetters(downTo: configuration.capacity - openBytes)
        if usage.events == 0, usage.unreadBytes == 0 { _ = findMore() }
    }

    mutating func release(_ batch: Batch.ID) {
        guard let released = handedOut.removeValue(forKey: batch) else { return }
        let segment = released.segment
        stored.index.release(segment)
        guard released.rejected.events > 0, let events = segment.events else { return }
        stored.index.setContents(
            of: segment, events: max(0, events - released.rejected.events),
            eventBytes: segment.eventBytes - released.rejected.eventBytes)
        guard segment.events == 0 else { return }
        stored.retire(segment)
        stored.remove(segment)
    }
}
