import Sluice
import SluiceTesting
import Testing

@Suite struct BackgroundTests {
    @Test(
        "entering the background makes stored events durable before it sends, also while paused",
        arguments: [true, false])
    func backgroundMakesEventsDurable(isPaused: Bool) async throws {
        let store = RecordingStore(WatchedStore())
        let bench = try Bench(store: store)
        if isPaused { bench.pipeline.pauseDelivery() }
        bench.track(1)
        bench.pipeline.signal(.didEnterBackground)
        #expect(store.count(of: .synchronize) == 1)
        if !isPaused { await bench.transport.waitForSends(1) }
    }

    @Test("each of many suspensions cancels its request, and the events are sent once in the end")
    func everySuspensionCancelsRequest() async throws {
        // As real transports do, it sends nothing in a cancelled task.
        let transport = ScriptedTransport { number, _ in
            if Task.isCancelled { return .failure(SluiceError(.inputOutput, "cancelled")) }
            return number < 20 ? .hang : .answer(.all(.accepted))
        }
        let bench = try Bench(transport)
        bench.track(3)
        for number in 1...20 {
            async let flush = bench.pipeline.flush()
            await bench.transport.waitForSends(number)
            bench.pipeline.suspendDelivery()
            #expect(await flush.waiting == 3)
            // It says nothing about the receiver.
            #expect(bench.ledger.attempts.total == 0)
            bench.pipeline.expectSuspension(in: nil)
        }
        await bench.pipeline.flush()
        #expect(try bench.transport.accepted().map(\.name) == ["Event 0", "Event 1", "Event 2"])
        await bench.pipeline.shutdown()
        bench.pipeline.suspendDelivery()
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a process that is resumed without becoming active sends again")
    func resumedProcessSends() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(1)
        async let flush = bench.pipeline.flush()
        await bench.transport.waitForSends(1)
        bench.pipeline.suspendDelivery()
        _ = await flush
        bench.time.suspendMachine(for: .seconds(3_600))
        await bench.transport.waitForSends(2)
        await bench.pipeline.flush()
        #expect(bench.ledger.delivered == 1)
    }

    @Test(
        "other signals do not send earlier",
        arguments: [
            Signal.launched(.foreground), .willResignActive, .didBecomeActive, .connectivity(.available),
        ])
    func otherSignalsDoNotSend(signal: Signal) async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.sleeps(until: 15)
        bench.pipeline.signal(signal)
        await bench.sends(at: 15)
    }
}
