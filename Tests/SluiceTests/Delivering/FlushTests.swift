import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// `flush()`, pausing, and stores that fail.
@Suite(.timeLimit(.minutes(10))) struct FlushTests {
    static let retry = ScriptedTransport.Step.answer(.all(.retry(after: nil)))

    @Test func `a flush returns when what waited is delivered`() async throws {
        let bench = try Bench()
        bench.track(23)
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 0)
        #expect(bench.ledger.delivered == 23)
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test func `a flush of nothing returns at once`() async throws {
        let bench = try Bench()
        let report = await bench.pipeline.flush()
        #expect(report == (await bench.pipeline.flush()))
        #expect(bench.transport.batches.isEmpty)
    }

    @Test func `a flush returns when a send has failed`() async throws {
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

    @Test func `a flush does not wait for what is tracked later`() async throws {
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
    @Test func `a flush with half of a batch delivered does not wait for later events either`() async throws {
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

    @Test func `several flushes at once all return`() async throws {
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

    @Test func `while paused nothing goes, not even by a flush`() async throws {
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

    @Test func `a pause does not put off the interval`() async throws {
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

    @Test func `a pause lets the answer of the batch under way in`() async throws {
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

    @Test func `pausing twice and resuming once resumes`() async throws {
        let bench = try Bench()
        bench.pipeline.pauseDelivery()
        bench.pipeline.pauseDelivery()
        bench.track(5)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(1)
    }

    // MARK: After the end

    @Test func `a flush after a shutdown returns`() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.pipeline.shutdown()
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 0)
        #expect(bench.transport.batches.count == 1)
    }

    @Test func `a flush that waits ends with the shutdown`() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(1)
        let flushed = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        await bench.pipeline.shutdown(deadline: .zero)
        let report = await flushed.value
        #expect(report.waiting == 1)
    }
}
