import Foundation

/// A prototype that shows what a mapped ring in front of the segments could save: see Docs/Performance.md.
///
/// The lines are copied into a file that is mapped into memory, so they outlive the process. Another thread writes them to
/// files of 256 KiB. There is no recovery, no checksum and no protection against a full disk.
struct MappedRing: Candidate {
    let rows = [
        Row(name: "ring", description: "the same lines through a mapped ring of 1 MiB, which a thread writes to files"),
        Row(name: "ring-caller", description: "the part of the caller's thread"),
    ]
    let workload: Workload

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let ring = try Ring(in: folder)
        let (process, caller) = (CPUTime(), CPUTime(of: CLOCK_THREAD_CPUTIME_ID))
        for index in 0..<events {
            workload.lines[index].withUnsafeBytes { ring.append($0) }
        }
        let callerCost = caller.nanoseconds(for: events)
        ring.close()
        let cost = process.nanoseconds(for: events)
        try FileManager.default.removeItem(atPath: folder + "/ring")
        try Failure.unless(Files.lineCount(under: folder), is: events, "lines")
        return [cost, callerCost]
    }
}

// @unchecked: the condition protects all variables, and only the drain reads the bytes below `tail`.
private final class Ring: @unchecked Sendable {
    private static let size = 1 << 20
    private static let part = 1 << 16
    private static let fileSize = 1 << 18

    private let folder: String
    private let bytes: UnsafeMutableRawPointer
    private let changed = NSCondition()
    /// The number of bytes that were appended, and of those that are in files.
    private var (tail, drained) = (0, 0)
    private var isClosed = false
    private var hasEnded = false

    init(in folder: String) throws {
        self.folder = folder
        let descriptor = open(folder + "/ring", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("the ring can't be created: \(String(cString: strerror(errno)))") }
        defer { Foundation.close(descriptor) }
        // The file is written and not only extended, so a full disk is noticed here.
        let blanks = [UInt8](repeating: UInt8(ascii: " "), count: Ring.size)
        guard write(descriptor, blanks, blanks.count) == blanks.count else {
            throw Failure("the ring can't be written")
        }
        let mapping = mmap(nil, Ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let mapping, mapping != MAP_FAILED else { throw Failure("the ring can't be mapped") }
        bytes = mapping
        Thread.detachNewThread { self.drain() }
    }

    func append(_ line: UnsafeRawBufferPointer) {
        guard let source = line.baseAddress else { return }
        changed.lock()
        while tail + line.count - drained > Ring.size { changed.wait() }
        let place = tail % Ring.size
        let first = min(line.count, Ring.size - place)
        (bytes + place).copyMemory(from: source, byteCount: first)
        bytes.copyMemory(from: source + first, byteCount: line.count - first)
        let wasQuarter = (tail - drained) >= Ring.fileSize
        tail += line.count
        if !wasQuarter, tail - drained >= Ring.fileSize { changed.broadcast() }
        changed.unlock()
    }

    /// Waits until everything is in files.
    func close() {
        changed.lock()
        isClosed = true
        changed.broadcast()
        while !hasEnded { changed.wait() }
        changed.unlock()
        munmap(bytes, Ring.size)
    }

    private func drain() {
        var descriptor: Int32 = -1
        var (files, room) = (0, 0)
        while let range = nextRange() {
            var position = range.lowerBound
            while position < range.upperBound {
                if room == 0 {
                    Foundation.close(descriptor)
                    descriptor = open("\(folder)/\(files).jsonl", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                    (files, room) = (files + 1, Ring.fileSize)
                }
                let place = position % Ring.size
                let count = min(range.upperBound - position, Ring.part, Ring.size - place, room)
                // A short write shows when the lines are counted.
                _ = write(descriptor, bytes + place, count)
                position += count
                room -= count
            }
            changed.lock()
            drained = range.upperBound
            changed.broadcast()
            changed.unlock()
        }
        Foundation.close(descriptor)
        changed.lock()
        hasEnded = true
        changed.broadcast()
        changed.unlock()
    }

    /// Waits for a quarter of the ring, or for its end: then it returns nil.
    private func nextRange() -> Range<Int>? {
        changed.lock()
        defer { changed.unlock() }
        while tail - drained < Ring.fileSize, !isClosed { changed.wait() }
        return drained == tail ? nil : drained..<tail
    }
}
