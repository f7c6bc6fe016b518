internal import Sluice

extension Directories {
    /// Finds out when the store is opened, not with the first event, whether files can be created and synchronized.
    ///
    /// - Returns: an error that may pass. Stored events can be delivered in the meantime.
    mutating func checkOwnDirectory() throws(SluiceError) -> FileError? {
        let adopted = ownDirectory
        do throws(FileError) {
            let directory = try makeOwnDirectory()
            let probe = SegmentName(.normal, sequence: nextSequence, created: directory.time(at: continuousTime))
            let file = try OpenFile(directory.path(of: probe), [.write, .create, .exclusive], in: files)
            var failure: FileError?
            if configuration.survivesPowerLoss {
                failure =
                    FileError.of(try file.synchronize())
                    ?? FileError.of(try synchronization.synchronizeEntries(in: files))
            }
            try files.removeFile(directory.path(of: probe))
            if let failure { throw failure }
            return nil
        } catch {
            switch error {
            case .noSpace, .quotaExceeded, .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .inputOutput:
                return error
            case .exists: return nil  // So files can be created.
            default:
                guard adopted != nil else { throw root.unavailable(error) }
                // The fault may be that of the adopted directory alone.
                ownDirectory = nil
                return try checkOwnDirectory()
            }
        }
    }

    /// Returns the directory that this process writes to, and creates it if necessary.
    mutating func makeOwnDirectory() throws(FileError) -> InstanceDirectory {
        if let ownDirectory { return ownDirectory }
        if let error = SluiceError.of(try root.prepare()) { throw error.cause as? FileError ?? .notPermitted }
        let directory = try InstanceDirectory.create(
            in: root.path, of: configuration.route, random: environment.random, files: files)
        directory.startClock(environment.time, newest: nil, configuration)
        makeOwn(directory)
        return directory
    }

    /// The entries that lead to the directory may not survive a loss of power: another process may have
    /// created them, and ended.
    mutating func makeOwn(_ directory: InstanceDirectory) {
        ownDirectory = directory
        claimed[directory.path] = directory
        for path in [directory.path] + root.synchronizedDirectories { synchronization.addEntries(of: path) }
    }

    mutating func makeSegment(_ lane: Lane, at now: Duration) throws(FileError) -> SegmentWriter {
        let directory = try makeOwnDirectory()
        // Only a foreign file can have the name: a few attempts are plenty.
        for _ in 0..<8 {
            let name = SegmentName(lane, sequence: makeSequence(), created: directory.time(at: now))
            do throws(FileError) {
                let writer = try makeWriter(name, in: directory, at: now)
                synchronization.addEntries(of: directory.path)
                if lane.holdsEvents { directory.segments += 1 }
                return writer
            } catch {
                if error != .exists { throw error }
            }
        }
        throw .exists
    }

    /// Reuses a file if possible.
    private mutating func makeWriter(
        _ name: SegmentName, in directory: InstanceDirectory, at now: Duration
    ) throws(FileError) -> SegmentWriter {
        while name.lane.holdsEvents, let spare = spares.take() {
            let name = SegmentName(name.lane, sequence: name.sequence, created: name.created, isReused: true)
            do throws(FileError) {
                return try SegmentWriter(name, created: now, in: directory, configuration, reusing: spare, files: files)
            } catch {
                for path in [spare.path, directory.path(of: name)] { files.discardFile(path) }
            }
        }
        return try SegmentWriter(name, created: now, in: directory, configuration, reusing: nil, files: files)
    }

    private mutating func makeSequence() -> UInt64 {
        defer { nextSequence &+= 1 }
        return nextSequence
    }

    /// Moves a file of dead letters to the own directory.
    ///
    /// - Returns: its name there.
    mutating func move(
        _ segment: Segment, to own: InstanceDirectory
    ) throws(FileError) -> SegmentName {
        let (lane, created) = (segment.lane, own.time(at: segment.created))
        var newName = SegmentName(lane, sequence: segment.name.sequence, created: created)
        while try files.statusIfPresent(of: own.path(of: newName)) != nil {
            newName = SegmentName(lane, sequence: makeSequence(), created: created)
        }
        try files.rename(segment.path, to: own.path(of: newName))
        synchronization.addEntries(of: own.path)
        return newName
    }

    /// Counts a removed segment.
    ///
    /// - Returns: its directory, if it was the last one with events of an adopted directory.
    func removed(_ segment: Segment) -> InstanceDirectory? {
        guard segment.lane.holdsEvents, let directory = claimed[segment.directory] else { return nil }
        directory.segments -= 1
        return directory.segments == 0 && directory !== ownDirectory ? directory : nil
    }

    /// Removes a directory if nothing is left in it. Its lock is released in any case.
    mutating func clearAway(_ directory: InstanceDirectory) {
        claimed[directory.path] = nil
        directory.removeIfEmpty()
    }
}
