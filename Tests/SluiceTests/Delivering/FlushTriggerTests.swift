import Sluice
import SluiceTesting
import Testing

/// The triggers that make a route send, and their times.
@Suite struct FlushTriggerTests {
    @Test("the first event is sent when the interval is over")
    func intervalSendsFirstEvent() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.sleeps(until: 15)
        bench.time.advance(by: .seconds(5))
        bench.track(1)
        await bench.sends(at: 15)
        #expect(bench.sizes == [2])
    }

    @Test("the flush count sends without waiting")
    func countSendsImmediately() async throws {
        let bench = try Bench()
        bench.track(4)
        await bench.sleeps(until: 15)
        #expect(bench.transport.batches.isEmpty)
        bench.track(1)
        await bench.transport.waitForSends(1)
        #expect(bench.time.continuousTime() == .zero)
        #expect(bench.sizes == [5])
    }

    @Test("a critical event is sent within its own interval, and first")
    func criticalEventIsSentFirst() async throws {
        let bench = try Bench()
        bench.track(2)
        await bench.sleeps(until: 15)
        bench.time.advance(by: .seconds(1))
        bench.track(1, priority: .critical)
        await bench.sends(at: 4)
        await bench.transport.waitForSends(2)
        #expect(bench.transport.batches.map { $0.events.map(\.priority) } == [[.critical], [.normal, .normal]])
    }

    @Test("a delivery that has begun continues until the store is empty")
    func deliveryContinuesUntilStoreIsEmpty() async throws {
        let bench = try Bench()
        bench.pipeline.pauseDelivery()
        bench.track(23)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(3)
        #expect(bench.sizes == [10, 10, 3])
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("after a delivery the interval starts with the next event")
    func intervalStartsWithNextEvent() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.sends(at: 15)
        await bench.drained()
        bench.time.advance(by: .seconds(85))
        bench.track(1)
        await bench.sends(at: 115)
        #expect(bench.sizes == [1, 1])
    }

    @Test(
        "entering the background and regained connectivity send",
        arguments: [Signal.didEnterBackground, .connectivity(.available)])
    func backgroundAndConnectivitySend(signal: Signal) async throws {
        let failing = signal == .connectivity(.available)
        let bench = try Bench(ScriptedTransport(failing ? [.answer(.all(.retry(after: nil)))] : []))
        bench.track(1)
        if failing { await bench.sends(at: 15) } else { await bench.sleeps(until: 15) }
        // Regained connectivity ends a back-off.
        if failing { await bench.sleeps(until: 16) }
        bench.pipeline.signal(signal)
        await bench.transport.waitForSends(failing ? 2 : 1)
        #expect(bench.time.continuousTime() == .seconds(failing ? 15 : 0))
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

    @Test("without a network nothing is sent, not even by a flush, until it is back")
    func noNetworkStopsSending() async throws {
        let bench = try Bench()
        bench.pipeline.signal(.connectivity(.unavailable))
        bench.track(7, priority: .critical)
        bench.time.advance(by: .seconds(60))
        #expect(await bench.pipeline.flush().waiting == 7)
        #expect(bench.transport.batches.isEmpty)
        bench.pipeline.signal(.connectivity(.metered))
        await bench.transport.waitForSends(1)
    }

    @Test("a batch stays within the limits of both policy and transport")
    func smallerBatchLimitCounts() async throws {
        let bench = try Bench(ScriptedTransport(maximumBatchSize: BatchSize(events: 3, bytes: .max)))
        bench.track(7)
        await bench.pipeline.flush()
        #expect(bench.sizes.reduce(0, +) == 7)
        #expect(bench.sizes.allSatisfy { $0 <= 3 })
    }

    /// A plugin may track as soon as it is prepared. That must not delay the events in the store.
    @Test("events of an earlier process are sent immediately, even if new ones are tracked before the first look")
    func earlierEventsAreSentImmediately() async throws {
        final class Early: Processor {
            let context = PluginContext()
            func prepare() { context.track("Early") }
            func process(_ event: inout Event) -> Disposition { .keep }
        }
        let store = LeftoverStore(4)
        let bench = try Bench(store: store, processor: Early())
        await bench.transport.waitForSends(1)
        #expect(bench.time.continuousTime() == .zero)
        #expect(bench.sizes == [5])
    }
}

/// A store that holds events when it is opened.
final class LeftoverStore: StoreWrapper {
    let base = WatchedStore()
    private let count: Int

    init(_ count: Int) {
        self.count = count
    }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try base.open(observer, in: environment)
        for number in 0..<count {
            try base.append(
                EventLine(
                    Event(
                        id: EventID(high: 0, low: UInt64(number)), name: "Left",
                        time: Timestamp(milliseconds: 1_700_000_000_000))))
        }
        observer.recovered(count)
    }
}
