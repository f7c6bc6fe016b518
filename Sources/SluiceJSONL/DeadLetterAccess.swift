internal import Sluice

/// The operations on dead letters. They read, encode and encrypt without the lock.
struct DeadLetterAccess: Sendable {
    private let access: StateAccess
    private let synchronizer: Synchronizer

    init(_ access: StateAccess, _ synchronizer: Synchronizer) {
        self.access = access
        self.synchronizer = synchronizer
    }

    private var encryption: LineEncryption? { access.configuration.encryption }

    func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
        do throws(SluiceError) {
            try access.perform { $0.batches.reject(letters, of: batch, in: &$0.stored) }
        } catch {
            // A closed store keeps the events, because it keeps their batch.
        }
        finish()
    }

    func replay(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        var replayed = 0
        for group in try letters(ids) {
            let lines = try group.map { letter throws(SluiceError) in
                (letter.id, try StoredLine(letter.line.bytes, encryption), letter.line.priority)
            }
            defer { finish() }
            let count: Int
            do throws(SluiceError) {
                count = try access.perform { state throws(SluiceError) in try state.replay(lines) }
            } catch {
                if replayed == 0 { throw error }
                break
            }
            replayed += count
            // Events that would survive a loss of power as dead letters must survive it as waiting ones.
            if access.configuration.interval != nil {
                do throws(SluiceError) {
                    _ = try synchronizer.run { true }
                } catch {
                    break  // It has been reported, and the events wait again.
                }
            }
            if count < lines.count { break }
        }
        return replayed
    }

    func discard(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
        readFiles()
        let count = try access.perform { $0.stored.deadLetters.remove(ids) }
        finish()
        guard access.read({ !$0.stored.deadLetters.hasRemovedLines }) else {
            throw SluiceError(.inputOutput, "dead letters could not be deleted; this is tried again")
        }
        return count
    }

    /// Encodes and writes pending dead letters, and removes the lines of replayed ones. Failures are reported once.
    func finish() {
        guard access.read({ $0.stored.deadLetters.isUnfinished }) else { return }
        var lines: [(DeadLetter.ID, [UInt8])] = []
        var failure: SluiceError?
        for entry in access.read({ $0.stored.deadLetters.pending }) where entry.line == nil && failure == nil {
            do throws(SluiceError) {
                lines.append((entry.id, try entry.letter.encoded(encryption)))
            } catch {
                failure = error
            }
        }
        access.use { [lines] state in
            for (id, line) in lines { state.stored.deadLetters.setLine(line, of: id) }
            state.finishDeadLetters()
            if let failure { state.deadLettersFailed(failure) }
        }
    }

    /// Reads the dead letters of earlier processes that nobody has read.
    func readFiles() {
        read(access.read { $0.stored.deadLetters.unreadFiles })
    }

    /// Reads files of dead letters that nobody has read.
    func read(_ files: [DeadLetterFile]) {
        for file in files {
            let contents = Result { () throws(SegmentReader.Failure) in
                DeadLetterLine.lines(in: try access.reader.bytes(of: file.path, limit: file.bytes), encryption)
            }
            access.use { $0.stored.setContents(of: file, contents) }
        }
    }

    /// Reads dead letters, by file.
    func letters(_ ids: Set<DeadLetter.ID>?) throws(SluiceError) -> [[DeadLetter]] {
        readFiles()
        let (stored, pending) = try access.perform { state throws(SluiceError) in
            (
                state.stored.deadLetters.letters(ids),
                state.stored.deadLetters.pending.filter { ids?.contains($0.id) ?? true }
            )
        }
        var groups: [[DeadLetter]] = []
        for file in stored {
            do throws(SegmentReader.Failure) {
                let bytes = try access.reader.bytes(of: file.path, limit: file.bytes)
                groups.append(
                    file.letters.compactMap { letter in
                        guard letter.range.upperBound <= bytes.count else { return nil }
                        return DeadLetterLine(bytes[letter.range].dropLast(), encryption)?.letter(letter.id)
                    })
                let damaged = file.letters.count - (groups.last?.count ?? 0)
                if damaged > 0 { access.use { $0.stored.notes.append(StoredFiles.damagedNote(damaged, file.path)) } }
            } catch {
                if case .file(.noSuchFile) = error { continue }
                throw SluiceError(
                    .inputOutput, "a file of dead letters could not be read: \(file.path)", cause: error)
            }
        }
        return groups + [pending.map { $0.letter.letter($0.id) }]
    }
}
