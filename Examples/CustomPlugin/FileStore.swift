import Foundation
import Sluice

/// Keeps events in one file, a line for each, without a limit and without dead letters. One process at a time can use it, for
/// one route.
///
/// An accepted event survives the end of the process for any reason, but not a loss of power.
final class FileStore: Store {
    private struct State {
        var file: FileHandle?
        var waiting: [EventLine] = []
        var taken: [Batch] = []
        var settled: [Batch.ID: Set<Int>] = [:]
        var lastBatch: Batch.ID = 0
    }

    private let url: URL
    private let state = Locked(State())

    init(at path: String) { url = URL(filePath: path) }

    /// Finds the events of an earlier process.
    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            guard state.file == nil else { throw SluiceError(.invalidPipeline, "this FileStore is in use already") }
            do {
                let isNew = !FileManager.default.fileExists(atPath: url.path)
                state.waiting = FileStore.lines(in: isNew ? [] : Array(try Data(contentsOf: url)))
            } catch {
                throw SluiceError(.storageUnavailable, "the file can't be read: choose another path", cause: error)
            }
            try rewrite(&state)
            observer.recovered(state.waiting.count)
        }
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
    private func rewrite(_ state: inout State) throws(SluiceError) {
        do {
            let open = state.taken.flatMap { batch in
                let settled = state.settled[batch.id] ?? []
                return batch.events.indices.filter { !settled.contains($0) }.map { batch.events[$0] }
            }
            try FileStore.data(of: open + state.waiting).write(to: url, options: .atomic)
            state.file = nil  // The former file is no longer at this path.
            state.file = try FileHandle(forWritingTo: url)
        } catch {
            throw SluiceError(
                .storageUnavailable, "the file can't be written: check the path and the disk", cause: error)
        }
    }

    func append(_ line: EventLine) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            guard let file = state.file else { throw SluiceError(.shutDown, "the store is closed") }
            do {
                try FileStore.write(FileStore.data(of: [line]), to: file)
            } catch {
                throw SluiceError(.inputOutput, "the event can't be written: check the disk", cause: error)
            }
            state.waiting.append(line)
        }
    }

    private static func write(_ data: Data, to file: FileHandle) throws {
        let end = try file.seekToEnd()
        do {
            try file.write(contentsOf: data)
        } catch {
            // Otherwise the next event would continue this line.
            try file.truncate(atOffset: end)
            throw error
        }
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        state.withLock { state in
            guard let highest = state.waiting.map(\.priority).max() else { return nil }
            // By place, because two events can be equal.
            let places = state.waiting.indices.filter { state.waiting[$0].priority == highest }.prefix(size.events)
            let events = places.map { state.waiting[$0] }
            for place in places.reversed() { state.waiting.remove(at: place) }
            state.lastBatch += 1
            state.taken.append(Batch(id: state.lastBatch, events: events))
            return state.taken.last
        }
    }

    /// A later process must not find these events. They still count until the batch is settled.
    func settle(_ places: [Int], of batch: Batch.ID) {
        state.withLock { state in
            state.settled[batch, default: []].formUnion(places)
            do throws(SluiceError) {
                if state.file != nil { try rewrite(&state) }
            } catch {
                // A later process may find the events.
            }
        }
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            state.taken.removeAll { $0.id == batch }
            state.settled[batch] = nil
            if state.file != nil { try rewrite(&state) }
        }
    }

    var backlog: Backlog {
        let all = state.withLock { $0.taken.flatMap(\.events) + $0.waiting }
        return Backlog(events: all.count, bytes: all.reduce(0) { $0 + $1.bytes.count })
    }

    func close() { state.withLock { $0.file = nil } }
}
