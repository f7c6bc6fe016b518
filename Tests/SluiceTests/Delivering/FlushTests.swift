import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// `flush()`, pausing, and stores that fail.
@Suite(.timeLimit(.minutes(10))) struct FlushTests {
    static let retry = ScriptedTransport.Step.answer(.all(.retry(after: nil)))

    @Test("a flush returns when what waited is delivered")
    func flushReturnsWhen() async throws {
        let bench = try Bench()
        bench.track(23)
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 0)
        #expect(bench.ledger.delivered == 23)
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("a flush of nothing returns at once")
    func flushNothingReturns() async throws {
        let bench = try Bench()
        let report = await bench.pipeline.flush()
        #expect(report == (await bench.pipeline.flush()))
        #expect(bench.transport.batches.isEmpty)
    }

    @Test("a flush returns when a send has failed")
    func flushReturnsWhenSend() async throws {
        let bench = try Bench(ScriptedTransport(then: Self.retry))
        bench.track(3)
        for round in 1...3 {
            // Each flush is a try of its own, whatever the back-off says.
            let report = await bench.pipeline.flush()
            #expect(report.delivered == 0)
            #expect(report.waiting == 3)
            #expect(bench.transport.batches.count == round)
        }
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("a flush does not wait for what is tracked later")
    func flushDoesNot() async throws {
        let bench = try Bench(ScriptedTransport([.hang, .hang]))
        bench.track(1)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        bench.track(1)
        bench.transport.release(.all(.accepted))
        // The second send hangs, but holds only the second event.
        let report = await flushed.value
        #expect(report.delivered == 1)
    }

    /// What is delivered of the batch under way is in the store still, and must not be waited for a second time.
    @Test("a flush with half of a batch delivered does not wait for later events either")
    func flushHalfBatch() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.each([.accepted, .retry(after: nil)])), .hang, .hang]))
        bench.track(2)
        await bench.pipeline.flush()
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(2)
        bench.track(1)
        bench.transport.release(.all(.accepted))
        let report = await flushed.value
        #expect(report.delivered == 1)
    }

    @Test("several flushes at once all return")
    func severalFlushesAt() async throws {
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

    @Test("while paused nothing goes, not even by a flush")
    func whilePausedNothing() async throws {
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

    @Test("a pause does not put off the interval")
    func pauseDoesNot() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.sleeps(until: 15)
        bench.pipeline.pauseDelivery()
        bench.time.advance(by: .seconds(10))
        await bench.pipeline.flush()
        #expect(bench.transport.batches.isEmpty)
        bench.pipeline.resumeDelivery()
        // The flush is made up for.
        await bench.transport.waitForSends(1)
        #expect(bench.time.continuousTime() == .seconds(10))
    }

    @Test("a pause lets the answer of the batch under way in")
    func pauseLetsAnswer() async throws {
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

    @Test("pausing twice and resuming once resumes")
    func pausingTwiceResuming() async throws {
        let bench = try Bench()
        bench.pipeline.pauseDelivery()
        bench.pipeline.pauseDelivery()
        bench.track(5)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(1)
    }

    // MARK: After the end

    @Test("a flush after a shutdown returns")
    func flushAfterShutdown() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.pipeline.shutdown()
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 0)
        #expect(bench.transport.batches.count == 1)
    }

    @Test("a flush that waits ends with the shutdown")
    func flushWaitsEnds() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(1)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        await bench.pipeline.shutdown(deadline: .zero)
        let report = await flushed.value
        #expect(report.waiting == 1)
    }
}
