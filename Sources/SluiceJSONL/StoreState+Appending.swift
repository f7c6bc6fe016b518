internal import Sluice
internal import SluiceFiles

extension StoreState {
    /// Keeps a line as well as the durability promises.
    ///
    /// - Parameter line: the event's, sealed if it is to be; `eventBytes` is its length before that.
    mutating func append(
        _ line: ArraySlice<UInt8>, checksum: UInt32, eventBytes: Int, priority: Event.Priority
    ) throws(SluiceError) {
        let size = line.count + LineFormat.overhead
        let lane = Int(priority.rawValue)
        try makeRoom(for: size, priority: priority)
        let now = now
        do throws(FileError) {
            if isFull(lane, before: size, at: now) { try seal(lane) }
            try add(line, checksum: checksum, size: size, eventBytes: eventBytes, to: lane, at: now)
        } catch {
            throw SluiceError(.inputOutput, "the event could not be written: see the cause", cause: error)
        }
    }

    private func isFull(_ lane: Int, before size: Int, at now: Duration) -> Bool {
        let events = (lanes[lane].writer?.events ?? 0) + lanes[lane].bufferedEvents
        let bytes = (lanes[lane].writer?.fileBytes ?? 0) + lanes[lane].buffer.count
        guard events > 0 else { return false }
        return events >= segmentEvents || bytes + size > segmentBytes || now > lanes[lane].writer?.deadline ?? now
    }

    private var now: Duration { configuration.environment.time.continuousTime() }

    private mutating func add(
        _ line: ArraySlice<UInt8>, checksum: UInt32, size: Int, eventBytes: Int, to lane: Int, at now: Duration
    ) throws(FileError) {
        LineFormat.append(line, checksum: checksum, to: &lanes[lane].buffer)
        lanes[lane].bufferedEvents += 1
        lanes[lane].bufferedEventBytes += eventBytes
        if !configuration.isBuffered || lanes[lane].buffer.count >= configuration.bufferBytes {
            do throws(FileError) {
                try flush(lane, at: now)
            } catch {
                // Only this line is refused; others in the buffer were accepted, and stay.
                lanes[lane].buffer.removeLast(size)
                lanes[lane].bufferedEvents -= 1
                lanes[lane].bufferedEventBytes -= eventBytes
                throw error
            }
        }
        tally.events += 1
        tally.eventBytes += eventBytes
        tally.fileBytes += size
    }

    // MARK: Writing

    mutating func flushAll() throws(SluiceError) {
        for lane in lanes.indices {
            do throws(FileError) {
                try flush(lane, at: now)
            } catch {
                throw SluiceError(.inputOutput, "what is buffered could not be written: see the cause", cause: error)
            }
        }
    }

    /// Writes out what is buffered. On a throw all of it is still in the buffer, and none in a file.
    private mutating func flush(_ lane: Int, at now: Duration) throws(FileError) {
        guard !lanes[lane].buffer.isEmpty else { return }
        var attempts = 8
        while true {
            do throws(FileError) {
                return try writeBuffer(lane, at: now)
            } catch {
                // The directory was deleted underneath: make it anew, and again while the deletion goes on.
                if error == .noSuchFile { vanish() }
                attempts -= 1
                guard error == .noSuchFile, attempts > 0 else { throw error }
            }
        }
    }

    /// - Throws: ``FileError/noSuchFile`` if the file or its directory is not there any more. The buffer is unchanged
    ///   on a throw.
    private mutating func writeBuffer(_ lane: Int, at now: Duration) throws(FileError) {
        let writer = try writer(lane)
        do throws(FileError) {
            try writer.write(lanes[lane].buffer)
            if writer.folder.isDeleted(at: now) {
                writer.cutBack()
                throw .noSuchFile
            }
            if configuration.isFull { try synchronize(writer) }
        } catch {
            // What was deleted is accounted for by vanish().
            if error != .noSuchFile { closeWriter(lane) }
            throw error
        }
        writer.accept(
            bytes: lanes[lane].buffer.count, events: lanes[lane].bufferedEvents,
            eventBytes: lanes[lane].bufferedEventBytes, isSynchronized: configuration.isFull)
        lanes[lane].buffer.removeAll(keepingCapacity: true)
        lanes[lane].bufferedEvents = 0
        lanes[lane].bufferedEventBytes = 0
    }

    private mutating func writer(_ lane: Int) throws(FileError) -> SegmentWriter {
        if let writer = lanes[lane].writer { return writer }
        let writer = try makeWriter(lanes[lane].priority)
        lanes[lane].writer = writer
        return writer
    }

    private mutating func synchronize(_ writer: SegmentWriter) throws(FileError) {
        do throws(FileError) {
            try writer.file.synchronize()
            if writer.fileBytes == 0 { try synchronizeDirectories() }
        } catch {
            writer.cutBack()
            throw error
        }
    }

    private mutating func makeWriter(_ priority: Event.Priority) throws(FileError) -> SegmentWriter {
        let folder = try homeFolder()
        // A name can be taken only by somebody else's doing: a few attempts are plenty.
        for _ in 0..<8 {
            let name = SegmentName(priority: priority, sequence: nextSequence, created: clock.stamp)
            nextSequence &+= 1
            do throws(FileError) {
                let writer = try SegmentWriter(
                    name, created: clock.now, in: folder, until: now + configuration.segmentAge, files: files)
                changed(folder.path)
                folder.segments += 1
                return writer
            } catch {
                if error != .exists { throw error }
            }
        }
        throw .exists
    }

    mutating func homeFolder() throws(FileError) -> InstanceFolder {
        if let home { return home }
        return try makeHome()
    }

    mutating func makeHome() throws(FileError) -> InstanceFolder {
        do throws(SluiceError) {
            try root.prepare()
        } catch {
            throw error.cause as? FileError ?? .notPermitted
        }
        let folder = try InstanceFolder.create(in: root.path, random: configuration.environment.random, files: files)
        settle(in: folder)
        return folder
    }

    /// Makes a folder this life's own. Nobody knows whether the entries that lead to it would survive a loss of power:
    /// an earlier life may have made them, and ended.
    mutating func settle(in folder: InstanceFolder) {
        home = folder
        for path in [folder.path] + FilePath.ancestors(of: folder.path) { changed(path) }
    }

    // MARK: Sealing

    /// Turns what is being written into a segment that can be handed out, if there is anything.
    mutating func seal(_ lane: Int) throws(FileError) {
        try flush(lane, at: now)
        closeWriter(lane)
    }

    /// Ends the file that is being written; what is buffered stays for the next one.
    mutating func closeWriter(_ lane: Int) {
        guard let writer = lanes[lane].writer else { return }
        lanes[lane].writer = nil
        let segment = Segment(sealing: writer)
        if writer.events > 0 {
            if configuration.interval != nil, !segment.isSynchronized { segment.file = writer.file }
            insert(segment)
            return
        }
        segment.condition = .done
        remove(segment)
    }
}
