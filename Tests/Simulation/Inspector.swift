import Sluice
import SluiceJSONL
import SluiceTesting

/// Looks at every file that a life removes, and judges whether it may.
struct Inspector: Sendable {
    let life: Int
    let settings: Life.Settings
    let books: Books
    let time: VirtualTime
    /// The events that are being appended; empty while none is.
    let incoming = Locked<[EventLine]>([])

    @Sendable func removes(
        _ process: SimulatedProcess, _ path: String, _ file: SimulatedDisk.File, _ disk: inout SimulatedDisk
    ) {
        if SegmentFile.holdsDeadLetters(path), !process.hadFaults {
            books.buries(SegmentFile.serials(in: file.bytes), in: life)
        }
        guard let segment = SegmentFile(path: path, file: file) else { return }
        var lost = segment.serials.filter { books.record($0).map { !$0.isDone && $0.excuse == nil } ?? false }
        // A replayed dead letter may lie in two files: in its first batch, and behind the events that waited.
        let replayed = lost.filter { books.record($0)?.isReplayed == true }
        if !replayed.isEmpty {
            let others = disk.files(below: "/data/events").filter { $0.path != path }
            let elsewhere = Set(others.flatMap { SegmentFile.serials(in: $0.file.bytes) })
            books.excuse { serial, _ in replayed.contains(serial) && !elsewhere.contains(serial) ? "replayed" : nil }
            // A dead letter whose file could not be changed is one still.
            let letters = others.filter { SegmentFile.holdsDeadLetters($0.path) }
            books.found(
                deadLetters: Set(letters.flatMap { SegmentFile.serials(in: $0.file.bytes) }).filter(replayed.contains))
            lost.removeAll { replayed.contains($0) }
        }
        guard !lost.isEmpty else { return }
        if books.deletesUnread(in: life) {
            return books.excuse { [lost] serial, _ in lost.contains(serial) ? "deleted" : nil }
        }
        // What could not be taken back may lie in another file, too, which is the one in flight.
        let single = lost.filter { books.record($0)?.process.failedToTruncate != true }
        if books.isInFlight(single, in: life) { books.violated("\(path) is removed in flight by life \(life)") }
        let now = time.continuousTime()
        let isOld = lost.compactMap { books.record($0) }.allSatisfy { record in
            now - record.trackedAt >= settings.maximumAge || books.hasUnknownAge(record)
        }
        if isOld { return books.expired(lost) }
        books.evicted(lost)
        judge(segment, lost, process, &disk)
    }

    private func judge(_ segment: SegmentFile, _ lost: [Int], _ process: SimulatedProcess, _ disk: inout SimulatedDisk)
    {
        // A file that could not be removed when its time had come goes at any later moment.
        guard !process.hadFaults else { return }
        let mine = disk.segments(of: process.processID)
        // A file that another program has moved counts, because it gets its name back.
        let moved = disk.files(below: "/elsewhere").filter {
            $0.path.hasPrefix("/elsewhere/\(life)-") && $0.file.links == 1
        }
        let bytes = mine.reduce(0) { $0 + $1.bytes } + moved.reduce(0) { $0 + $1.file.bytes.count }
        let incoming = incoming.withLock(\.self)
        // The event that it makes room for is not longer than this. What is buffered counts too, but cannot be seen here:
        // other events of the same call, or any event of a buffered store.
        let room = max(World.largestEvent, incoming.reduce(0) { $0 + $1.bytes.count + SegmentFile.overhead })
        if settings.durability != .buffered, bytes + room <= settings.capacity {
            books.violated(
                "life \(life) evicts \(segment.path) at \(bytes) bytes of \(settings.capacity), lost \(lost)")
        }
        if let priority = incoming.map(\.priority).max(), segment.priority > priority {
            books.violated("life \(life) evicts \(segment.path) for an event of priority \(priority)")
        }
        for other in mine where other.path != segment.path && !books.isInFlight(other.serials, in: life) {
            // A file can be that of a batch whose only other events are settled in place.
            let isWaiting = other.serials.contains { books.record($0).map { !$0.isDone && !$0.isDamaged } ?? false }
            guard isWaiting else { continue }
            if other.priority < segment.priority {
                books.violated("life \(life) evicts \(segment.path) before the lower \(other.path)")
            }
            if other.priority == segment.priority, other.sequence < segment.sequence {
                books.violated(
                    "life \(life) evicts \(segment.path) before the older \(other.path), which has \(other.serials)")
            }
        }
    }
}

extension SimulatedDisk {
    /// The segments in the folders that a process holds.
    mutating func segments(of process: Int32) -> [SegmentFile] {
        var result: [SegmentFile] = []
        for (path, file) in files(below: "/data/events") where isOwner(process, of: path) {
            if let segment = SegmentFile(path: path, file: file) { result.append(segment) }
        }
        return result
    }

    /// The size of the files that a process keeps for its next segments.
    mutating func spareBytes(of process: Int32) -> Int {
        files(below: "/data/events").reduce(0) { bytes, found in
            found.path.hasSuffix(".spare") && isOwner(process, of: found.path) ? bytes + found.file.bytes.count : bytes
        }
    }

    /// Whether a process holds the lock of the folder that a file lies in.
    private mutating func isOwner(_ process: Int32, of path: String) -> Bool {
        guard let lock = node(SimulatedDisk.split(path).parent + "/lock") else { return false }
        return lockers[lock].flatMap { descriptors[$0] }?.process == process
    }
}
