internal import Sluice

extension StoredFiles {
    /// Files of dead letters to read while the lock is free, as they are now.
    typealias LetterFiles = [(segment: Segment, path: String, bytes: Int)]

    var letterFiles: LetterFiles { index.segments(.rejected).map { ($0, $0.path, $0.fileBytes) } }

    /// The files of earlier processes that were not read.
    var unreadLetters: LetterFiles {
        if index.deadLetters.unreadBytes == 0 { return [] }
        return letterFiles.filter { $0.segment.count == nil && $0.segment.readFailures == 0 }
    }

    /// Counts the contents of a file.
    ///
    /// - Returns: the letters that exist.
    mutating func note(_ contents: SegmentReader.Letters, of segment: Segment, bytes: Int) -> Set<DeadLetter.ID> {
        guard segment.condition == .waiting else { return [] }
        segment.readFailures = 0
        let all = Dictionary(contents.letters.map { ($0.letter.id, $0.place) }) { first, _ in first }
        guard let known = segment.letters else {
            let letters = segment.isEarlier ? all.filter { deadLetters.insertEarlier($0.key) } : all
            let damaged = segment.count.map { max(0, $0 - all.count) } ?? contents.damaged
            dropped(damaged, .corrupt, .rejected)
            // A file without letters is removed, even if it has empty lines only.
            let hasOtherLines = contents.damaged > 0 || letters.count < contents.letters.count || letters.isEmpty
            index.setLetters(of: segment, letters, hasOtherLines: hasOtherLines)
            return Set(letters.keys)
        }
        // Otherwise the file was replaced after it was read.
        if bytes == segment.fileBytes {
            let found = all.filter { known[$0.key] != nil }
            dropped(known.count - found.count, .corrupt, .rejected)
            index.setLetters(of: segment, found, hasOtherLines: found.count < known.count)
        }
        return Set(known.keys)
    }

    /// Leaves a file alone that can't be read now.
    ///
    /// - Returns: its path if it was moved.
    mutating func couldNotReadLetters(
        of segment: Segment, at path: String, _ failure: SegmentReader.Failure
    ) -> String? {
        guard segment.condition == .waiting else { return nil }
        guard segment.path == path else { return segment.path }
        if case .file(.noSuchFile) = failure {
            lost(segment)
            return nil
        }
        segment.readFailures += 1
        if segment.readFailures == 1 {
            notes.append("dead letters that can't be read are left alone: \(path) (\(failure))")
        }
        return nil
    }

    /// The letters in a segment, or the letters that are not in a file yet.
    func existingLetters(in segment: Segment?) -> Set<DeadLetter.ID> {
        guard let segment else { return Set(deadLetters.pending.map(\.letter.id)) }
        return segment.condition == .waiting ? Set((segment.letters ?? [:]).keys) : []
    }

    /// Removes letters from a segment, or letters that are not in a file yet.
    ///
    /// - Returns: the number of letters that existed.
    mutating func removeLetters(_ ids: Set<DeadLetter.ID>, from segment: Segment?) -> Int {
        segment.map { index.removeLetters(ids, from: $0) } ?? deadLetters.removePending(ids).count
    }

    /// Whether the lines of removed letters are still in files.
    var hasRemovedLetters: Bool {
        index.segments(.rejected).contains(where: \.hasRemovedLines)
            || unremoved.contains { $0.lane == .rejected }
    }

    /// Reports the first of several failures to write.
    mutating func reportDeadLetterFailure(_ failure: (any Error)?) {
        if let failure, !deadLetters.hasReportedFailure {
            notes.append("dead letters can't be written now; this is tried again: \(failure)")
        }
        deadLetters.hasReportedFailure = failure != nil
    }

    /// Whether letters must be written, or removed from their files.
    var isUnfinished: Bool { !deadLetters.pending.isEmpty || hasRemovedLetters }

    /// Removes the lines of removed letters from their files.
    mutating func rewriteLetters() throws(FileError) {
        removeUnremoved()
        for segment in index.segments(.rejected) where segment.hasRemovedLines {
            guard let letters = segment.letters, !letters.isEmpty else {
                retire(segment)
                remove(segment)
                continue
            }
            do throws(FileError) {
                let bytes = try OpenFile(segment.path, [], in: files).read(upTo: segment.fileBytes)
                let kept = letters.filter { $0.value.isIn(bytes) }
                let lines = kept.sorted { $0.value.event.lowerBound < $1.value.event.lowerBound }
                try files.replaceFile(
                    segment.path, by: lines.flatMap { bytes[$0.value.line] },
                    through: segment.path + InstanceDirectory.incompleteSuffix)
                dropped(letters.count - kept.count, .corrupt, .rejected)
                index.rewritten(segment, lines)
            } catch {
                guard error == .noSuchFile else { throw error }
                lost(segment)
            }
        }
    }
}
