import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// `flush()` and pauses.
@Suite struct FlushTests {
    static let retry = ScriptedTransport.Step.answer(.all(.retry(after: nil)))

    @Test("a flush returns when the waiting events are delivered")
    func flushReturnsAfterDelivery() async throws {
        let bench = try Bench()
        bench.track(23)
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 0)
        #expect(bench.ledger.delivered == 23)
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("a flush without events returns immediately")
    func emptyFlushReturnsImmediately() async throws {
        let bench = try Bench()
        let report = await bench.pipeline.flush()
        #expect(report == (await bench.pipeline.flush()))
        #expect(bench.transport.batches.isEmpty)
    }

    @Test("critical events that overtake the events of a flush don't end it", arguments: [1, 5, 25])
    func overtakingEventsDoNotEndFlush(critical: Int) async throws {
        var policy = Bench.policy
        policy.flushCount = 1_000
        let bench = try Bench(ScriptedTransport([.hang]), delivery: policy)
        bench.track(11)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        bench.track(critical, priority: .critical)
        bench.transport.release(.all(.accepted))
        let report = await flushed.value
        #expect(report.delivered == 11)
        #expect(report.waiting == 0)
        #expect(bench.ledger.delivered == 11 + critical)
    }

    @Test("a flush returns when a send has failed")
    func flushReturnsAfterFailedSend() async throws {
        let bench = try Bench(ScriptedTransport(then: Self.retry))
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

    @Test("a flush waits for no events that are tracked later")
    func flushWaitsForNoLaterEvents() async throws {
        let bench = try Bench(ScriptedTransport([.hang], then: .hang))
        bench.track(1)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        bench.track(20)
        bench.transport.release(.all(.accepted))
        // The second send hangs.
        let report = await flushed.value
        #expect(report.delivered == 1)
    }

    /// The delivered half of the batch is still in the store, and must not count for a second flush.
    @Test("a flush with half of a batch delivered waits for no more either")
    func flushOfHalfDeliveredBatchWaitsForNoMore() async throws {
        let half = ScriptedTransport.Step.answer(.each([.accepted, .retry(after: nil)]))
        let bench = try Bench(ScriptedTransport([half, .hang], then: .hang))
        bench.track(2)
        await bench.pipeline.flush()
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(2)
        bench.track(20)
        bench.transport.release(.all(.accepted))
        let report = await flushed.value
        #expect(report.delivered == 1)
        #expect(report.waiting == 0)
    }

    // MARK: The report

    @Test("a report counts exactly the events that waited, although others are delivered or rejected in the same batch")
    func reportCountsWaitingEvents() async throws {
        let second: [Verdict] = [
            .accepted, .rejected(reason: "bad"), .rejected(reason: "bad"), .accepted, .retry(after: .seconds(600)),
        ]
        var policy = Bench.policy
        policy.flushCount = 2
        let bench = try Bench(ScriptedTransport([.hang, .answer(.each(second))]), delivery: policy)
        bench.track(2)
        await bench.transport.waitForSends(1)
        // The batch of two is out, and two events wait behind it.
        bench.track(2)
        let flushed = Task { await bench.pipeline.flush(timeout: .seconds(1_000)) }
        await bench.sleeps(until: 1_000)
        bench.track(3)
        bench.transport.release(.each([.accepted, .rejected(reason: "bad")]))
        let report = await flushed.value
        #expect(report.delivered == 2)
        #expect(report.rejected == 2)
        #expect(report.waiting == 0)
        #expect(report.isComplete)
        #expect(bench.ledger.delivered == 3)
        #expect(bench.ledger.rejected == 3)
    }

    @Test("a report of a failed flush doesn't count critical events that overtook it")
    func reportExcludesOvertakingEvents() async throws {
        var policy = Bench.policy
        policy.flushCount = 1_000
        let bench = try Bench(ScriptedTransport([.hang, .answer(.all(.accepted))], then: Self.retry), delivery: policy)
        bench.track(15)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        bench.track(4, priority: .critical)
        bench.transport.release(.all(.accepted))
        let report = await flushed.value
        // The first ten, then the critical ones, and then a failure.
        #expect(bench.ledger.delivered == 14)
        #expect(report.delivered == 10)
        #expect(report.waiting == 5)
        #expect(!report.isComplete)
    }

    @Test("a flush counts no critical dead letters that are replayed after it began")
    func reportExcludesReplayedEvents() async throws {
        let transport = ScriptedTransport(
            [.answer(.each(Array(repeating: .rejected(reason: "bad"), count: 3) + [.accepted])), .hang, .hang],
            then: Self.retry)
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

    @Test("events that the store evicts during a flush are neither delivered nor waiting in its report")
    func reportExcludesEvictedEvents() async throws {
        let size = try EventLine(Event(name: "Event 0")).bytes.count
        var policy = Bench.policy
        policy.flushCount = 1_000
        let store = MemoryStore(capacity: (size + 64) * 20)
        let bench = try Bench(ScriptedTransport([.hang]), store: store, delivery: policy)
        bench.track(15)
        #expect(bench.ledger.waiting == 15)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        bench.track(100)
        let evicted = bench.ledger.dropped[.evicted] ?? 0
        #expect(evicted > 50)
        bench.transport.release(.all(.accepted))
        let report = await flushed.value
        // The events behind the batch in flight were evicted.
        #expect(report.delivered == 10)
        #expect(report.rejected + report.waiting == 0)
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
                ScriptedTransport(then: Self.retry)
            }
        }
        pipeline.track("Event")
        let report = await pipeline.flush()
        #expect(report.delivered == 1)
        #expect(report.waiting == 1)
    }

    /// The system keeps a cancelled sleep in memory until its time.
    private struct CountingTime: TimeSource {
        let base = VirtualTime()
        let sleeps = Locked(0)

        func wallTime() -> Timestamp { base.wallTime() }
        func suspendingTime() -> Duration { base.suspendingTime() }
        func continuousTime() -> Duration { base.continuousTime() }
        func sleep(until deadline: Duration) async throws {
            sleeps.withLock { $0 += 1 }
            try await base.sleep(until: deadline)
        }
    }

    @Test("flushes during a Retry-After share one sleep")
    func flushesDuringRetryAfterShareSleep() async throws {
        let time = CountingTime()
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time, random: { 1 << 63 })) {
            MemoryStore()
            ScriptedTransport(then: .answer(.all(.retry(after: .seconds(600)))))
        }
        pipeline.track("Event")
        await pipeline.flush()
        await time.base.waitForSleeper()
        let before = time.sleeps.withLock(\.self)
        for _ in 0..<1_000 { await pipeline.flush() }
        #expect(time.sleeps.withLock(\.self) == before)
    }

    @Test("the batches of a host that never pauses share a sleep")
    func batchesShareSleep() async throws {
        let time = CountingTime()
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
        #expect(time.sleeps.withLock(\.self) < 10)
        await pipeline.shutdown(timeout: .zero)
    }

    @Test("concurrent flushes all return")
    func concurrentFlushesReturn() async throws {
        let bench = try Bench(ScriptedTransport { send, _ in send % 3 == 1 ? Self.retry : .answer(.all(.accepted)) })
        bench.track(40)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { await bench.pipeline.flush() } }
        }
        while await bench.pipeline.flush().waiting > 0 {}
        #expect(bench.ledger.delivered == 40)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    // MARK: Pause

    @Test("a paused pipeline sends nothing, not even for a flush")
    func pausedPipelineSendsNothing() async throws {
        let bench = try Bench()
        bench.pipeline.pauseDelivery()
        bench.track(20)
        bench.time.advance(by: .seconds(3_600))
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 20)
        #expect(bench.transport.batches.isEmpty)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(2)
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

    @Test("a pause does not affect the send in flight")
    func pauseKeepsSendInFlight() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(15)
        await bench.transport.waitForSends(1)
        bench.pipeline.pauseDelivery()
        bench.transport.release(.all(.accepted))
        while bench.ledger.delivered < bench.transport.batches[0].events.count {
            await bench.pipeline.flush()
        }
        #expect(bench.transport.batches.count == 1)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("one resume ends two pauses")
    func oneResumeEndsTwoPauses() async throws {
        let bench = try Bench()
        bench.pipeline.pauseDelivery()
        bench.pipeline.pauseDelivery()
        bench.track(5)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(1)
    }

    // MARK: After a shutdown

    @Test("a flush after a shutdown returns")
    func flushAfterShutdownReturns() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.pipeline.shutdown()
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 0)
        #expect(bench.transport.batches.count == 1)
    }

    @Test("a shutdown ends a waiting flush")
    func shutdownEndsWaitingFlush() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(1)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        await bench.pipeline.shutdown(timeout: .zero)
        let report = await flushed.value
        #expect(report.waiting == 1)
    }
}
