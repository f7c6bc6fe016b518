internal import Sluice

/// Writes the events of one priority: a buffer in front of the open segment.
struct Appender {
    let priority: Event.Priority
    private(set) var writer: SegmentWriter?
    /// Complete lines that are not in the file yet. It is empty between calls unless the durability is
    /// ``JSONLStore/Durability/buffered``.
    private var buffer = LineBuffer()
    private var buffered = Usage()

    init(_ priority: Event.Priority) {
        self.priority = priority
    }

    var usage: Usage { (writer?.usage ?? Usage()) + buffered }

    var fileBytes: Int { (writer?.usage.fileBytes ?? 0) + buffered.fileBytes }

    var bufferedBytes: Int { buffered.fileBytes }

    /// The open segment, if a loss of power could still take some of it.
    var unsynchronized: PendingSynchronization.Item? {
        guard let writer, !writer.isSynchronized else { return nil }
        return PendingSynchronization.Item(
            path: writer.path, isDirectory: false, version: writer.usage.fileBytes,
            lane: Int(priority.rawValue))
    }

    private func isFull(before size: Int, at now: Duration, _ limits: BatchSize) -> Bool {
        let usage = usage
        guard usage.events > 0 else { return false }
        if usage.events >= limits.events || usage.fileBytes + size > limits.bytes { return true }
        // mutant: never-close-old-segment
        return now > writer?.deadline ?? now
    }

    /// Puts a line into the buffer. Returns false, and does nothing, if the open segment must be closed before.
    // One mutating call: a method that only reads would be given a copy of the appender for each event.
    mutating func add(_ line: StoredLine, at now: Duration, _ limits: BatchSize) -> Bool {
        if isFull(before: line.size, at: now, limits) { return false }
        buffer.append(line)
        buffered.events += 1
        buffered.eventBytes += line.eventBytes
        buffered.fileBytes += line.size
        return true
    }

    /// Takes the line back that was added last.
    mutating func removeLast(_ line: StoredLine) {
        buffer.removeLast(line)
        buffered.events -= 1
        buffered.eventBytes -= line.eventBytes
        buffered.fileBytes -= line.size
    }

    /// Writes the buffer to the file. If this throws, all lines are still in the buffer and none counts in the file.
    ///
    /// - Throws: ``FileError/noSuchFile`` if the file or its directory was deleted.
    mutating func flush(to directories: inout Directories, at now: Duration) throws(FileError) {
        guard buffered.fileBytes > 0 else { return }
        if writer == nil { writer = try directories.makeSegment(priority, at: now) }
        try writer?.write(buffer, buffered, at: now, &directories)
        buffer.removeAll()
        buffered = Usage()
    }

    /// Ends the use of the open segment's file. Buffered lines stay for the next one.
    mutating func takeWriter() -> SegmentWriter? {
        defer { writer = nil }
        return writer
    }

    /// Drops the buffer.
    mutating func takeBuffered() -> Usage {
        defer {
            buffer = LineBuffer()
            buffered = Usage()
        }
        return buffered
    }
}
