import Foundation
import Sluice

/// Keeps events in one file, a line for each, without a limit and without dead letters. One process at a time can use it.
///
/// An accepted event survives the end of the process for any reason, but not a loss of power.
final class FileStore: Store {
    private let url: URL
    private let lock = NSLock()
    nonisolated(unsafe) private var file: FileHandle?
    nonisolated(unsafe) private var waiting: [EventLine] = []
    nonisolated(unsafe) private var taken: [Batch] = []
    nonisolated(unsafe) private var settled: [Batch.ID: Set<Int>] = [:]
    nonisolated(unsafe) private var lastBatch: Batch.ID = 0

    init(at path: String) { url = URL(filePath: path) }

    /// Finds the events of an earlier process.
    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        lock.lock()
        defer { lock.unlock() }
        guard file == nil else { throw SluiceError(.invalidPipeline, "this FileStore is in use already") }
        do {
            let isNew = !FileManager.default.fileExists(atPath: url.path)
            waiting = FileStore.lines(in: isNew ? [] : Array(try Data(contentsOf: url)))
        } catch {
            throw SluiceError(.storageUnavailable, "the file can't be read: choose another path", cause: error)
        }
        try rewrite()
        observer.recovered(waiting.count)
    }

    /// The process can end in the middle of a write. So a last line without a newline is torn, and `append` has not returned
    /// for it: leave it out.
    private static func lines(in bytes: [UInt8]) -> [EventLine] {
        guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return bytes[..<end].split(separator: UInt8(ascii: "\n")).compactMap { line in
            let priority = line.first.flatMap { Event.Priority(rawValue: $0 &- UInt8(ascii: "0")) }
            return priority.map { EventLine(bytes: line.dropFirst(), priority: $0) }
        }
    }

    /// The priority as a digit, the bytes of the event, and a newline, which the bytes never contain.
    private static func data(of lines: [EventLine]) -> Data {
        lines.reduce(into: Data()) { data, line in
            data.append(UInt8(ascii: "0") + line.priority.rawValue)
            data.append(contentsOf: line.bytes)
            data.append(UInt8(ascii: "\n"))
        }
    }

    /// Replaces the file as a whole. It then has the events that are not settled, in their order.
    private func rewrite() throws(SluiceError) {
        do {
            let open = taken.flatMap { batch in
                batch.events.indices.filter { settled[batch.id]?.contains($0) != true }.map { batch.events[$0] }
            }
            try FileStore.data(of: open + waiting).write(to: url, options: .atomic)
            file = nil  // The former file is no longer at this path.
            file = try FileHandle(forWritingTo: url)
        } catch {
            throw SluiceError(
                .storageUnavailable, "the file can't be written: check the path and the disk", cause: error)
        }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        lock.lock()
        defer { lock.unlock() }
        guard let file else { throw SluiceError(.shutDown, "the store is closed") }
        do {
            let end = try file.seekToEnd()
            do {
                try file.write(contentsOf: FileStore.data(of: [line]))
            } catch {
                // Otherwise the next event would continue this line.
                try file.truncate(atOffset: end)
                throw error
            }
        } catch {
            throw SluiceError(.inputOutput, "the event can't be written: check the disk", cause: error)
        }
        waiting.append(line)
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        lock.withLock {
            guard let highest = waiting.map(\.priority).max() else { return nil }
            // By place, because two events can be equal.
            let places = waiting.indices.filter { waiting[$0].priority == highest }.prefix(size.events)
            let events = places.map { waiting[$0] }
            for place in places.reversed() { waiting.remove(at: place) }
            lastBatch += 1
            taken.append(Batch(id: lastBatch, events: events))
            return taken.last
        }
    }

    /// A later process must not find these events. They still count until the batch is settled.
    func settle(_ places: [Int], of batch: Batch.ID) {
        lock.lock()
        defer { lock.unlock() }
        settled[batch, default: []].formUnion(places)
        do {
            if file != nil { try rewrite() }
        } catch {
            // A later process may find the events.
        }
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        lock.lock()
        defer { lock.unlock() }
        taken.removeAll { $0.id == batch }
        settled[batch] = nil
        if file != nil { try rewrite() }
    }

    var backlog: Backlog {
        let all = lock.withLock { taken.flatMap(\.events) + waiting }
        return Backlog(events: all.count, bytes: all.reduce(0) { $0 + $1.bytes.count })
    }

    func close() { lock.withLock { file = nil } }
}
