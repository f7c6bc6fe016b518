internal import Sluice

/// The batches that are handed out, and the segments that can't be read.
struct Batches {
    private static let readAttempts = 3
    private static let unreadableInterval = Duration.seconds(60)

    private var handedOut: [Batch.ID: Segment] = [:]
    private var lastBatch: UInt64 = 0
    /// They were given up, and are tried again from time to time.
    private var unreadable: [Segment] = []
    private var lastUnreadableAttempt: Duration = .zero

    /// Accounts for the contents of a segment.
    ///
    /// - Returns: nil if no event in it can be handed out.
    mutating func batch(
        from segment: Segment, _ contents: SegmentReader.Contents, in stored: inout StoredFiles
    ) -> Batch? {
        segment.readFailures = 0
        unreadable.removeAll { $0 === segment }
        // An earlier process may have rejected some of its events, and ended before it settled the batch.
        let isCounted = segment.events != nil
        var lines = contents.lines
        if !isCounted, stored.deadLetters.count > 0 {
            lines.removeAll { $0.id.map(stored.deadLetters.contains) ?? false }
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
        let batch = Batch(id: lastBatch, events: lines)
        handedOut[batch.id] = segment
        return batch
    }

    /// Tries a segment again later that can't be read, or gives it up.
    ///
    /// - Throws: the reason, if reading it must be tried again later.
    mutating func couldNotRead(
        _ segment: Segment, _ failure: SegmentReader.Failure, in stored: inout StoredFiles, at now: Duration
    ) throws(SluiceError) {
        stored.index.takeBack(segment)
        let cause: any Error
        switch failure {
        case .file(.noSuchFile), .file(.notADirectory):
            unreadable.removeAll { $0 === segment }
            return stored.lost(segment)
        case .file(let error):
            cause = error
            if !error.isPassing { segment.readFailures += 1 }
        case .encrypted(let error):
            cause = error
            segment.readFailures += 1
        case .foreign:
            cause = FileError.notPermitted
            segment.readFailures = Batches.readAttempts
        }
        guard segment.readFailures >= Batches.readAttempts else {
            throw SluiceError(
                .inputOutput, "a segment could not be read; this is tried again: \(segment.path)", cause: cause)
        }
        // One bad file must not block the events behind it.
        stored.retire(segment)
        stored.index.subtractFromUsage(segment)
        stored.observer.dropped(segment.events ?? 0, .unreadable)
        if !unreadable.contains(where: { $0 === segment }) {
            unreadable.append(segment)
            stored.notes.append("a segment that can't be read is left alone: \(segment.path) (\(cause))")
        }
        lastUnreadableAttempt = now
    }

    /// The device may have been unlocked, or the fault may have ended.
    mutating func retryUnreadable(in stored: inout StoredFiles, at now: Duration) -> Bool {
        guard !unreadable.isEmpty, now - lastUnreadableAttempt >= Batches.unreadableInterval else { return false }
        let segment = unreadable.removeFirst()
        unreadable.append(segment)
        lastUnreadableAttempt = now
        stored.index.insertUnread(segment)
        return true
    }

    /// Leaves an adopted directory to a later process if only segments are left in it that can't be read or removed.
    ///
    /// - Returns: whether there was one.
    mutating func leaveStuckDirectory(in stored: inout StoredFiles) -> Bool {
        let stuck = (unreadable + stored.unremoved).map(\.directory)
        for path in Set(stuck).sorted() {
            guard let directory = stored.directories.adopted(path),
                directory.segments == stuck.count(where: { $0 == path })
            else { continue }
            unreadable.removeAll { $0.directory == path }
            stored.leave(directory)
            return true
        }
        return false
    }

    /// Turns events of a batch into dead letters that must be written.
    mutating func reject(
        _ letters: [DeadLetter], of batch: Batch.ID, in stored: inout StoredFiles
    ) {
        guard let segment = handedOut[batch] else { return }
        stored.deadLetters.add(letters, of: segment)
    }

    /// Takes a batch out of the backlog for good.
    ///
    /// - Returns: the segment whose file must be removed as soon as its dead letters are written.
    mutating func settle(_ batch: Batch.ID, in stored: inout StoredFiles) throws(SluiceError) -> Segment {
        guard let segment = handedOut.removeValue(forKey: batch) else {
            throw SluiceError(.invalidArgument, "batch \(batch) is not handed out: settle each batch once")
        }
        stored.retire(segment)
        return segment
    }
}
