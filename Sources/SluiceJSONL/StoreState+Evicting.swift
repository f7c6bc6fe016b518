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
            let unread = countUnread(segment)
            do throws(FileError) {
                try files.removeFile(segment.path)
            } catch {
                if error == .noSuchFile {
                    lost(segment)
                    continue
                }
                return false
            }
            if let unread { count(segment, events: unread, eventBytes: 0) }
            retire(segment)
            observer.dropped(segment.events ?? 0, .evicted)
            forget(segment)
        }
        return true
    }

    /// Retires the segments whose last event may be older than the age limit.
    mutating func expire() {
        let age = configuration.maximumAge + configuration.segmentAge
        let limit = clock.now.milliseconds - age.wholeMilliseconds
        for lane in lanes {
            for segment in lane.sealed where segment.created < limit && segment.condition == .waiting {
                guard segment.hasPlausibleAge else { continue }
                if let unread = countUnread(segment) { count(segment, events: unread, eventBytes: 0) }
                retire(segment)
                observer.dropped(segment.events ?? 0, .expired)
                remove(segment)
            }
        }
    }

    /// Looks for a gap in time between what was found and what came after it that is longer than the age limit: before
    /// it the wall clock stood elsewhere, and nothing of that may expire.
    func judgeAges() {
        var later = clock.now.milliseconds
        var isPlausible = true
        for segment in lanes.flatMap(\.sealed).sorted(by: { $0.created > $1.created }) {
            if later - segment.created > configuration.maximumAge.wholeMilliseconds { isPlausible = false }
            if !isPlausible { segment.hasPlausibleAge = false }
            later = segment.created
        }
    }

    /// How many events go with a segment of an earlier life that nobody has read; nil if it is known already.
    private mutating func countUnread(_ segment: Segment) -> Int? {
        guard segment.events == nil else { return nil }
        do throws(SegmentReader.Failure) {
            return try SegmentReader(files: files, sealing: nil).countLines(segment.path, limit: segment.fileBytes)
        } catch {
            notes.append("a segment goes uncounted, since it cannot be read: \(segment.path)")
            return 0
        }
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
