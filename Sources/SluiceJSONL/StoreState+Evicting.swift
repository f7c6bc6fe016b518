internal import Sluice
internal import SluiceFiles

extension StoreState {
    /// Makes sure that so many more bytes fit, if need be by evicting segments that may make room for this priority.
    mutating func makeRoom(for size: Int, priority: Event.Priority) throws(SluiceError) {
        guard tally.fileBytes + size > configuration.capacity else { return }
        guard size <= configuration.capacity else {
            throw SluiceError(
                .eventTooLarge, "an event of \(size) bytes in a store of \(configuration.capacity): raise its capacity")
        }
        removeUnremoved()
        // Nothing is evicted in vain.
        if tally.fileBytes - evictableBytes(for: priority) + size <= configuration.capacity {
            evict(downTo: configuration.capacity - size, for: priority)
        }
        guard tally.fileBytes + size <= configuration.capacity else {
            throw SluiceError(
                .storageFull, "all \(configuration.capacity) bytes hold events that may not make room for this one")
        }
    }

    private func evictableBytes(for priority: Event.Priority) -> Int {
        var bytes = 0
        for lane in lanes[...Int(priority.rawValue)] {
            bytes += lane.sealed.reduce(0) { $0 + ($1.condition == .handedOut ? 0 : $1.fileBytes) }
            if lane.priority < priority { bytes += (lane.writer?.fileBytes ?? 0) + lane.buffer.count }
        }
        return bytes
    }

    /// Removes whole segments, the lowest priority first and the oldest of it first, until no more than `limit` bytes
    /// are left or nothing more may go.
    mutating func evict(downTo limit: Int, for priority: Event.Priority) {
        for lane in 0...Int(priority.rawValue) {
            if !evictSealed(lane, downTo: limit) { return }
            guard tally.fileBytes > limit, lanes[lane].priority < priority else { continue }
            // What is being written goes too, before anything of a higher priority does.
            do throws(FileError) {
                try seal(lane)
            } catch {
                continue
            }
            if !evictSealed(lane, downTo: limit) { return }
        }
    }

    /// - Returns: false if files cannot be removed.
    private mutating func evictSealed(_ lane: Int, downTo limit: Int) -> Bool {
        var index = 0
        while tally.fileBytes > limit, index < lanes[lane].sealed.count {
            let segment = lanes[lane].sealed[index]
            guard segment.condition == .waiting else {
                index += 1
                continue
            }
            countUnread(segment)
            do throws(FileError) {
                try files.removeFile(segment.path)
            } catch {
                if error == .noSuchFile {
                    lost(segment)
                    continue
                }
                return false
            }
            retire(segment)
            observer.dropped(segment.events ?? 0, .evicted)
            forget(segment)
        }
        return true
    }

    /// Retires what is older than the age limit; each lane begins with its oldest.
    mutating func expire() {
        let limit = clock.now.milliseconds - configuration.maximumAge.wholeMilliseconds
        for lane in lanes.indices {
            while let segment = lanes[lane].sealed.first, segment.condition == .waiting,
                segment.name.created.milliseconds < limit
            {
                countUnread(segment)
                retire(segment)
                observer.dropped(segment.events ?? 0, .expired)
                remove(segment)
            }
        }
    }

    /// Counts the events of an earlier life that are about to go without having been read.
    private mutating func countUnread(_ segment: Segment) {
        guard segment.events == nil else { return }
        var events = 0
        do throws(SegmentReader.Failure) {
            let reader = SegmentReader(files: files, sealing: nil)
            events = try reader.countLines(segment.path, limit: segment.fileBytes)
        } catch {
            notes.append("a segment goes uncounted, since it cannot be read: \(segment.path)")
        }
        count(segment, events: events, eventBytes: 0)
    }

    /// Notes how many events there are in a segment of an earlier life.
    mutating func count(_ segment: Segment, events: Int, eventBytes: Int) {
        segment.events = events
        segment.eventBytes = eventBytes
        tally.unreadBytes -= segment.fileBytes
        tally.events += events
        tally.eventBytes += eventBytes
        observer.recovered(events)
    }
}
