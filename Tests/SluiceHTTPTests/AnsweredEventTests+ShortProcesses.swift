import Sluice
import SluiceJSONL
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

/// Processes that end, or are suspended, before they can find out which event is the reason of an answer.
extension AnsweredEventTests {
    /// `isAnswered`: the first request is answered before the shutdown begins.
    @Test(
        "processes that only track and shut down deliver everything between bad events",
        arguments: [403, 302, 500, 502], [false, true])
    func shortLivedProcesses(status: Int, isAnswered: Bool) async throws {
        let directory = try TemporaryDirectory()
        let client = Gateway(.status(status))
        // The system's time, because a status of 5xx causes back-offs.
        let policy = DeliveryPolicy(backOff: .milliseconds(1), maximumBackOff: .milliseconds(2))
        let random = Locked(SeededRandom(seed: 1))
        for launch in 0..<12 {
            let pipeline = try Pipeline(
                delivery: policy, environment: PipelineEnvironment(random: { random.withLock { $0.next() } })
            ) {
                JSONLStore(at: directory.path)
                HTTPTransport(to: "https://host/", format: .ndjson, configuration: .init(gzip: false, client: client))
            }
            track([-1] + Array(launch * 20 + 1...launch * 20 + 20) + [-2], pipeline)
            if isAnswered { await pipeline.flush() }
            #expect(await pipeline.shutdown(timeout: .seconds(30)).isBalanced)
        }
        // The last probe of a process meets a bad event in one of ten launches. Then a later process delivers.
        #expect(Set(client.accepted).isSuperset(of: 1...100))
        #expect(client.requests <= 12 * 48, "\(client.requests) requests")
    }

    /// The first batch of each process has nothing but them.
    @Test(
        "critical events that the receiver dislikes don't keep short-lived processes from sending the others",
        arguments: [403, 302, 500])
    func badCriticalEventsBlockNoOthers(status: Int) async throws {
        let directory = try TemporaryDirectory()
        let client = Gateway(.status(status))
        let policy = DeliveryPolicy(backOff: .milliseconds(1), maximumBackOff: .milliseconds(2))
        for launch in 0..<24 {
            let pipeline = try Pipeline(delivery: policy) {
                JSONLStore(at: directory.path)
                HTTPTransport(to: "https://host/", format: .ndjson, configuration: .init(gzip: false, client: client))
            }
            pipeline.track("poison", priority: .critical)
            track(Array(launch * 20 + 1...launch * 20 + 20), pipeline)
            // Shorter than a hold.
            #expect(await pipeline.shutdown(timeout: .seconds(30)).isBalanced)
        }
        // About every second process sends the others.
        #expect(Set(client.accepted).isSuperset(of: 1...100))
    }

    @Test(
        "bad events in front of each batch don't keep all of a tool's runs from sending",
        arguments: [(inFlight: 1, hasCritical: true), (2, false), (2, true)])
    func badEventsInFrontOfEachBatch(inFlight: Int, hasCritical: Bool) async throws {
        let client = Gateway(.status(403))
        let policy = DeliveryPolicy(batch: BatchSize(events: 20, bytes: .max), maximumBatchesInFlight: inFlight)
        for _ in 0..<12 {
            let pipeline = try Pipeline(delivery: policy) {
                // It hands out no more than it is asked for.
                MemoryStore()
                HTTPTransport(to: "https://host/", format: .ndjson, configuration: .init(gzip: false, client: client))
            }
            if hasCritical { pipeline.track("poison", priority: .critical) }
            for _ in 0..<2 { track(Array(repeating: -1, count: 5) + Array(1...15), pipeline) }
            #expect(await pipeline.shutdown(timeout: .seconds(30)).isBalanced)
        }
        #expect(Set(client.accepted) == Set(1...15))
    }

    /// One event alone is sent twice, and then counts as the possible reason.
    @Test(
        "a short outage during a shutdown keeps no event back, however few there are",
        arguments: [(critical: 0, failures: 1), (2, 1), (2, 3)])
    func shortOutageDuringShutdown(critical: Int, failures: Int) async throws {
        let policy = DeliveryPolicy(backOff: .milliseconds(1), maximumBackOff: .milliseconds(2))
        // Half of the shutdowns continue with another batch.
        for _ in 0..<20 {
            let outage = Verdicts.all(.retry(after: nil), status: 503)
            let transport = ScriptedTransport(Array(repeating: .answer(outage), count: failures))
            let pipeline = try Pipeline(delivery: policy) {
                MemoryStore()
                transport
            }
            for _ in 0..<critical { pipeline.track("Critical", priority: .critical) }
            pipeline.track("Normal")
            #expect(await pipeline.shutdown(timeout: .seconds(600)).routes[0].delivered == critical + 1)
        }
    }

    /// After a failure, the time in the background is enough for some more attempts. Here each of them is a flush.
    @Test(
        "an app that is killed in the background each time delivers everything between bad events",
        arguments: [(status: 403, flushes: 3), (503, 12)])
    func killedInBackground(status: Int, flushes: Int) async throws {
        let time = VirtualTime()
        let directory = try TemporaryDirectory()
        let client = Gateway(.status(status))
        let random = Locked(SeededRandom(seed: 1))
        for launch in 0..<12 {
            let pipeline = try Pipeline(
                environment: PipelineEnvironment(time: time, random: { random.withLock { $0.next() } })
            ) {
                JSONLStore(at: directory.path)
                HTTPTransport(to: "https://host/", format: .ndjson, configuration: .init(gzip: false, client: client))
            }
            track([-1] + Array(launch * 20 + 1...launch * 20 + 20), pipeline)
            pipeline.expectSuspension(in: .seconds(30))
            pipeline.signal(.didEnterBackground)
            for _ in 0..<flushes { await pipeline.flush() }
            await pipeline.shutdown(timeout: .zero)
            time.advance(by: .seconds(3_600))
        }
        #expect(Set(client.accepted).isSuperset(of: 1...160))
    }
}
