import Dispatch
import Sluice
import SluiceJSONL

/// Tracks an event while the disk hangs, and uses the pipeline in many tasks.
///
///     = ready    everything is built
///     t          another task of the host has run, once in 10 ms
///     = done     all calls have returned
struct HangingDisk {
    private let directory: String
    private let recorder = Recorder()

    init(_ arguments: ArraySlice<String>) {
        guard let directory = arguments.first else { System.fail("FaultHost hang DIRECTORY") }
        self.directory = directory
    }

    func run() async {
        do {
            let pipeline = try Pipeline {
                JSONLStore(at: directory)
                RecordingTransport(recorder: recorder)
            }
            for number in 0..<50 { pipeline.track(NumberedEvent.name, ["number": .int(number)]) }
            await pipeline.flush()
            recorder.record("= ready")
            _ = System.nextLine()
            try await use(pipeline)
            await pipeline.shutdown()
            recorder.record("= done")
        } catch {
            System.fail("\(error)")
        }
    }

    private func use(_ pipeline: Pipeline) async throws {
        let ticks = Task { [recorder] in
            while !Task.isCancelled {
                recorder.record("t")
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        // A thread of its own: `track` waits for the disk.
        DispatchQueue(label: "track").async { pipeline.track(NumberedEvent.name, ["number": 50]) }
        // After 200 ms it waits, with the lock of the store.
        try await Task.sleep(for: .milliseconds(200))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    _ = pipeline.ledger
                    await pipeline.flush(timeout: .seconds(1))
                    _ = try await pipeline.deadLetters()
                    _ = pipeline.ledger
                }
            }
            try await group.waitForAll()
        }
        ticks.cancel()
    }
}
