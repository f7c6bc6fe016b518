internal import Sluice

/// Erases events in all files of a store. It reads, decides and writes without the lock.
struct ErasureAccess: Sendable {
    private let access: StateAccess
    private let deadLetters: DeadLetterAccess
    init(_ access: StateAccess, _ deadLetters: DeadLetterAccess) {
        self.access = access
        self.deadLetters = deadLetters
    }

    private func eraser(_ isMatch: @escaping (EventLine) -> Bool) -> LineEraser {
        LineEraser(reader: access.reader, isMatch: isMatch)
    }

    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try deadLetters.turn.take { () throws(SluiceError) in
            // First, because the store can adopt a directory in the meantime. Its segments follow then.
            var report = try eraseElsewhere(isMatch)
            let directories = access.read(\.stored.directories.claimedPaths)
            deadLetters.readEarlier()
            report = report + eraseLetters(isMatch)
            let (segments, failure) = try access.perform { state in state.segmentsToErase() }
            if let failure { report.left.append("events in the memory of the store can't be written: \(failure)") }
            report.left += access.read(\.stored.directories.spares.left).map { "\($0): can't be removed" }
            let eraser = eraser(isMatch)
            let (events, problems) = erase(in: segments, with: eraser)
            report = report + ErasureReport(events: events, left: problems.texts)
            // Files of dead letters and of batches whose events were all erased are gone too, and directories without files.
            let all = Set(directories).union(access.read(\.stored.directories.claimedPaths)).sorted()
            for directory in all + [access.read(\.stored.directories.rootPath)] { synchronize(directory, &report) }
            return report
        }
    }

    /// Replaces the files of segments by versions without lines to erase.
    ///
    /// - Returns: the number of erased events, without the events of batches that are handed out.
    private func erase(in segments: [Segment], with eraser: LineEraser) -> (events: Int, problems: EraserProblems) {
        var events = 0
        var problems = EraserProblems()
        for segment in segments {
            let replacement = segment.path + InstanceDirectory.incompleteSuffix
            do throws(SegmentReader.Failure) {
                guard let found = try eraser.find(in: segment.path, limit: segment.fileBytes, segment.name) else {
                    try synchronize(segment)
                    continue
                }
                try eraser.write(found, from: segment.path, limit: segment.fileBytes, to: replacement)
                do throws(FileError) {
                    events += try access.use { state throws(FileError) in
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
        return (events, problems)
    }

    /// A loss of power must not bring back the former contents of a reused file.
    private func synchronize(_ segment: Segment) throws(SegmentReader.Failure) {
        guard segment.name.isReused else { return }
        do throws(FileError) {
            try OpenFile(segment.path, [], in: access.files).synchronize()
        } catch {
            throw .file(error)
        }
    }

    private func eraseLetters(_ isMatch: @Sendable (EventLine) -> Bool) -> ErasureReport {
        var report = ErasureReport()
        do throws(SluiceError) {
            let (groups, failure) = try deadLetters.read(nil)
            if let failure { report.left.append("\(failure)") }
            // Even if no letter matches, because the lines of removed letters may still be in a file.
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

    // MARK: Deletion

    /// Deletes all waiting events, and the events that could not be read, without reading them. Dead letters stay.
    func deleteUnread() throws(SluiceError) -> ErasureReport {
        try deadLetters.turn.take { () throws(SluiceError) in
            var report = try deleteElsewhere()
            let (segments, failure) = try access.perform { state in state.segmentsToErase() }
            if let failure { report.left.append("events in the memory of the store can't be written: \(failure)") }
            // One at a time: callers of append must not wait for all of them.
            for segment in segments { report.events += try access.perform { $0.stored.delete(segment) } }
            let left = access.read { state in
                state.stored.unremoved.filter(\.lane.holdsEvents).map(\.path) + state.stored.directories.spares.left
            }
            report.left += left.map { "\($0): can't be removed" }
            return report
        }
    }

    /// Deletes the events in directories that this store doesn't use and whose processes have ended. It may have used one, and
    /// left it to a later process because its events could not be read.
    private func deleteElsewhere() throws(SluiceError) -> ErasureReport {
        try elsewhere { path in
            do throws(FileError) {
                guard let directory = try InstanceDirectory.claim(path, files: access.files) else {
                    return ErasureReport()
                }
                return try deleteEvents(in: directory)
            } catch {
                // Its process has removed it.
                return error == .noSuchFile ? ErasureReport() : ErasureReport(left: ["\(path): \(error)"])
            }
        }
    }

    /// Adds up the reports on the directories that this store doesn't use.
    private func elsewhere(_ body: (String) -> ErasureReport) throws(SluiceError) -> ErasureReport {
        let directories = try access.perform { $0.stored.directories }
        do throws(FileError) {
            return try directories.unclaimed().reduce(ErasureReport()) { $0 + body($1) }
        } catch {
            if error == .noSuchFile { return ErasureReport() }
            return ErasureReport(left: ["the directories of other processes can't be listed: \(error)"])
        }
    }

    /// The observer gets the events as recovered.
    private func deleteEvents(in directory: InstanceDirectory) throws(FileError) -> ErasureReport {
        let listing = try directory.listing(largest: access.configuration.largestSegment)
        var report = ErasureReport(left: listing.unknown.map { "\(directory.path)/\($0): can't be read" })
        for (name, path, bytes) in listing.segments where name.lane.holdsEvents {
            var count = 0
            do throws(SegmentReader.Failure) {
                count = try SegmentReader(files: access.files, encryption: nil).countLines(path, limit: bytes, name)
            } catch {
                // The file goes without a count.
            }
            do throws(FileError) {
                try access.files.removeFile(path)
                access.read(\.stored.observer).recovered(count)
                report.events += count
            } catch {
                // The others go nevertheless, and are counted.
                if error != .noSuchFile { report.left.append("\(path): \(error)") }
            }
        }
        directory.removeIfEmpty()
        return report
    }

    // MARK: Directories of other processes

    private func eraseElsewhere(
        _ isMatch: @escaping @Sendable (EventLine) -> Bool
    ) throws(SluiceError) -> ErasureReport {
        try elsewhere { path in
            if let (report, isSafe) = erase(in: path, isMatch) {
                if !isSafe { _ = access.use { $0.stored.directories.eraseLater(in: path, where: isMatch) } }
                return report
            }
            let isLater = access.use { $0.stored.directories.eraseLater(in: path, where: isMatch) }
            let advice = "\(path): a running process uses it: erase there, or when it has ended"
            return ErasureReport(left: isLater ? [advice] : [])
        }
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
