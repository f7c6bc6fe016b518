internal import Sluice

/// The batches that are handed out, and the attempts to read segments.
struct Batches {
    /// The next thing to do for a batch.
    enum Step {
        /// Read a segment, and before it these files of dead letters: some of its events may be in them.
        case read(Segment, OpenFile?, StoredFiles.LetterFiles)
        case done(Batch?)
    }

    typealias SettledSegment = (segment: Segment, file: OpenFile?, mustStay: Bool)

    private static let readAttempts = 3
    private static let unreadableInterval = Duration.seconds(60)

    private var handedOut: [Batch.ID: [BatchPart]] = [:]
    private var lastBatch: UInt64 = 0
    private var lastUnreadableAttempt: Duration = .zero

    // MARK: Taking

    /// Begins with the oldest segment of the highest priority.
    mutating func begin(
        _ draft: inout BatchDraft, _ appenders: inout Appenders, _ stored: inout StoredFiles
    ) throws(SluiceError) -> Step {
        appenders.setTarget(draft.size)
        appenders.closeOldDeadLetters(&stored)
        _ = stored.oldestWaiting(.rejected)
        var failure: FileError?
        repeat {
            for lane in Lane.allCases.reversed() where lane >= Lane(.normal) {
                if let segment = stored.oldestWaiting(lane) { return read(segment, &stored) }
                let error = FileError.of(try appenders.close(lane, at: stored.directories.continuousTime, &stored))
                failure = error ?? failure
                if let segment = stored.oldestWaiting(lane) { return read(segment, &stored) }
            }
        } while findMore(&appenders, &stored)
        if let failure {
            throw SluiceError(.inputOutput, "buffered events could not be written: see the cause", cause: failure)
        }
        return .done(nil)
    }

    /// Adds a segment that was read to a batch, and looks for another one that fits.
    mutating func add(
        _ segment: Segment, _ result: Result<SegmentReader.Contents, SegmentReader.Failure>, to draft: inout BatchDraft,
        _ appenders: inout Appenders, _ stored: inout StoredFiles
    ) throws(SluiceError) -> Step {
        switch result {
        case .success(var contents):
            segment.readFailures = 0
            stored.note(&contents, of: segment)
            if contents.lines.isEmpty {
                // No event in it can be handed out.
                stored.retire(segment)
                stored.remove(segment)
                break
            }
            guard draft.add(BatchPart(segment, contents)) else {
                stored.index.takeBack(segment)
                return .done(handOut(draft))
            }
        case .failure(let failure):
            if let error = SluiceError.of(try couldNotRead(segment, failure, in: &stored)) {
                // The next call tries it again.
                if draft.parts.isEmpty { throw error }
                return .done(handOut(draft))
            }
        }
        if draft.parts.isEmpty { return try begin(&draft, &appenders, &stored) }
        return next(for: draft, segment.lane, &appenders, &stored).map { read($0, &stored) } ?? .done(handOut(draft))
    }

    private func next(
        for draft: BatchDraft, _ lane: Lane, _ appenders: inout Appenders, _ stored: inout StoredFiles
    ) -> Segment? {
        if draft.isFull { return nil }
        if let segment = stored.oldestWaiting(lane) {
            // A file is longer than its events.
            let bytes = segment.count == nil ? segment.fileBytes : segment.eventBytes
            return draft.hasRoom(for: segment.count ?? 1, bytes) ? segment : nil
        }
        let open = appenders.usage(lane)
        guard open.count > 0, draft.hasRoom(for: open.count, open.eventBytes) else { return nil }
        // If it can't be written, the next batch shows that.
        let failure = FileError.of(try appenders.close(lane, at: stored.directories.continuousTime, &stored))
        return failure == nil ? stored.oldestWaiting(lane) : nil
    }

    private func read(_ segment: Segment, _ stored: inout StoredFiles) -> Step {
        stored.index.handOut(segment)
        return .read(segment, segment.file, stored.unreadLetters)
    }

    /// Looks for events elsewhere. Call it when nothing waits.
    ///
    /// - Returns: whether there is something to deliver now.
    mutating func findMore(_ appenders: inout Appenders, _ stored: inout StoredFiles) -> Bool {
        repeat {
            while let claim = stored.directories.claimAnother(room: room(appenders, stored)) {
                stored.take([claim])
                appenders.evict(downTo: stored.configuration.capacity, for: .critical, &stored)
                if stored.index.events.unreadBytes > 0 { return true }
            }
        } while stored.directories.isFull && (stored.clearAgain() || leaveStuckDirectory(in: &stored))
        return retryUnreadable(in: &stored)
    }

    /// The size that the events of another directory may have: any size if nothing else can be delivered.
    private func room(_ appenders: Appenders, _ stored: StoredFiles) -> Int {
        let bytes = stored.index.events.fileBytes + appenders.usageOfEvents.fileBytes
        let unreadable = stored.index.unreadable.reduce(0) { $0 + $1.fileBytes }
        return bytes == unreadable ? .max : stored.configuration.capacity - bytes
    }

    // MARK: Reading

    private mutating func handOut(_ draft: BatchDraft) -> Batch {
        lastBatch += 1
        handedOut[lastBatch] = draft.parts
        // A batch of one segment shares its array.
        if draft.parts.count == 1 { return Batch(id: lastBatch, events: draft.parts[0].events) }
        var events: [EventLine] = []
        events.reserveCapacity(draft.count)
        for part in draft.parts { events += part.events }
        return Batch(id: lastBatch, events: events)
    }

    /// Postpones a segment that can't be read, or gives it up.
    ///
    /// - Throws: the reason, if the segment must be read later.
    private mutating func couldNotRead(
        _ segment: Segment, _ failure: SegmentReader.Failure, in stored: inout StoredFiles
    ) throws(SluiceError) {
        stored.index.takeBack(segment)
        let wasGivenUp = segment.readFailures >= Batches.readAttempts
        let cause: any Error
        switch failure {
        case .file(.noSuchFile), .file(.notADirectory):
            return stored.lost(segment)
        case .file(let error):
            cause = error
            if !error.isPassing { segment.readFailures += 1 }
        case .encrypted(let error):
            cause = error
            segment.readFailures += 1
        case .foreign:
            cause = FileError.notPermitted
            segment.readFailures = max(segment.readFailures + 1, Batches.readAttempts)
        }
        guard segment.readFailures >= Batches.readAttempts else {
            throw SluiceError(
                .inputOutput, "a segment could not be read; this is tried again: \(segment.path)", cause: cause)
        }
        // One bad file must not block the events behind it.
        stored.giveUp(segment)
        if !wasGivenUp {
            stored.notes.append("a segment that can't be read is left alone: \(segment.path) (\(cause))")
        }
        lastUnreadableAttempt = stored.directories.continuousTime
    }

    /// The device may have been unlocked, or the fault may have ended.
    private mutating func retryUnreadable(in stored: inout StoredFiles) -> Bool {
        let now = stored.directories.continuousTime
        // Of several, the one with the fewest attempts: they take turns.
        guard now - lastUnreadableAttempt >= Batches.unreadableInterval,
            let segment = stored.index.unreadable.min(by: { $0.readFailures < $1.readFailures })
        else { return false }
        lastUnreadableAttempt = now
        stored.index.takeBack(segment)
        return true
    }

    /// Leaves an adopted directory to a later process if only segments are left in it that can't be read or removed.
    ///
    /// - Returns: whether there was one.
    private mutating func leaveStuckDirectory(in stored: inout StoredFiles) -> Bool {
        let stuck = (stored.index.unreadable + stored.unremoved).filter(\.lane.holdsEvents).map(\.directory)
        let directory = Set(stuck).sorted().compactMap(stored.directories.adopted)
            .first { directory in directory.segments == stuck.count { $0 == directory.path } }
        if let directory { stored.leave(directory) }
        return directory != nil
    }

    // MARK: Settling

    /// Settles events of a batch by their indices.
    func settle(_ places: [Int], of batch: Batch.ID, in stored: inout StoredFiles) {
        var rest = places.sorted().drop { $0 < 0 }
        var start = 0
        for part in handedOut[batch] ?? [] {
            let end = start + part.events.count
            let own = rest.prefix { $0 < end }
            rest.removeFirst(own.count)
            stored.mark(own.compactMap { part.settle($0 - start) }, in: part.segment)
            start = end
        }
    }

    /// Turns events of a batch into dead letters that must be written.
    mutating func reject(_ letters: [DeadLetter], of batch: Batch.ID, in stored: inout StoredFiles) {
        guard var parts = handedOut[batch] else { return }
        for letter in letters {
            for index in parts.indices {
                guard let (id, mark) = parts[index].reject(letter.line) else { continue }
                stored.deadLetters.add(letter.with(id: id), of: parts[index].segment, mark)
                break
            }
        }
        handedOut[batch] = parts
    }

    /// Settles the other events of a batch's files that must stay, because dead letters of them can't be written.
    func settleBesideLetters(_ batch: Batch.ID, in stored: inout StoredFiles) {
        for part in handedOut[batch] ?? [] where stored.deadLetters.isPending(part.segment) {
            stored.mark(part.events.indices.compactMap(part.settle), in: part.segment)
        }
    }

    /// Takes a batch out of the backlog for good.
    ///
    /// - Returns: its segments, with the files that are open, and whether a file must stay until its dead letters are written.
    mutating func settle(_ batch: Batch.ID, in stored: inout StoredFiles) throws(SluiceError) -> [SettledSegment] {
        guard let parts = handedOut.removeValue(forKey: batch) else {
            throw SluiceError(.invalidArgument, "batch \(batch) is not handed out: settle each batch once")
        }
        // Spare files have at most the size of the largest segment together: an idle host keeps them.
        var room = stored.configuration.segmentBytes.upperBound - stored.directories.spares.bytes
        return parts.map { part in
            room -= part.segment.fileBytes
            // It needs ``SpareFiles/release()``.
            let file = room < 0 ? nil : part.segment.file.take()
            stored.retire(part.segment)
            return (part.segment, file, stored.deadLetters.isPending(part.segment))
        }
    }
}
