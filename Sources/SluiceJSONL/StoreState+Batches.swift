internal import Sluice
internal import SluiceFiles

extension StoreState {
    /// A segment that is to be handed out, and what is needed to read it without the lock.
    struct Candidate {
        let segment: Segment
        let path: String
        let limit: Int
        let priority: Event.Priority
    }

    /// From now on, segments are made to the size that is asked for, so that each of them is one batch.
    mutating func aim(at size: BatchSize) {
        let events = configuration.segmentEvents
        segmentEvents = min(max(size.events, events.lowerBound), events.upperBound)
        let bytes = configuration.segmentBytes
        segmentBytes = min(max(size.bytes, bytes.lowerBound), bytes.upperBound)
    }

    /// Marks the next segment as handed out: the highest priority first, and of that the oldest.
    mutating func takeCandidate() throws(SluiceError) -> Candidate? {
        expire()
        var failure: FileError?
        for lane in lanes.indices.reversed() {
            if let segment = lanes[lane].sealed.first(where: { $0.condition == .waiting }) { return take(segment) }
            do throws(FileError) {
                try seal(lane)
            } catch {
                failure = error
            }
            if let segment = lanes[lane].sealed.first(where: { $0.condition == .waiting }) { return take(segment) }
        }
        if lookForMore() { return try takeCandidate() }
        if let failure {
            throw SluiceError(.inputOutput, "what is buffered could not be written: see the cause", cause: failure)
        }
        return nil
    }

    private func take(_ segment: Segment) -> Candidate {
        segment.condition = .handedOut
        return Candidate(
            segment: segment, path: segment.path, limit: segment.fileBytes, priority: segment.name.priority)
    }

    /// Accounts for what was read of a segment.
    ///
    /// - Returns: nil if nothing of it can be handed out.
    mutating func batch(from candidate: Candidate, _ contents: SegmentReader.Contents) -> Batch? {
        let segment = candidate.segment
        let good = contents.lines.count
        segment.readFailures = 0
        aside.removeAll { $0 === segment }
        if let known = segment.events {
            let missing = max(0, known - good)
            tally.events -= missing
            tally.eventBytes += contents.eventBytes - segment.eventBytes
            segment.events = known - missing
            segment.eventBytes = contents.eventBytes
            observer.dropped(missing, .corrupt)
        } else {
            count(segment, events: good + contents.damaged, eventBytes: contents.eventBytes)
            tally.events -= contents.damaged
            segment.events = good
            observer.dropped(contents.damaged, .corrupt)
        }
        guard good > 0 else {
            retire(segment)
            remove(segment)
            return nil
        }
        lastBatch += 1
        let id = Batch.ID(rawValue: lastBatch)
        handedOut[id] = segment
        return Batch(id: id, events: contents.lines)
    }

    /// Decides what becomes of a segment that cannot be read.
    ///
    /// - Throws: the reason, if it is to be tried again later.
    mutating func unreadable(_ candidate: Candidate, _ failure: SegmentReader.Failure) throws(SluiceError) {
        let segment = candidate.segment
        segment.condition = .waiting
        let cause: any Error
        switch failure {
        case .file(.noSuchFile), .file(.notADirectory): return lost(segment)
        case .file(let error):
            cause = error
            let isPassing = [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory].contains(error)
            if !isPassing { segment.readFailures += 1 }
        case .sealed(let error):
            cause = error
            segment.readFailures += 1
        case .foreign:
            cause = FileError.notPermitted
            segment.readFailures = StoreState.readAttempts
        }
        guard segment.readFailures >= StoreState.readAttempts else {
            throw SluiceError(
                .inputOutput, "a segment could not be read, and is tried again: \(segment.path)", cause: cause)
        }
        // One bad file must not stand in the way of all that comes after it.
        retire(segment)
        observer.dropped(segment.events ?? 0, .storeFailed)
        tally.fileBytes -= segment.fileBytes
        if !aside.contains(where: { $0 === segment }) {
            aside.append(segment)
            notes.append("a segment that cannot be read is left alone: \(segment.path) (\(cause))")
        }
        lookedAside = configuration.environment.time.continuousTime()
    }

    /// Looks again at what could not be read: the fault may have ended, or the device been unlocked.
    ///
    /// - Returns: whether there is something to deliver now.
    private mutating func lookAside() -> Bool {
        let now = configuration.environment.time.continuousTime()
        guard !aside.isEmpty, now - lookedAside >= StoreState.asideInterval else { return false }
        let segment = aside.removeFirst()
        aside.append(segment)
        lookedAside = now
        // Its events were given up, so that they are found now as those of an earlier life are.
        segment.condition = .waiting
        segment.events = nil
        segment.eventBytes = 0
        tally.fileBytes += segment.fileBytes
        tally.unreadBytes += segment.fileBytes
        insert(segment)
        return true
    }

    /// To be called when nothing waits: what else there may be to deliver.
    mutating func lookForMore() -> Bool {
        adoptAnother() || lookAside()
    }

    private static var asideInterval: Duration { .seconds(60) }
    private static var readAttempts: Int { 3 }

    mutating func release(_ batch: Batch.ID) {
        handedOut.removeValue(forKey: batch)?.condition = .waiting
    }

    /// Takes a batch out of the backlog for good, and its rejected events into the dead letters.
    ///
    /// - Returns: the segment whose file is to be removed.
    mutating func settle(_ batch: Batch.ID) throws(SluiceError) -> Segment {
        guard let segment = handedOut.removeValue(forKey: batch) else {
            throw SluiceError(.invalidArgument, "batch \(batch.rawValue) is not handed out: settle each batch once")
        }
        retire(segment)
        return segment
    }

    /// To be called when a batch is gone for good: a delivery loop asks no store for batches that says it is empty.
    mutating func settled() {
        if phase == .open, backlog.isEmpty { _ = lookForMore() }
    }

    mutating func writeDeadLetters(_ rejected: [RejectedEvent]) {
        do throws(FileError) {
            try deadLetters.add(
                rejected, to: try homeFolder(), sequence: &nextSequence, configuration: configuration,
                files: files)
        } catch {
            notes.append("\(rejected.count) rejected events could not be kept as dead letters: \(error)")
        }
    }
}
