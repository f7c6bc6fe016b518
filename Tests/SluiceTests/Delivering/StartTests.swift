import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// What a pipeline sends when it is built: events of an earlier process wait in its store.
@Suite struct StartTests {
    private static let unmetered = DeliveryPolicy(
        flushCount: 1, criticalInterval: .zero, sendsOverMeteredNetworks: false)

    /// A store with events of an earlier process.
    private func backlog(_ count: Int = 5) throws -> MemoryStore {
        let store = MemoryStore()
        for _ in 0..<count { try store.append(EventLine(Event(name: "Earlier"))) }
        return store
    }

    /// Builds pipelines with a backlog on real threads, gives each one every reason to send, and checks that none does until
    /// `release` lets it.
    private func expectSilence(
        _ build: (MemoryStore, ScriptedTransport) throws -> Pipeline, release: (Pipeline) -> Void
    ) async throws {
        var pipelines: [(Pipeline, ScriptedTransport)] = []
        for _ in 0..<200 {
            let transport = ScriptedTransport()
            let pipeline = try build(try backlog(), transport)
            pipeline.track("Now", priority: .critical)
            pipelines.append((pipeline, transport))
        }
        for (pipeline, transport) in pipelines {
            let report = await pipeline.flush()
            #expect(report.waiting == 6)
            #expect(report.delivered == 0)
            #expect(transport.batches.isEmpty)
        }
        for (pipeline, transport) in pipelines {
            release(pipeline)
            await transport.waitForSends(1)
            await pipeline.shutdown(timeout: .seconds(600))
            #expect(try transport.accepted().count == 6)
        }
    }

    @Test("a pipeline that begins with a pause sends nothing until it is resumed, not even earlier events")
    func pausedStartSendsNothing() async throws {
        try await expectSilence { store, transport in
            try Pipeline(delivery: DeliveryPolicy(flushCount: 1, criticalInterval: .zero), isDeliveryPaused: true) {
                store
                transport
            }
        } release: {
            $0.resumeDelivery()
        }
    }

    @Test("each route of a pipeline that begins with a pause waits")
    func allRoutesArePaused() async throws {
        let transports = [ScriptedTransport(), ScriptedTransport()]
        let stores = [try backlog(), try backlog()]
        let pipeline = try Pipeline(isDeliveryPaused: true) {
            for index in 0...1 {
                Route("\(index)") {
                    stores[index]
                    transports[index]
                }
            }
        }
        let report = await pipeline.flush()
        #expect(report.waiting == 10)
        #expect(transports.allSatisfy { $0.batches.isEmpty })
        pipeline.resumeDelivery()
        for transport in transports { await transport.waitForSends(1) }
    }

    @Test("a policy that excludes metered networks sends nothing until the network is known")
    func unknownNetworkIsNotUsed() async throws {
        try await expectSilence { store, transport in
            try Pipeline(delivery: Self.unmetered) {
                store
                transport
            }
        } release: {
            $0.signal(.connectivity(.available))
        }
    }

    @Test("a first report of a metered network keeps the events waiting")
    func meteredFirstReportKeepsWaiting() async throws {
        let transport = ScriptedTransport()
        let store = try backlog()
        let pipeline = try Pipeline(delivery: Self.unmetered) {
            store
            transport
        }
        pipeline.signal(.connectivity(.metered))
        let report = await pipeline.flush()
        #expect(report.waiting == 5)
        #expect(transport.batches.isEmpty)
        pipeline.signal(.connectivity(.available))
        await transport.waitForSends(1)
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
