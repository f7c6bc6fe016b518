internal import Sluice

/// Erases events in all files of a store. It reads, decides and writes without the lock.
struct ErasureAccess: Sendable {
    private let access: StateAccess
    private let deadLetters: DeadLetterAccess
    /// Two erasures would write the same replacements.
    private let turn = Turn()

    init(_ access: StateAccess, _ deadLetters: DeadLetterAccess) {
        self.access = access
        self.deadLetters = deadLetters
    }

    private func eraser(_ isMatch: @escaping (EventLine) -> Bool) -> LineEraser {
        LineEraser(reader: access.reader, isMatch: isMatch)
    }

    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try turn.take { () throws(SluiceError) in
            // First, because the store can adopt a directory in the meantime. Its segments follow then.
            var report = try eraseElsewhere(isMatch)
            let directories = access.read(\.stored.directories.claimedPaths)
            deadLetters.readEarlier()
            report = report + eraseLetters(isMatch)
            let (segments, failure) = try access.perform { state in state.segmentsToErase() }
            if let failure { report.left.append("events in the memory of the store can't be written: \(failure)") }
            report = report + erase(in: segments, isMatch)
            // Files of dead letters and of batches whose events were all erased are gone too, and directories without files.
            let all = Set(directories).union(access.read(\.stored.directories.claimedPaths)).sorted()
            for directory in all + [access.read(\.stored.directories.rootPath)] { synchronize(directory, &report) }
            return report
        }
    }

    private func eraseLetters(_ isMatch: @Sendable (EventLine) -> Bool) -> ErasureReport {
        var report = ErasureReport()
        do throws(SluiceError) {
            let (groups, failure) = try deadLetters.read(nil)
            if let failure { report.left.append("\(failure)") }
            // Also if no letter matches, because the lines of removed letters may still be in a file.
            report.deadLetters = try deadLetters.remove(
                groups.map { ($0.segment, $0.letters.filter { isMatch($0.line) }) })
            if access.read(\.stored.hasRemovedLetters) {
                report.left.append("lines of erased dead letters are still in a file: repeat the erasure")
            }
        } catch {
            report.left.append("\(error)")
        }
        let unread = access.read { $0.stored.index.segments(.rejected).filter { $0.readFailures > 0 }.map(\.path) }
        report.left += unread.map { "\($0): dead letters that can't be read" }
        return report
    }

    private func erase(in segments: [Segment], _ isMatch: @escaping (EventLine) -> Bool) -> ErasureReport {
        let eraser = eraser(isMatch)
        var report = ErasureReport()
        var problems = EraserProblems()
        for segment in segments {
            let replacement = segment.path + InstanceDirectory.incompleteSuffix
            do throws(SegmentReader.Failure) {
                let limit = segment.fileBytes
                guard let found = try eraser.find(in: segment.path, limit: limit, segment.lane) else { continue }
                try eraser.write(found, from: segment.path, limit: limit, to: replacement)
                do throws(FileError) {
                    report.events += try access.use { state throws(FileError) in
                        try state.erase(found, in: segment, by: replacement)
                    }
                } catch {
                    access.files.discardFile(replacement)
                    throw .file(error)
                }
            } catch {
                problems.add(error, in: segment.directory)
            }
        }
        report.left += problems.texts
        return report
    }

    /// A loss of power must not bring the former file back.
    private func synchronize(_ directory: String, _ report: inout ErasureReport) {
        do throws(FileError) {
            try access.files.synchronizeDirectory(directory)
        } catch {
            if error != .noSuchFile {
                report.left.append("\(directory): may come back after a loss of power: \(error)")
            }
        }
    }

    // MARK: Directories of other processes

    private func eraseElsewhere(
        _ isMatch: @escaping @Sendable (EventLine) -> Bool
    ) throws(SluiceError) -> ErasureReport {
        var report = ErasureReport()
        let directories = try access.perform { $0.stored.directories }
        do throws(FileError) {
            for path in try directories.unclaimed() {
                if let erased = erase(in: path, isMatch) {
                    report = report + erased.report
                    if !erased.isSafe { _ = access.use { $0.stored.directories.eraseLater(in: path, where: isMatch) } }
                } else if access.use({ $0.stored.directories.eraseLater(in: path, where: isMatch) }) {
                    report.left.append("\(path): a running process uses it: erase there, or when it has ended")
                }
            }
        } catch {
            if error == .noSuchFile { return report }
            report.left.append("the directories of other processes can't be listed: \(error)")
        }
        return report
    }

    /// Erases in a directory, unless a running process uses it: then it returns nil. The observer gets the events as
    /// recovered.
    private func erase(
        in path: String, _ isMatch: @escaping (EventLine) -> Bool
    ) -> (report: ErasureReport, isSafe: Bool)? {
        do throws(FileError) {
            guard let directory = try InstanceDirectory.claim(path, files: access.files) else { return nil }
            let (report, damaged, isSafe) = eraser(isMatch).run(
                in: directory, largest: access.configuration.largestSegment)
            let observer = access.read(\.stored.observer)
            observer.recovered(report.events + damaged)
            if damaged > 0 { observer.dropped(damaged, .corrupt) }
            return (report, isSafe)
        } catch {
            // Its process has removed it.
            return error == .noSuchFile ? (ErasureReport(), true) : (ErasureReport(left: ["\(path): \(error)"]), false)
        }
    }

    /// Repeats erasures in directories whose processes have ended since.
    ///
    /// - Returns: whether all events were erased in one of them. It can be adopted now.
    func eraseLate() -> Bool {
        var hasErased = false
        for (path, erasures) in access.read(\.stored.directories.dueErasures) {
            let isMatch = { line in erasures.contains { $0(line) } }
            guard let (report, isSafe) = erase(in: path, isMatch) else { continue }
            // Otherwise the directory isn't adopted, and the erasure is tried again.
            if isSafe { hasErased = true }
            access.use { state in
                let mustReport = state.stored.directories.erasedLate(
                    erasures.count, in: path, isComplete: isSafe)
                state.stored.observer.dropped(report.events, .deleted)
                state.stored.observer.deadLettersDropped(report.deadLetters, .deleted)
                if mustReport {
                    state.stored.notes.append("events could not be erased: \(report.left.joined(separator: "; "))")
                }
            }
        }
        return hasErased
    }
}
