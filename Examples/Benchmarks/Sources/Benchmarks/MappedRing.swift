import Foundation
import Sluice
import Synchronization

/// `track` into a prototype of a mapped ring in front of the segments: see Docs/Performance.md.
struct MappedRing: Candidate {
    let rows = [
        Row(name: "ring", description: "track through six stages into a mapped ring, which a thread writes to files"),
        Row(name: "ring-caller", description: "the part of the caller's thread"),
    ]

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let store = try RingStore(in: folder)
        let pipeline = try Pipeline {
            SluicePipeline.sixStages(stateIn: folder)
            store
            NullTransport()
        }
        pipeline.pauseDelivery()
        let (process, caller) = (CPUTime(), CPUTime(of: CLOCK_THREAD_CPUTIME_ID))
        for index in 0..<events { pipeline.track(Sample.event, Sample(index).properties) }
        let callerCost = caller.nanoseconds(for: events)
        store.drainAll()
        let cost = process.nanoseconds(for: events)
        try store.check(events)
        return [cost, callerCost]
    }
}

/// `track` into the ring from one thread and from two.
struct MappedRingThreads: Candidate {
    let rows = [
        Row(name: "ring-threads-1", description: "from one thread into a ring", unit: .throughput, baseline: nil),
        Row(name: "ring-threads-2", description: "from two threads", unit: .throughput, baseline: "ring-threads-1"),
    ]

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        let events = events * 20
        return try [1, 2].map { threads in
            let folder = "\(folder)/\(threads)"
            let store = try RingStore(in: folder)
            let pipeline = try Pipeline {
                SluicePipeline.sixStages(stateIn: folder)
                store
                NullTransport()
            }
            pipeline.pauseDelivery()
            let throughput = throughput(of: events, threads: threads) { _, indices in
                for index in indices { pipeline.track(Sample.event, Sample(index).properties) }
            }
            store.drainAll()
            try store.check(events)
            return throughput
        }
    }
}

/// The lines are copied into a file that is mapped into memory, so they outlive the process. Another thread writes them to
/// files of 256 KiB. There is no recovery, no checksum, no delivery and no protection against a full disk.
// @unchecked: the mutex protects the positions, only the drain reads the bytes below `tail`, and only one thread closes.
private final class RingStore: Store, @unchecked Sendable {
    private static let size = 1 << 20
    private static let part = 1 << 16
    private static let quarter = 1 << 18

    private struct Positions {
        /// The number of bytes that were appended, and of those that are in files.
        var (tail, drained) = (0, 0)
        var lines = 0
        var isClosed = false
        var isDraining = false
    }

    private let folder: String
    private let bytes: UnsafeMutableRawPointer
    private let positions = Mutex(Positions())
    private let wakeUp = DispatchSemaphore(value: 0)
    private let end = DispatchSemaphore(value: 0)

    init(in parent: String) throws {
        folder = parent + "/events"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let descriptor = Foundation.open(folder + "/ring", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("the ring can't be created: \(String(cString: strerror(errno)))") }
        defer { Foundation.close(descriptor) }
        // The file is written and not only extended, so a full disk is noticed here.
        let blanks = [UInt8](repeating: UInt8(ascii: " "), count: RingStore.size)
        guard write(descriptor, blanks, blanks.count) == blanks.count else {
            throw Failure("the ring can't be written")
        }
        let flags = MAP_SHARED | Int32(MAP_POPULATE)
        let mapping = mmap(nil, RingStore.size, PROT_READ | PROT_WRITE, flags, descriptor, 0)
        guard let mapping, mapping != MAP_FAILED else { throw Failure("the ring can't be mapped") }
        bytes = mapping
        Thread.detachNewThread { self.drain() }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        line.bytes.withUnsafeBytes { source in
            while !positions.withLock({ copy(source, at: &$0) }) { sched_yield() }
        }
    }

    /// Returns false if there is no room.
    private func copy(_ line: UnsafeRawBufferPointer, at positions: inout Positions) -> Bool {
        guard let source = line.baseAddress, positions.tail + line.count + 1 - positions.drained <= RingStore.size
        else { return false }
        let place = positions.tail % RingStore.size
        let first = min(line.count, RingStore.size - place)
        (bytes + place).copyMemory(from: source, byteCount: first)
        bytes.copyMemory(from: source + first, byteCount: line.count - first)
        (bytes + (place + line.count) % RingStore.size).storeBytes(of: UInt8(ascii: "\n"), as: UInt8.self)
        positions.tail += line.count + 1
        positions.lines += 1
        if !positions.isDraining, positions.tail - positions.drained >= RingStore.quarter {
            positions.isDraining = true
            wakeUp.signal()
        }
        return true
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? { nil }
    func settle(_ batch: Batch.ID) throws(SluiceError) {}
    var backlog: Backlog { Backlog(events: positions.withLock { $0.lines }, bytes: positions.withLock { $0.tail }) }

    /// Waits until everything is in files.
    func drainAll() {
        positions.withLock { $0.isClosed = true }
        wakeUp.signal()
        end.wait()
        munmap(bytes, RingStore.size)
    }

    func check(_ events: Int) throws {
        try FileManager.default.removeItem(atPath: folder + "/ring")
        try Failure.unless(Files.lineCount(under: folder), is: events, "lines")
    }

    private func drain() {
        var descriptor: Int32 = -1
        var (files, room) = (0, 0)
        while true {
            let (range, isClosed) = positions.withLock { positions in
                positions.isDraining = positions.tail - positions.drained >= RingStore.quarter || positions.isClosed
                return (positions.drained..<positions.tail, positions.isClosed)
            }
            if !isClosed && range.count < RingStore.quarter {
                wakeUp.wait()
                continue
            }
            if range.isEmpty { break }
            var position = range.lowerBound
            while position < range.upperBound {
                if room == 0 {
                    Foundation.close(descriptor)
                    let path = "\(folder)/\(files).jsonl"
                    descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                    (files, room) = (files + 1, RingStore.quarter)
                }
                let place = position % RingStore.size
                let count = min(range.upperBound - position, RingStore.part, RingStore.size - place, room)
                // A short write shows when the lines are counted.
                _ = write(descriptor, bytes + place, count)
                position += count
                room -= count
            }
            positions.withLock { $0.drained = range.upperBound }
        }
        Foundation.close(descriptor)
        end.signal()
    }
}
