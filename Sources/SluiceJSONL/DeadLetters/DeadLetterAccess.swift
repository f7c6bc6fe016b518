internal import Sluice

/// The operations on dead letters. They read, encode and encrypt without the lock.
struct DeadLetterAccess: Sendable {
    let access: StateAccess
    let synchronizer: Synchronizer
    /// Two erasures would write the same replacements.
    let turn = Turn()

    private var encryption: LineEncryption? { access.configuration.encryption }

    func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        // A closed store keeps the events, because it keeps their batch.
        _ = SluiceError.of(try access.perform { $0.batches.reject(letters, of: batch, in: &$0.stored) })
        finish()
    }

    func replay(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        var replayed = 0
        let groups = try letters(ids)
        // A later process would deliver the event and its copy. A letter that isn't in a file keeps its event until the copy is.
        _ = try markEvents(of: groups.filter { $0.segment != nil })
        try synchronizeRemovals()
        for group in groups {
            let lines = try group.letters.map { letter throws(SluiceError) in
                (letter.id, try StoredLine(letter.line.bytes, encryption), Lane(letter.line.priority))
            }
            defer { finish() }
            let count: Int
            do throws(SluiceError) {
                count = try access.perform { state throws(SluiceError) in
                    try state.replay(lines, from: group.segment)
                }
            } catch {
                if replayed == 0 { throw error }
                break
            }
            replayed += count
            if group.segment == nil { _ = try markEvents(of: [group]) }
            // Events that would survive a loss of power as dead letters must survive it as waiting ones. A failure has been
            // reported, and the events wait again.
            if access.configuration.interval != nil, SluiceError.of(try synchronizer.run()) != nil { break }
            if count < lines.count { break }
        }
        return replayed
    }

    func discard(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        let groups = try letters(ids)
        var problem = try markEvents(of: groups.filter { $0.segment != nil })
        var count = 0
        if problem == nil {
            count = try remove(groups)
            // A letter that isn't in a file has its event only there.
            problem = try markEvents(of: groups.filter { $0.segment == nil })
        }
        if let problem {
            throw SluiceError(.inputOutput, "a later process could deliver events of these dead letters: \(problem)")
        }
        guard access.read({ !$0.stored.hasRemovedLetters }) else {
            throw SluiceError(.inputOutput, "dead letters could not be deleted; this is tried again")
        }
        return count
    }

    /// Marks the events of letters in segments that were not settled. A later process without the letters would deliver them.
    ///
    /// - Returns: why some of them can still be delivered.
    private func markEvents(of groups: [Group]) throws(SluiceError) -> String? {
        let ids = Set(groups.flatMap(\.letters).map(\.id))
        if ids.isEmpty { return nil }
        return try turn.take { () throws(SluiceError) in
            let segments = try access.perform { state in
                state.stored.removeUnremoved()
                return state.segmentsOfLetters
            }
            var problems = EraserProblems()
            for segment in segments {
                do throws(SegmentReader.Failure) {
                    let contents = try access.reader.read(segment.path, limit: segment.fileBytes, segment.name)
                    let marks = contents.events(of: ids, in: segment.name).map { contents.places[$0] }
                    if let failure = mark(marks, in: segment.path, isSafe: access.configuration.survivesPowerLoss) {
                        throw .file(failure)
                    }
                } catch {
                    problems.add(error, in: segment.directory)
                }
            }
            // The events of a file that can't be decrypted have letters that can't be listed.
            return problems.areDeliverable ? problems.texts.first : nil
        }
    }

    /// Removes letters. Then removes the lines of all removed letters from their files, including files where this failed
    /// before.
    func remove(_ groups: [Group]) throws(SluiceError) -> Int {
        var count = 0
        try synchronizeRemovals()
        for group in groups where !group.letters.isEmpty {
            let ids = Set(group.letters.map(\.id))
            count += try access.perform { $0.stored.removeLetters(ids, from: group.segment) }
        }
        finish()
        return count
    }

    /// Makes the removal of settled batches survive a loss of power. A file that came back would deliver the events of
    /// letters that are gone.
    private func synchronizeRemovals() throws(SluiceError) {
        guard access.configuration.survivesPowerLoss else { return }
        access.use { $0.stored.directories.addAllEntries() }
        guard let failure = try synchronizer.run() else { return }
        throw SluiceError(.inputOutput, "the directory of the dead letters can't be synchronized", cause: failure)
    }

    /// Marks events in their files that need no further attempt.
    ///
    /// An erasure replaces files, and would lose a mark that is made after it has read one. If this is part of an erasure, the
    /// marks are made later.
    func writeMarks() {
        do throws(SluiceError) {
            try turn.take { () throws(SluiceError) in
                let marks = try access.perform { $0.stored.takeMarks() }
                if marks.isEmpty { return }
                // Without the lock: callers of append must not wait for the drive.
                let failure = marks.reduce(nil as FileError?) { failure, next in
                    mark(next.places, in: next.segment.path, isSafe: access.configuration.isFull) ?? failure
                }
                let isDue = access.use { $0.marked(marks.map(\.segment), failure) }
                if isDue { synchronizer.follow(.afterInterval) }
            }
        } catch {
            // This thread has the turn, or the store is closed and a later process returns the events.
        }
    }

    /// - Returns: why a later process can find the events.
    private func mark(_ places: [LinePlace], in path: String, isSafe: Bool) -> FileError? {
        if places.isEmpty { return nil }
        do throws(FileError) {
            let file = try OpenFile(path, [.write, .read], in: access.files)
            for place in places { try place.mark(in: file, of: access.files) }
            if isSafe { try file.synchronize() }
            return nil
        } catch {
            return error == .noSuchFile ? nil : error
        }
    }

    /// Encodes and writes pending dead letters, marks their events, and removes the lines of removed ones. Failures are reported
    /// once.
    func finish() {
        let (pending, isUnfinished) = access.read { state in
            (state.stored.deadLetters.pending, state.stored.isUnfinished)
        }
        guard isUnfinished else { return }
        var lines: [(DeadLetter.ID, StoredLine)] = []
        var failure: (any Error)?
        for letter in pending.map(\.letter) where failure == nil {
            do throws(SluiceError) {
                lines.append((letter.id, try StoredLine(DeadLetterLine.encoded(letter), encryption)))
            } catch {
                failure = error
            }
        }
        // If the store is closed, the events are in the files of their batches.
        let refusal = SluiceError.of(try access.perform { $0.finishLetters(lines, failure) })
        if refusal == nil, !pending.isEmpty { writeMarks() }
    }

    /// Reads files, to know which letters are in them.
    func read(_ files: StoredFiles.LetterFiles) {
        for (segment, path, bytes) in files {
            // A failure has been reported.
            guard let contents = attempt(try contents(of: segment, at: path, bytes: bytes), or: nil) else { continue }
            access.use { _ = $0.stored.note(contents, of: segment, bytes: bytes) }
        }
    }

    /// Reads a file of letters. It reads once more if the file was moved to the own directory in the meantime.
    private func contents(
        of segment: Segment, at path: String, bytes: Int
    ) throws(SegmentReader.Failure) -> SegmentReader.Letters {
        var path = path
        while true {
            do throws(SegmentReader.Failure) {
                return try access.reader.readLetters(path, limit: bytes, segment.name)
            } catch {
                let newPath = access.use { $0.stored.couldNotReadLetters(of: segment, at: path, error) }
                guard case .file(.noSuchFile) = error, let newPath else { throw error }
                path = newPath
            }
        }
    }

    /// The letters of a file, or the ones that are not in a file yet.
    typealias Group = (segment: Segment?, letters: [DeadLetter])

    /// Reads dead letters, by file.
    func letters(_ ids: Set<DeadLetter.ID>?) throws(SluiceError) -> [Group] {
        let (groups, failure) = try read(ids)
        if let failure { throw failure }
        return groups
    }

    /// Reads dead letters, by file, and returns the first failure too.
    func read(_ ids: Set<DeadLetter.ID>?) throws(SluiceError) -> (groups: [Group], failure: SluiceError?) {
        let files = try access.perform { state in state.letterFiles() }
        var groups: [Group] = []
        var failure: SluiceError?
        for (segment, path, bytes) in files {
            do throws(SegmentReader.Failure) {
                let contents = try contents(of: segment, at: path, bytes: bytes)
                let existing = access.use { $0.stored.note(contents, of: segment, bytes: bytes) }
                let letters = contents.letters.map(\.letter)
                    .filter { existing.contains($0.id) && ids?.contains($0.id) ?? true }
                if !letters.isEmpty { groups.append((segment, letters)) }
            } catch {
                if case .file(let cause) = error, cause != .noSuchFile, failure == nil {
                    failure = SluiceError(
                        .inputOutput, "a file of dead letters could not be read: \(path)", cause: cause)
                }
            }
        }
        let pending = access.read { $0.stored.deadLetters.pending }.map(\.letter).filter {
            ids?.contains($0.id) ?? true
        }
        return (pending.isEmpty ? groups : groups + [(nil, pending)], failure)
    }
}
