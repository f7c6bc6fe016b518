import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// Events that plugins make themselves.
@Suite(.timeLimit(.minutes(10))) struct EventOutletTests {
    /// Answers a signal by an event, and marks every event that it sees.
    final class Reporter: Processor {
        private let outlet = Locked<EventOutlet?>(nil)
        private let tracksWhenAttached: Bool

        init(tracksWhenAttached: Bool = false) { self.tracksWhenAttached = tracksWhenAttached }

        func attach(to outlet: EventOutlet) {
            self.outlet.withLock { $0 = outlet }
            if tracksWhenAttached { outlet.track("Attached") }
        }

        func process(_ event: inout Event) -> Disposition {
            event.properties["seen"] = true
            return .keep
        }

        func receive(_ signal: Signal) { report("\(signal)") }

        @discardableResult
        func report(_ name: String) -> Bool? {
            outlet.withLock(\.self)?.track(name, ["own": 1], priority: .critical) { event in
                event.loginID = "42"
            }
        }
    }

    @Test("an event of a plugin is one like any other")
    func eventPluginOne() async throws {
        let transport = ScriptedTransport()
        let reporter = Reporter()
        let bench = try Bench(transport, processor: reporter)
        reporter.report("Own")
        let ledger = await bench.pipeline.shutdown()
        let events = try transport.accepted()
        try #require(events.count == 1)
        #expect(events[0].name == "Own")
        // It passes all processors, the plugin itself included.
        #expect(events[0].properties == ["own": 1, "seen": true])
        #expect(events[0].loginID == "42")
        #expect(transport.batches[0].events[0].priority == .critical)
        #expect(ledger.tracked == 1)
        #expect(ledger.isBalanced)
    }

    @Test("a plugin is told whether an event of its own was stored")
    func pluginIsTold() async throws {
        let transport = ScriptedTransport()
        let reporter = Reporter()
        let bench = try Bench(transport, processor: reporter)
        #expect(reporter.report("Own") == true)
        #expect(reporter.report("") == false)
        await bench.pipeline.shutdown()
        #expect(reporter.report("Late") == false)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.pipeline.ledger.dropped == [.emptyName: 1, .shutDown: 1])
    }

    @Test("a plugin may track while it is attached")
    func pluginMayTrack() async throws {
        let transport = ScriptedTransport()
        let bench = try Bench(transport, processor: Reporter(tracksWhenAttached: true))
        bench.track(1)
        await bench.pipeline.shutdown()
        let names = try transport.accepted().map(\.name)
        #expect(Set(names) == ["Attached", "Event 0"])
        #expect(bench.pipeline.ledger.isBalanced)
    }

    /// Three plugins that answer one signal: each event passes all three while a signal is being given.
    @Test("signals may be answered by events, and several plugins may do so")
    func signalsMayAnswered() async throws {
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            Reporter()
            Reporter()
            Reporter()
            MemoryStore()
            transport
        }
        for signal in [Signal.launched(.foreground), .didBecomeActive, .willTerminate] { pipeline.signal(signal) }
        await pipeline.shutdown(deadline: .seconds(600))
        let names = try transport.accepted().map(\.name)
        #expect(
            names
                == [Signal.launched(.foreground), .didBecomeActive, .willTerminate].flatMap { signal in
                    Array(repeating: "\(signal)", count: 3)
                })
        #expect(pipeline.ledger.isBalanced)
    }

    @Test("after the shutdown a plugin's events are counted as dropped")
    func afterShutdownPlugins() async throws {
        let reporter = Reporter()
        let bench = try Bench(processor: reporter)
        await bench.pipeline.shutdown()
        reporter.report("Late")
        bench.pipeline.signal(.didBecomeActive)
        #expect(bench.pipeline.ledger.dropped == [.shutDown: 2])
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("an outlet does not keep its pipeline, and is deaf without it")
    func outletDoesNot() async throws {
        let reporter = Reporter()
        let store = WatchedStore()
        weak var gone: Pipeline?
        do {
            let pipeline = try Pipeline {
                reporter
                store
                ScriptedTransport()
            }
            gone = pipeline
            reporter.report("Heard")
        }
        #expect(gone == nil)
        reporter.report("Not heard")
        #expect(store.backlog.events == 1)
    }

    @Test("a plugin in two pipelines speaks to the one that attached it last")
    func pluginTwoPipelines() async throws {
        let reporter = Reporter()
        let benches = [try Bench(processor: reporter), try Bench(processor: reporter)]
        reporter.report("Own")
        #expect(benches.map(\.pipeline.ledger.tracked) == [0, 1])
        for bench in benches { await bench.pipeline.shutdown() }
    }

    @Test("outlets may be used from many threads while the pipeline goes")
    func outletsMayUsed() async throws {
        for _ in 0..<50 {
            let reporter = Reporter()
            var bench: Bench? = try Bench(processor: reporter)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<50 { reporter.report("Own") } }
                }
                bench = nil
            }
            #expect(bench == nil)
        }
    }
}
