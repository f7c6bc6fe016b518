internal import Sluice

/// Writes the lines of one lane: a buffer in front of the open segment.
struct Appender {
    let lane: Lane
    private(set) var writer: SegmentWriter?
    /// Complete lines that are not in the file yet. It is empty between calls unless the durability is
    /// ``JSONLStore/Durability/buffered``.
    private var buffer = LineBuffer()
    private var buffered = Usage()
    /// The lines in the open segment and in the buffer. Adding them up for each line would take longer than keeping the sum.
    private(set) var usage = Usage()

    init(_ lane: Lane) {
        self.lane = lane
    }

    var bufferedBytes: Int { buffered.fileBytes }

    /// The size of the open segment and of the buffer.
    var fileBytes: Int { max(usage.fileBytes, writer?.reservedBytes ?? 0) }

    /// The open segment, if a loss of power could still take some of it.
    var unsynchronized: PendingSynchronization.Item? {
        guard let writer, !writer.isSynchronized else { return nil }
        return PendingSynchronization.Item(
            path: writer.path, isDirectory: false, version: writer.usage.fileBytes, lane: lane)
    }

    private func isFull(before size: Int, at now: Duration, _ limits: BatchSize) -> Bool {
        guard usage.count > 0 else { return false }
        if usage.count >= limits.events || usage.fileBytes + size > limits.bytes { return true }
        return now > writer?.deadline ?? now
    }

    /// Puts a line into the buffer. Returns false, and does nothing, if the open segment must be closed before.
    // One mutating call: a method that only reads would be given a copy of the appender for each event.
    mutating func add(_ line: StoredLine, at now: Duration, _ limits: BatchSize) -> Bool {
        if isFull(before: line.size, at: now, limits) { return false }
        buffer.append(line)
        buffered = buffered + line.usage
        usage = usage + line.usage
        return true
    }

    /// Takes the line back that was added last.
    mutating func removeLast(_ line: StoredLine) {
        buffer.removeLast(line)
        buffered = buffered - line.usage
        usage = usage - line.usage
    }

    /// Writes the buffer to the file. If this throws, all lines are still in the buffer and none counts in the file.
    ///
    /// - Throws: ``FileError/noSuchFile`` if the directory was deleted or moved.
    mutating func flush(to directories: inout Directories, at now: Duration) throws(FileError) {
        guard buffered.fileBytes > 0 else { return }
        if writer == nil { writer = try directories.makeSegment(lane, at: now) }
        buffer.setSeed(writer?.name.seed ?? 0)
        try writer?.write(buffer, buffered, at: now, &directories)
        buffer.removeAll()
        buffered = Usage()
    }

    /// Ends the use of the open segment's file. Buffered lines stay for the next one.
    mutating func takeWriter() -> SegmentWriter? {
        usage = buffered
        return writer.take()
    }

    /// Makes the file of the open segment as short as its lines. A file that can't be cut counts as it is.
    func cutRest() { _ = FileError.of(try writer?.cutRest()) }

    /// Drops the buffer.
    mutating func takeBuffered() -> Usage {
        buffer = LineBuffer()
        usage = writer?.usage ?? Usage()
        return exchange(&buffered, with: Usage())
    }
}
