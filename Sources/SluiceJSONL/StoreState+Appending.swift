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
        do throws(FileError) {
            if isFull(lane, before: size) { try seal(lane) }
            try add(line, checksum: checksum, size: size, eventBytes: eventBytes, to: lane)
        } catch {
            throw SluiceError(.inputOutput, "the event could not be written: see the cause", cause: error)
        }
    }

    private func isFull(_ lane: Int, before size: Int) -> Bool {
        let events = (lanes[lane].writer?.events ?? 0) + lanes[lane].bufferedEvents
        let bytes = (lanes[lane].writer?.fileBytes ?? 0) + lanes[lane].buffer.count
        guard events > 0 else { return false }
        return events >= segmentEvents || bytes + size > segmentBytes || isOld(lane)
    }

    private func isOld(_ lane: Int) -> Bool {
        guard let deadline = lanes[lane].writer?.deadline else { return false }
        return configuration.environment.time.continuousTime() > deadline
    }

    private mutating func add(
        _ line: ArraySlice<UInt8>, checksum: UInt32, size: Int, eventBytes: Int, to lane: Int
    ) throws(FileError) {
        LineFormat.append(line, checksum: checksum, to: &lanes[lane].buffer)
        lanes[lane].bufferedEvents += 1
        lanes[lane].bufferedEventBytes += eventBytes
        if !configuration.isBuffered || lanes[lane].buffer.count >= configuration.bufferBytes {
            do throws(FileError) {
                try flush(lane)
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
                try flush(lane)
            } catch {
                throw SluiceError(.inputOutput, "what is buffered could not be written: see the cause", cause: error)
            }
        }
    }

    /// Writes out what is buffered. On a throw all of it is still in the buffer, and none in a file.
    mutating func flush(_ lane: Int) throws(FileError) {
        guard !lanes[lane].buffer.isEmpty else { return }
        if try writeBuffer(lane) { return }
        // The directory was deleted underneath: make it anew, once.
        vanish()
        guard try writeBuffer(lane) else {
            vanish()
            throw .noSuchFile
        }
    }

    /// - Returns: false if the file or its directory is not there any more; the buffer is unchanged then.
    private mutating func writeBuffer(_ lane: Int) throws(FileError) -> Bool {
        if lanes[lane].writer == nil { lanes[lane].writer = try makeWriter(lanes[lane].priority) }
        guard var writer = lanes[lane].writer else { return false }
        do throws(FileError) {
            try writer.write(lanes[lane].buffer)
            if writer.folder.isDeleted {
                writer.cutBack()
                return false
            }
            if configuration.isFull { try synchronize(&writer) }
        } catch {
            closeWriter(lane)
            throw error
        }
        writer.accept(
            bytes: lanes[lane].buffer.count, events: lanes[lane].bufferedEvents,
            eventBytes: lanes[lane].bufferedEventBytes)
        writer.isSynchronized = configuration.isFull
        lanes[lane].writer = writer
        lanes[lane].buffer.removeAll(keepingCapacity: true)
        lanes[lane].bufferedEvents = 0
        lanes[lane].bufferedEventBytes = 0
        return true
    }

    private mutating func synchronize(_ writer: inout SegmentWriter) throws(FileError) {
        do throws(FileError) {
            try writer.file.synchronize()
            if writer.fileBytes == 0 { try synchronizeDirectories() }
        } catch {
            writer.cutBack()
            throw error
        }
    }

    /// - Returns: nil if there is no directory to make it in.
    private mutating func makeWriter(_ priority: Event.Priority) throws(FileError) -> SegmentWriter? {
        let folder = try homeFolder()
        // A name can be taken only by somebody else's doing: a few attempts are plenty.
        for _ in 0..<8 {
            let name = SegmentName(priority: priority, sequence: nextSequence, created: clock.now)
            nextSequence &+= 1
            do throws(FileError) {
                let now = configuration.environment.time.continuousTime()
                let writer = try SegmentWriter(
                    name, in: folder, until: now + configuration.segmentAge, files: files)
                changed(folder.path)
                folder.segments += 1
                return writer
            } catch {
                switch error {
                case .exists: continue
                case .noSuchFile: return nil
                default: throw error
                }
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
        try flush(lane)
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
