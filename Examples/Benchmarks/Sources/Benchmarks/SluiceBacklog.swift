import Foundation
import SluiceJSONL

/// A store in which many segments wait, against one with ten.
final class SluiceBacklog: Candidate {
    /// The fewest events of a segment.
    private static let segmentEvents = 20

    let rows: [Row]
    private let segments: Int
    private let line: EventLine
    private let folder: String
    /// The store with ten segments and the one with many. They are kept for all rounds.
    private var stores: [JSONLStore] = []
    /// The folder of a closed store with many segments.
    private var closed: String { folder + "/closed" }

    init(segments: Int, folder: String) throws {
        self.segments = segments
        self.folder = folder
        line = try EventLine(Event(id: EventID(high: 1, low: 1), name: "Tap", time: Timestamp(milliseconds: 1)))
        rows = [
            Row(name: "append-10", description: "JSONLStore.append, 10 segments wait", baseline: nil),
            Row(name: "append-backlog", description: "the same, \(segments) segments wait", baseline: "append-10"),
            Row(
                name: "next-batch-10", description: "reading and removing a batch of 20, 10 segments wait",
                baseline: nil),
            Row(
                name: "next-batch-backlog", description: "the same, \(segments) segments wait",
                baseline: "next-batch-10"),
            SluiceBacklog.opening("list", "listing a folder of \(segments) segments", baseline: nil),
            SluiceBacklog.opening("open", "opening a store with \(segments) segments", baseline: "list"),
        ]
    }

    private static func opening(_ name: String, _ description: String, baseline: String?) -> Row {
        Row(name: name, description: description, unit: Unit(name: "ms", decimals: 2), baseline: baseline)
    }

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        if stores.isEmpty {
            stores = [try store("10", segments: 10), try store("many", segments: segments)]
            try store("closed", segments: segments).close()
        }
        let costs = try stores.map { try appendAndTake(events, $0) }
        return costs.map(\.append) + costs.map(\.take) + [try listing() * 1_000, try opening() * 1_000]
    }

    private func store(_ name: String, segments: Int) throws -> JSONLStore {
        let store = try open(name)
        // The smallest batches, for segments as small as possible.
        _ = try store.nextBatch(BatchSize(events: 1, bytes: 1))
        for _ in 0..<segments * SluiceBacklog.segmentEvents { try store.append(line) }
        return store
    }

    private func open(_ name: String) throws -> JSONLStore {
        let store = JSONLStore(at: "\(folder)/\(name)", capacity: .max)
        try store.open()
        return store
    }

    /// Appends a segment and takes one, so that their number stays the same.
    private func appendAndTake(_ events: Int, _ store: JSONLStore) throws -> (append: Double, take: Double) {
        var (append, take) = (0.0, 0.0)
        let turns = max(1, events / SluiceBacklog.segmentEvents)
        for _ in 0..<turns {
            let start = CPUTime()
            for _ in 0..<SluiceBacklog.segmentEvents { try store.append(line) }
            append += start.nanoseconds(for: SluiceBacklog.segmentEvents)
            let half = CPUTime()
            guard let batch = try store.nextBatch(BatchSize(events: 1, bytes: 1)) else {
                throw Failure("no batch waits")
            }
            try store.settle(batch.id)
            take += half.nanoseconds(for: SluiceBacklog.segmentEvents)
            try Failure.unless(batch.events.count, is: SluiceBacklog.segmentEvents, "events in a batch")
        }
        return (append / Double(turns), take / Double(turns))
    }

    private func listing() throws -> Double {
        let folders = try FileManager.default.contentsOfDirectory(atPath: closed).map { "\(closed)/\($0)" }
        let time = WallTime()
        let count = try folders.reduce(0) { try $0 + Files.entryCount(of: $1) }
        let seconds = time.seconds
        guard count >= segments else { throw Failure("\(count) files instead of \(segments) segments") }
        return seconds
    }

    private func opening() throws -> Double {
        let time = WallTime()
        let store = try open("closed")
        let seconds = time.seconds
        guard store.backlog.bytes > 0 else { throw Failure("no event waits in the opened store") }
        store.close()
        return seconds
    }
}
