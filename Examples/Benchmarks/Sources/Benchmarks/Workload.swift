import SluiceJSONL
import SluiceMemory

/// The sample events as Sluice stores them, so that the others are measured with the same bytes.
struct Workload {
    /// As a `JSONLStore` has written them, each with its newline.
    let lines: [ArraySlice<UInt8>]
    /// As the last processor has left them.
    let events: [Event]

    var bytesPerLine: Int { lines.reduce(0) { $0 + $1.count } / max(1, lines.count) }

    /// The properties that the processors add to every event.
    var constants: [Property] { events[0].properties.filter { $0.name.hasPrefix("$") } }

    /// The events as NDJSON, in bodies of `batch` events.
    func bodies(of batch: Int) throws -> [[UInt8]] {
        try stride(from: 0, to: events.count, by: batch).map { start in
            let events = events[start..<min(start + batch, events.count)]
            return try events.flatMap { try EventLine($0).bytes + [UInt8(ascii: "\n")] }
        }
    }

    init(events count: Int, in folder: String) async throws {
        let collector = Collector()
        let pipeline = try Pipeline {
            SluicePipeline.sixStages(stateIn: folder)
            Route("disk") {
                JSONLStore(at: folder + "/events", capacity: .max)
                NullTransport()
            }
            Route("memory") {
                MemoryStore(capacity: .max)
                collector
            }
        }
        try SluicePipeline.track(count, into: pipeline)
        lines = try Files.lines(under: folder + "/events")
        pipeline.resumeDelivery()
        await pipeline.shutdown(timeout: .seconds(60))
        events = try await collector.lines.map { try $0.event() }
        try Failure.unless(lines.count, is: count, "lines")
        try Failure.unless(events.count, is: count, "events")
    }
}

/// Keeps the events.
private actor Collector: Transport {
    private(set) var lines: [EventLine] = []

    func send(_ batch: Batch) -> Verdicts {
        lines += batch.events
        return .all(.accepted)
    }
}
