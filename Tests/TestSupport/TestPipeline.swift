package import Sluice
import SluiceMemory
package import SluiceTesting
import Testing

/// A real pipeline that records its delivered events.
package struct TestPipeline {
    private final class Recorder: Transport {
        let events = Locked<[Event]>([])

        func send(_ batch: Batch) async throws -> Verdicts {
            for line in batch.events {
                let event = try line.event()
                events.withLock { $0.append(event) }
            }
            return .all(.accepted)
        }
    }

    package let pipeline: Pipeline
    private let recorder: Recorder
    private let messages = Locked<[Diagnostic]>([])

    /// The diagnostics of plugins so far.
    package var diagnostics: [Diagnostic] { messages.withLock { $0.filter { $0.kind == .plugin } } }

    package init(
        time: VirtualTime = VirtualTime(), random: @escaping @Sendable () -> UInt64 = PipelineEnvironment.systemRandom,
        @PipelineBuilder _ processors: () throws -> ProcessorFragment
    ) throws {
        let recorder = Recorder()
        let messages = messages
        // The only sleepers of the first hour are the plugins'.
        pipeline = try Pipeline(
            delivery: DeliveryPolicy(flushInterval: .seconds(3_600)),
            environment: PipelineEnvironment(time: time, random: random),
            onDiagnostic: { diagnostic in messages.withLock { $0.append(diagnostic) } }
        ) {
            try processors()
            MemoryStore(capacity: 1 << 30)
            recorder
        }
        self.recorder = recorder
    }

    /// Tracks this many events on each of four tasks, while `body` runs on another one.
    package func trackOnTasks(_ count: Int, while body: @escaping @Sendable () throws -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<count { pipeline.track("Event") }
                }
            }
            group.addTask {
                do { try body() } catch { Issue.record(error) }
            }
        }
    }

    /// Ends the pipeline; returns all events before that in the order in which they were tracked.
    package func events() async -> [Event] {
        await pipeline.flush()
        let events = recorder.events.withLock { $0 }
        _ = await eventsWithEnd()
        return events
    }

    /// Ends the pipeline; returns all events, also those of plugins that have finished.
    package func eventsWithEnd() async -> [Event] {
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.isBalanced)
        return recorder.events.withLock { $0 }
    }

    /// Ends the pipeline; returns the duration of each event.
    package func durations() async -> [PropertyValue?] {
        await events().map { $0.properties["$event_duration"] }
    }

    /// Ends the pipeline; returns its only event.
    package func event() async throws -> Event {
        let events = await events()
        try #require(events.count == 1)
        return events[0]
    }
}

/// The launches of an app, one after the other.
package final class FormerLaunch: Sendable {
    // Weak, because a launch that has crashed must not go on.
    private let pipeline = Locked<@Sendable () -> Pipeline?>({ nil })

    package init() {}

    /// A new launch, after everything is on disk that the earlier one writes in the background.
    package func next(_ launch: () throws -> TestPipeline) rethrows -> TestPipeline {
        if let former = pipeline.withLock(\.self)() { waitForWrites(of: former) }
        let test = try launch()
        pipeline.withLock { $0 = { [weak pipeline = test.pipeline] in pipeline } }
        return test
    }
}

/// Returns when the state is stored that plugins write in the background. The process can then crash: the places of its state are
/// free for the next launch.
package func waitForWrites(of pipeline: Pipeline) {
    while pipeline.states.isWriting { SystemFileSystem.pause() }
    pipeline.states.release()
}

/// Does the same as ``waitForWrites(of:)`` without blocking a thread, for tests with many trials.
package func writesAreDone(of pipeline: Pipeline) async {
    while pipeline.states.isWriting { await Task.yield() }
    pipeline.states.release()
}

extension Event {
    /// A new event, for tests of a processor without a pipeline.
    package static func named(_ name: String = "Event", _ properties: Properties = [:]) -> Event {
        Event(
            id: EventID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)), name: name,
            time: Timestamp(milliseconds: 1_800_000_000_000), properties: properties)
    }
}

extension Processor {
    package func processed(
        _ name: String = "Event", _ properties: Properties = [:], configure: (inout Event) -> Void = { _ in }
    ) -> Event? {
        var event = Event.named(name, properties)
        configure(&event)
        return process(&event) == .keep ? event : nil
    }
}
