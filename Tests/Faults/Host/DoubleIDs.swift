import Sluice
import SluiceJSONL

/// Tracks pairs of events with one id. The receiver rejects the first one and accepts the corrected one.
///
///     a 17    both events were accepted by the store
///     g 17    the corrected event is delivered
///     l 17    the other one is a dead letter, at the end
struct DoubleIDs {
    private let directory: String
    /// Nil: delivers the events that are left.
    private let first: Int64?
    private let recorder = Recorder()

    init(_ arguments: ArraySlice<String>) {
        let words = Array(arguments)
        guard words.count == 3 && words[1] == "track" || words.count == 2 && words[1] == "drain" else {
            System.fail("FaultHost ids DIRECTORY track FIRST|drain")
        }
        directory = words[0]
        first = words.count == 3 ? Int64(words[2]) : nil
    }

    func run() async {
        do {
            let pipeline = try pipeline()
            if let first { track(from: first, pipeline) }
            try await drain(pipeline)
        } catch {
            System.fail("\(error)")
        }
    }

    private func pipeline() throws -> Pipeline {
        let policy = DeliveryPolicy(
            batch: BatchSize(events: 40, bytes: 262_144), flushCount: 40, backOff: .milliseconds(20))
        return try Pipeline(delivery: policy, onDiagnostic: { System.note($0.message) }) {
            JSONLStore(at: directory)
            Receiver(recorder: recorder)
        }
    }

    /// Until someone kills this process.
    private func track(from first: Int64, _ pipeline: Pipeline) {
        for number in first... {
            let id = EventID(high: 0x4000, low: UInt64(number))
            for isGood in [false, true] {
                pipeline.track("Fault", ["number": .int(number), "good": .bool(isGood)], id: id)
            }
            recorder.record("a \(number)")
            System.pause(microseconds: 50)
        }
    }

    private func drain(_ pipeline: Pipeline) async throws {
        for _ in 0..<50 {
            // An event that failed alone, as the rest of a killed process can, waits until others are accepted.
            pipeline.track("Fault", ["number": 0, "good": true])
            if await pipeline.flush().isComplete { break }
        }
        for letter in try await pipeline.deadLetters() {
            recorder.record("l \(try letter.event().properties["number"]?.int ?? 0)")
        }
        recorder.record("= \(await pipeline.shutdown().isBalanced)")
    }
}

private struct Receiver: Transport {
    let recorder: Recorder

    func send(_ batch: Batch) async throws -> Verdicts {
        .each(
            try batch.events.map { line in
                let properties = try line.event().properties
                guard properties["good"] == true else { return .rejected(reason: "bad") }
                recorder.record("g \(properties["number"]?.int ?? 0)")
                return .accepted
            })
    }
}
