import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// `flush()` and pauses.
@Suite struct FlushTests {
    @Test("a flush returns when a send has failed")
    func flushReturnsAfterFailedSend() async throws {
        let bench = try Bench(ScriptedTransport(then: .retry))
        bench.track(3)
        for round in 1...3 {
            // The first one sends everything and a probe. Each other one ends a pause.
            let report = await bench.pipeline.flush()
            #expect(report.delivered == 0)
            #expect(report.waiting == 3)
            #expect(bench.transport.batches.count == round + 1)
        }
        #expect(bench.time.continuousTime() == .zero)
    }

    // MARK: The report

    @Test("a flush counts no critical dead letters that are replayed after it began")
    func reportExcludesReplayedEvents() async throws {
        let transport = ScriptedTransport(
            [.answer(.each(Array(repeating: .rejected(reason: "bad"), count: 3) + [.accepted])), .hang, .hang],
            then: .retry)
        var policy = Bench.policy
        policy.flushCount = 1_000
        let bench = try Bench(transport, delivery: policy)
        bench.track(4, priority: .critical)
        _ = await bench.pipeline.flush()
        #expect(bench.ledger.deadLetters == 3)
        bench.track(15)
        let flushed = Task { await bench.pipeline.flush() }
        await transport.waitForSends(2)
        #expect(try await bench.pipeline.replayDeadLetters { _ in true } == 3)
        transport.release(.all(.accepted))
        await transport.waitForSends(3)
        transport.release(.all(.accepted))
        let report = await flushed.value
        // The first ten normal events, then the replayed ones, and then a failure.
        #expect(bench.ledger.delivered == 1 + 10 + 3)
        #expect(report.delivered == 10)
        #expect(report.waiting == 5)
    }

    @Test("a report is the sum of all routes")
    func reportIsSumOfRoutes() async throws {
        let pipeline = try Pipeline {
            Route("good") {
                MemoryStore()
                ScriptedTransport()
            }
            Route("bad") {
                MemoryStore()
                ScriptedTransport(then: .retry)
            }
        }
        pipeline.track("Event")
        let report = await pipeline.flush()
        #expect(report.delivered == 1)
        #expect(report.waiting == 1)
    }

    @Test("flushes during a Retry-After share one sleep")
    func flushesDuringRetryAfterShareSleep() async throws {
        let time = CountedTime()
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time, random: { 1 << 63 })) {
            MemoryStore()
            ScriptedTransport(then: .answer(.all(.retry(after: .seconds(600)))))
        }
        pipeline.track("Event")
        await pipeline.flush()
        await time.base.waitForSleeper()
        let before = time.sleeps
        for _ in 0..<1_000 { await pipeline.flush() }
        #expect(time.sleeps == before)
    }

    @Test("the batches of a host that never pauses share a sleep")
    func batchesShareSleep() async throws {
        let time = CountedTime()
        let transport = ScriptedTransport(then: .hang)
        let pipeline = try Pipeline(
            delivery: DeliveryPolicy(batch: BatchSize(events: 10, bytes: .max), flushCount: 10),
            environment: PipelineEnvironment(time: time, random: { 1 << 63 })
        ) {
            MemoryStore()
            transport
        }
        for _ in 0..<10 { pipeline.track("Event") }
        for batch in 1...50 {
            await transport.waitForSends(batch)
            for _ in 0..<5 { pipeline.track("Event") }
            transport.release(.all(.accepted))
            await time.base.waitForSleeper()
            for _ in 0..<5 { pipeline.track("Event") }
        }
        await transport.waitForSends(51)
        // Now and then a worker sends everything, and needs another one.
        #expect(time.sleeps < 10)
        await pipeline.shutdown(timeout: .zero)
    }

    // MARK: Pause

    @Test(
        "while the host forbids to send, not even a flush does, and the events are sent when it permits it",
        // A pause, no network, and a metered one with a policy that excludes it.
        arguments: [
            (nil, nil), (.connectivity(.unavailable), .connectivity(.metered)),
            (.connectivity(.metered), .connectivity(.available)),
        ] as [(Signal?, Signal?)])
    func forbiddenEventsWait(begin: Signal?, end: Signal?) async throws {
        var policy = Bench.policy
        policy.sendsOverMeteredNetworks = begin != .connectivity(.metered)
        let bench = try Bench(delivery: policy)
        if let begin { bench.pipeline.signal(begin) } else { bench.pipeline.pauseDelivery() }
        bench.track(7, priority: .critical)
        bench.time.advance(by: .seconds(3_600))
        #expect(await bench.pipeline.flush().waiting == 7)
        #expect(bench.transport.batches.isEmpty)
        if let end { bench.pipeline.signal(end) } else { bench.pipeline.resumeDelivery() }
        await bench.transport.waitForSends(1)
        #expect(bench.sizes == [7])
        #expect(bench.time.continuousTime() == .seconds(3_600))
    }

    @Test("a flush during a pause sends when delivery is resumed")
    func pausedFlushIsMadeUpFor() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.sleeps(until: 15)
        bench.pipeline.pauseDelivery()
        bench.time.advance(by: .seconds(10))
        await bench.pipeline.flush()
        #expect(bench.transport.batches.isEmpty)
        bench.pipeline.resumeDelivery()
        // The flush is done now.
        await bench.transport.waitForSends(1)
        #expect(bench.time.continuousTime() == .seconds(10))
    }
}
