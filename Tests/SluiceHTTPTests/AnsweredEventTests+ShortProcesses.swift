import HTTPTestSupport
import Sluice
import SluiceJSONL
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

/// Processes that end, or are suspended, before they can find out which event is the reason of an answer.
extension AnsweredEventTests {
    /// Runs a process with the default waits, which tracks events and shuts down within five seconds.
    private func live(
        _ store: any Store, _ client: Gateway, _ time: RunningTime, inFlight: Int = 1, batch: Int? = nil,
        isAnswered: Bool = false, _ events: (Pipeline) -> Void
    ) async throws {
        let policy = DeliveryPolicy(
            batch: batch.map { BatchSize(events: $0, bytes: 262_144) }, maximumBatchesInFlight: inFlight)
        let pipeline = try Pipeline(
            delivery: policy, isDeliveryPaused: true, environment: .seeded(time, UInt64(client.requests))
        ) {
            store
            client.transport(.ndjson)
        }
        events(pipeline)
        pipeline.resumeDelivery()
        // The first request is answered before the shutdown begins.
        if isAnswered { await pipeline.flush() }
        #expect(await time.shutDown(pipeline, within: .seconds(5)).isBalanced)
    }

    @Test(
        "processes that only track and shut down deliver everything between bad events",
        arguments: [403, 302, 500, 502], [false, true])
    func shortLivedProcesses(status: Int, isAnswered: Bool) async throws {
        let (directory, time) = (TemporaryDirectory(), RunningTime())
        let client = Gateway(.status(status))
        for launch in 0..<12 {
            try await live(
                JSONLStore(at: directory.path), client, time, isAnswered: isAnswered
            ) { pipeline in
                let good = Array(launch * 20 + 1...launch * 20 + 20)
                track(launch < 2 ? [-1] + good + [-2] : good, pipeline)
            }
        }
        #expect(client.accepted.sorted() == Array(1...240))
        #expect(client.requests <= 12 * 30, "\(client.requests) requests")
    }

    /// The first batch of each process has nothing but them.
    @Test(
        "critical events that the receiver dislikes don't keep short-lived processes from sending the others",
        arguments: [403, 302, 500])
    func badCriticalEventsBlockNoOthers(status: Int) async throws {
        let (directory, time) = (TemporaryDirectory(), RunningTime())
        let client = Gateway(.status(status))
        for launch in 0..<24 {
            try await live(JSONLStore(at: directory.path), client, time) { pipeline in
                pipeline.track("poison", priority: .critical)
                track(Array(launch * 20 + 1...launch * 20 + 20), pipeline)
            }
        }
        #expect(Set(client.accepted).isSuperset(of: 1...460))
    }

    @Test(
        "a short outage during a shutdown keeps no event back, however few there are",
        arguments: [(critical: 0, failures: 1), (2, 1), (2, 3)])
    func shortOutageDuringShutdown(critical: Int, failures: Int) async throws {
        let time = RunningTime()
        for seed in 0..<20 as Range<UInt64> {
            let outage = Verdicts.all(.retry(after: nil), status: 503)
            let transport = ScriptedTransport(Array(repeating: .answer(outage), count: failures))
            let pipeline = try Pipeline(environment: .seeded(time, seed)) {
                MemoryStore()
                transport
            }
            for _ in 0..<critical { pipeline.track("Critical", priority: .critical) }
            pipeline.track("Normal")
            #expect(await time.shutDown(pipeline, within: .seconds(20)).routes[0].delivered == critical + 1)
        }
    }

    /// After a failure, the time in the background is enough for some more attempts. Here each of them is a flush.
    @Test(
        "an app that is killed in the background each time delivers most events between bad ones",
        arguments: [(status: 403, flushes: 3), (503, 12)])
    func killedInBackground(status: Int, flushes: Int) async throws {
        let time = VirtualTime()
        let directory = TemporaryDirectory()
        let client = Gateway(.status(status))
        for launch in 0..<12 {
            let pipeline = try Pipeline(environment: .seeded(time, UInt64(client.requests))) {
                JSONLStore(at: directory.path)
                client.transport(.ndjson)
            }
            track([-1] + Array(launch * 20 + 1...launch * 20 + 20), pipeline)
            pipeline.expectSuspension(in: .seconds(30))
            pipeline.signal(.didEnterBackground)
            for _ in 0..<flushes { await pipeline.flush() }
            await pipeline.shutdown(timeout: .zero)
            time.advance(by: .seconds(3_600))
        }
        // Threads decide which events a probe takes, so runs differ. A few events wait for many launches.
        #expect(Set(1...120).subtracting(client.accepted).count <= 12)
    }
}
