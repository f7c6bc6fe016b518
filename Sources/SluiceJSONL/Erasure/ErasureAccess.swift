internal import Sluice

/// Erases events in all files of a store. It reads, decides and writes without the lock.
struct ErasureAccess: Sendable {
    let access: StateAccess
    let deadLetters: DeadLetterAccess

    /// Erases events and dead letters. Without `isMatch`, all events are erased unread, and dead letters stay.
    func erase(where isMatch: (@Sendable (EventLine) -> Bool)?) throws(SluiceError) -> ErasureReport {
        try deadLetters.turn.take { () throws(SluiceError) in
            // First, because the store can adopt a directory in the meantime. Its segments follow then.
            var report = try eraseElsewhere(isMatch)
            let directories = access.read(\.stored.directories.claimedPaths)
            if let isMatch {
                deadLetters.read(access.read(\.stored.unreadLetters))
                report = report + eraseLetters(isMatch)
            }
            let (segments, failure) = try access.perform { state in state.segmentsToErase() }
            if let failure { report.left.append("events in the memory of the store can't be written: \(failure)") }
            if let isMatch {
                report = report + erase(in: segments, with: LineEraser(reader: access.reader, isMatch: isMatch))
            } else {
                // One at a time: callers of append must not wait for all of them.
                for segment in segments { report.events += try access.perform { $0.stored.delete(segment) } }
                let unremoved = access.read(\.stored.unremoved).filter(\.lane.holdsEvents)
                report.left += unremoved.map { "\($0.path): can't be removed" }
            }
            report.left += access.read(\.stored.directories.spares.left).map { "\($0): can't be removed" }
            // Files of dead letters and of batches whose events were all erased are gone too, and directories without files.
            let all = Set(directories).union(access.read(\.stored.directories.claimedPaths)).sorted()
            for directory in all + [access.read(\.stored.directories.root.path)] { synchronize(directory, &report) }
            return report
        }
    }

    /// Replaces the files of segments by versions without lines to erase.
    ///
    /// - Returns: the number of erased events, without the events of batches that are handed out.
    private func erase(in segments: [Segment], with eraser: LineEraser) -> ErasureReport {
        var events = 0
        var problems = EraserProblems()
        for segment in segments {
            let replacement = segment.path + InstanceDirectory.incompleteSuffix
            do throws(SegmentReader.Failure) {
                let found = try eraser.find(in: segment.path, limit: segment.fileBytes, segment.name)
                try SegmentReader.Failure.converting { () throws(FileError) in
                    guard let found else {
                        // A loss of power must not bring back the former contents of a reused file.
                        if segment.name.isReused { try OpenFile(segment.path, [], in: access.files).synchronize() }
                        return
                    }
                    _ = try access.files.makeFile(replacement) { file throws(FileError) in
                        try file.write(found.rest[...])
                    }
                    defer { access.files.discardFile(replacement) }
                    events += try access.use { state throws(FileError) in
                        try state.stored.erase(found, in: segment, by: replacement)
                    }
                }
            } catch {
                problems.add(error, in: segment.directory)
            }
        }
        return ErasureReport(events: events, left: problems.texts)
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
        if let failure = FileError.of(try access.files.synchronizeDirectory(directory)), failure != .noSuchFile {
            report.left.append("\(directory): may come back after a loss of power: \(failure)")
        }
    }

    // MARK: Directories of other processes

    /// The observer gets the events as recovered.
    private func deleteEvents(in directory: InstanceDirectory) throws(FileError) -> ErasureReport {
        let listing = try directory.listing(largest: access.configuration.largestSegment)
        var report = ErasureReport(left: listing.unknown.map { "\(directory.path)/\($0): can't be read" })
        for (name, path, bytes) in listing.segments where name.lane.holdsEvents {
            // A file that can't be read goes without a count.
            let reader = SegmentReader(files: access.files, encryption: nil)
            let count = attempt(try reader.countLines(path, limit: bytes, name), or: 0)
            do throws(FileError) {
                try access.files.removeFile(path)
                access.read(\.stored.observer).recovered(count)
                report.events += count
            } catch {
                // The others go nevertheless, and are counted.
                if error != .noSuchFile { report.left.append("\(path): \(error)") }
            }
        }
        synchronize(directory.path, &report)
        directory.removeIfEmpty()
        return report
    }

    /// Erases in the directories that this store doesn't use.
    private func eraseElsewhere(
        _ isMatch: (@Sendable (EventLine) -> Bool)?
    ) throws(SluiceError) -> ErasureReport {
        let (directories, place) = try access.perform { ($0.stored.directories, $0.place) }
        var report = ErasureReport()
        do throws(FileError) {
            for path in try directories.unclaimed() {
                let found = erase(in: path, isMatch)
                report = report + (found?.report ?? ErasureReport())
                guard let isMatch, found?.isSafe != true else { continue }
                let isLater = access.use { $0.stored.directories.eraseLater(in: path, where: isMatch) }
                if isLater, found == nil {
                    report.left.append("\(path): a running process uses it: erase there, or when it has ended")
                }
            }
            // Of several stores, the first one names the directories of routes that this process doesn't have.
            let routes = place?.routes ?? [directories.root.route]
            guard isMatch != nil, routes.min() == directories.root.route else { return report }
            report.left += try directories.directories(except: routes).map {
                "\($0): has events of another route: erase there, or with JSONLStore.erase(at:)"
            }
        } catch {
            if error != .noSuchFile {
                report.left.append("the directories of other processes can't be listed: \(error)")
            }
        }
        return report
    }

    /// Erases in a directory, unless a running process uses it: then it returns nil. The observer gets the events as
    /// recovered.
    private func erase(
        in path: String, _ isMatch: ((EventLine) -> Bool)?
    ) -> (report: ErasureReport, isSafe: Bool)? {
        do throws(FileError) {
            guard let directory = try InstanceDirectory(claiming: path, files: access.files) else { return nil }
            guard let isMatch else { return (try deleteEvents(in: directory), true) }
            let (report, damaged, isSafe) = LineEraser(reader: access.reader, isMatch: isMatch).run(
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
