import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// What a pipeline sends when it is built: events of an earlier process wait in its store.
@Suite struct StartTests {
    /// A store with events of an earlier process.
    private func backlog() throws -> MemoryStore {
        let store = MemoryStore()
        for _ in 0..<5 { try store.append(EventLine(Event(name: "Earlier"))) }
        return store
    }

    @Test(
        "during a pause from the beginning, or before the report that a policy needs, no route sends, not even earlier events",
        arguments: [true, false])
    func forbiddenStartSendsNothing(isPaused: Bool) async throws {
        let policy = DeliveryPolicy(flushCount: 1, criticalInterval: .zero, sendsOverMeteredNetworks: isPaused)
        var pipelines: [(Pipeline, [ScriptedTransport])] = []
        // On real threads, with every reason to send.
        for _ in 0..<100 {
            let transports = [ScriptedTransport(), ScriptedTransport()]
            let stores = [try backlog(), try backlog()]
            let pipeline = try Pipeline(delivery: policy, isDeliveryPaused: isPaused) {
                for index in 0...1 {
                    Route("\(index)") {
                        stores[index]
                        transports[index]
                    }
                }
            }
            pipeline.track("Now", priority: .critical)
            pipelines.append((pipeline, transports))
        }
        for (pipeline, transports) in pipelines {
            let report = await pipeline.flush()
            #expect(report.waiting == 12)
            #expect(report.delivered == 0)
            #expect(transports.allSatisfy { $0.batches.isEmpty })
        }
        for (pipeline, transports) in pipelines {
            if isPaused { pipeline.resumeDelivery() } else { pipeline.signal(.connectivity(.available)) }
            for transport in transports { await transport.waitForSends(1) }
            await pipeline.shutdown(timeout: .seconds(600))
            #expect(try transports.map { try $0.accepted().count } == [6, 6])
        }
    }

    /// A plugin may track as soon as it is prepared. That must not delay the events in the store.
    @Test("events of an earlier process are sent immediately, even if new ones are tracked before the first look")
    func earlierEventsAreSentImmediately() async throws {
        final class Early: Processor {
            let context = PluginContext()
            func prepare() { context.track("Early") }
            func process(_ event: inout Event) -> Disposition { .keep }
        }
        let bench = try Bench(store: backlog(), processor: Early())
        await bench.transport.waitForSends(1)
        #expect(bench.time.continuousTime() == .zero)
        #expect(bench.sizes == [6])
    }

    // MARK: The diagnostic

    private func bench(_ isUnmetered: Bool = true) throws -> Bench {
        var policy = Bench.policy
        policy.sendsOverMeteredNetworks = !isUnmetered
        return try Bench(delivery: policy)
    }

    private func notices(_ bench: Bench) -> Int {
        bench.diagnostics.count { $0.kind == .paused && $0.message.contains("no report about the network") }
    }

    @Test("without a report about the network, a diagnostic says so once, when events have waited for 10 s")
    func missingReportIsDiagnosed() async throws {
        let bench = try bench()
        bench.track(1)
        await bench.sleeps(until: 10)
        #expect(notices(bench) == 0)
        bench.time.advance(by: .seconds(10))
        while notices(bench) == 0 { await Task.yield() }
        bench.time.advance(by: .seconds(3_600))
        bench.track(10)
        await bench.pipeline.flush()
        #expect(notices(bench) == 1)
        #expect(bench.transport.batches.isEmpty)
    }

    @Test(
        "a flush and a shutdown without a report about the network say why nothing is sent", arguments: [true, false])
    func flushAndShutdownSayWhy(isFlush: Bool) async throws {
        let bench = try bench()
        bench.track(1)
        if isFlush { await bench.pipeline.flush() } else { await bench.pipeline.shutdown() }
        #expect(notices(bench) == 1)
        #expect(bench.ledger.waiting == 1)
    }

    @Test("nothing is said without events, during a pause, after a report, or if every network may be used")
    func nothingIsSaid() async throws {
        let idle = try bench()
        await idle.pipeline.flush()
        await idle.pipeline.shutdown()
        let paused = try bench()
        paused.pipeline.pauseDelivery()
        let metered = try bench()
        metered.pipeline.signal(.connectivity(.metered))
        let any = try bench(false)
        for bench in [paused, metered, any] {
            bench.track(1)
            await bench.pipeline.flush()
            await bench.pipeline.shutdown()
        }
        #expect([idle, paused, metered, any].map { notices($0) } == [0, 0, 0, 0])
    }
}
