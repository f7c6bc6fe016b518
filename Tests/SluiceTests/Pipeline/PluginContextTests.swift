import Sluice
import SluiceTesting
import TestSupport
import Testing

/// Events that plugins track, hold and forward.
@Suite struct PluginContextTests {
    /// Tracks an event for a signal, and marks every event that it sees.
    final class Reporter: Processor {
        let context = PluginContext()

        func process(_ event: inout Event) -> Disposition {
            event.properties["seen"] = true
            return .keep
        }

        func emit(for signal: Signal) { report("\(signal)") }

        @discardableResult
        func report(_ name: String) -> Bool {
            context.track(name, ["own": 1], priority: .critical) { $0.loginID = "42" }
        }
    }

    /// Inserts a marker before each event.
    final class Marker: Processor {
        let context = PluginContext()

        func process(_ event: inout Event) -> Disposition {
            context.insert("Before \(event.name)", before: event)
            return .keep
        }
    }

    // MARK: Tracking

    @Test("an event of a plugin above the routes passes all processors, the plugin itself included, into all routes")
    func eventOfPluginPassesAllProcessors() async throws {
        let reporter = Reporter()
        let transports = [ScriptedTransport(), ScriptedTransport()]
        let pipeline = try Pipeline {
            reporter
            for (index, transport) in transports.enumerated() {
                Route("\(index)", suffix(" \(index)"), to: transport)
            }
        }
        #expect(reporter.report("Own"))
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        let events = try transports.flatMap { try $0.accepted() }
        #expect(events.map(\.name) == ["Own 0", "Own 1"])
        #expect(events.allSatisfy { $0.properties == ["own": 1, "seen": true] && $0.loginID == "42" })
        #expect(transports[0].batches[0].events[0].priority == .critical)
        #expect(ledger.tracked == 1)
        #expect(ledger.routes.map(\.inserted) == [0, 0])
        #expect(ledger.isBalanced)
    }

    @Test("track returns whether the event was stored, and after the shutdown signals do nothing")
    func trackReturnsWhetherStored() async throws {
        let reporter = Reporter()
        let bench = try Bench(processor: reporter)
        #expect(reporter.report("Own"))
        #expect(!reporter.report(""))
        await bench.pipeline.shutdown()
        #expect(!reporter.report("Late"))
        bench.pipeline.signal(.didBecomeActive)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.pipeline.ledger.dropped == [.emptyName: 1, .shutDown: 1])
    }

    @Test("a context doesn't keep its pipeline alive, and does nothing without it")
    func contextDoesNotKeepPipeline() async throws {
        let reporter = Reporter()
        let holder = Holder()
        let store = WatchedStore()
        weak var gone: Pipeline?
        do {
            let pipeline = try Pipeline(environment: Bench.environment(VirtualTime())) {
                reporter
                Route("held", holder)
                Route("stored", in: store)
            }
            gone = pipeline
            reporter.report("Heard")
        }
        #expect(gone == nil)
        reporter.report("Not heard")
        holder.release()
        #expect(store.backlog.events == 1)
    }

    @Test("contexts can be used from many threads while pipelines come and go")
    func contextsAreThreadSafe() async throws {
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

    @Test("the clocks and random numbers are those of the pipeline")
    func clocksAreThoseOfPipeline() throws {
        let reporter = Reporter()
        let time = VirtualTime(wallTime: Timestamp(milliseconds: 7))
        let pipeline = try Pipeline.with(reporter, environment: PipelineEnvironment(time: time, random: { 42 }))
        #expect(reporter.context.time.wallTime().milliseconds == 7)
        #expect(reporter.context.random() == 42)
        withExtendedLifetime(pipeline) {}
    }

    // MARK: Holding and forwarding

    @Test("a held event continues below, with its id and time, and counts once; a dropped or late one by its reason")
    func heldEventContinuesBelow() async throws {
        let transport = ScriptedTransport()
        let holder = Holder()
        let time = VirtualTime()
        let pipeline = try Pipeline.with(
            suffix(" above"), holder, suffix(" below"), to: transport,
            environment: PipelineEnvironment(time: time))
        let start = time.wallTime()
        pipeline.track("A", ["nan": .double(.nan)])
        for name in ["B", "C"] { pipeline.track(name) }
        #expect(pipeline.ledger.held == 3)
        #expect(pipeline.ledger.sanitized.isEmpty)
        #expect(pipeline.ledger.isBalanced)
        time.advance(by: .seconds(100))
        let held = holder.take()
        #expect(holder.context.forward(held[0]))
        holder.context.drop(held[1], because: .filtered)
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        let events = try transport.accepted()
        #expect(events.map(\.name) == ["A above below"])
        #expect(events.map(\.id) == [held[0].id] && events.map(\.time) == [start])
        #expect(ledger.tracked == 3 && ledger.held == 1 && ledger.dropped == [.filtered: 1])
        #expect(ledger.sanitized == [.nonFiniteNumber: 1])
        #expect(ledger.isBalanced)
        #expect(!holder.context.forward(held[2]))
        #expect(pipeline.ledger.held == 0 && pipeline.ledger.dropped == [.filtered: 1, .shutDown: 1])
        #expect(pipeline.ledger.isBalanced)
    }

    /// Forwards each event before `process` returns, as another thread can.
    private struct Hasty: Processor {
        let context = PluginContext()

        func process(_ event: inout Event) -> Disposition {
            let disposition = context.hold(event)
            context.forward(event)
            return disposition
        }
    }

    @Test("an event that is forwarded before it is known to be held is stored, and counted once")
    func earlyForward() async throws {
        let transport = ScriptedTransport()
        let bench = try Bench(transport, processor: Hasty())
        bench.track(2)
        let ledger = await bench.pipeline.shutdown()
        #expect(ledger.held == 0 && ledger.isBalanced)
        #expect(try transport.accepted().count == 2)
    }

    @Test(
        "what a plugin forwards or drops between two pipelines is counted by the next one, and what it still holds",
        arguments: [(3, 1, 1), (5, 0, 5), (2, 2, 0), (40, 7, 0)] as [(Int, Int, Int)], [false, true])
    func eventsEndBetweenPipelines(_ counts: (held: Int, forwarded: Int, dropped: Int), isInRoute: Bool) async throws {
        let (holder, transport) = (Holder(), ScriptedTransport())
        func pipeline() throws -> Pipeline { try Pipeline.with([holder], inRoute: isInRoute, to: transport) }
        do {
            let first = try pipeline()
            for number in 0..<counts.held { first.track("\(number)") }
            withExtendedLifetime(first) {}
        }
        var held = holder.take()[...]
        for event in held.prefix(counts.forwarded) { #expect(!holder.context.forward(event)) }
        held = held.dropFirst(counts.forwarded)
        for event in held.prefix(counts.dropped) { holder.context.drop(event, because: .filtered) }
        held = held.dropFirst(counts.dropped)
        let next = try pipeline()
        let ledger = next.ledger
        #expect(ledger.isBalanced)
        #expect((isInRoute ? ledger.routes[0].inserted : ledger.tracked) == counts.held)
        #expect((isInRoute ? ledger.routes[0].held : ledger.held) == held.count)
        var dropped = isInRoute ? ledger.routes[0].dropped : ledger.dropped
        #expect(dropped.removeValue(forKey: .shutDown) ?? 0 == counts.forwarded)
        #expect(dropped.removeValue(forKey: .filtered) ?? 0 == counts.dropped && dropped.isEmpty)
        for event in held { #expect(holder.context.forward(event)) }
        let last = await next.shutdown(timeout: .seconds(600))
        #expect(last.isBalanced && last.held == 0 && last.routes[0].held == 0)
        #expect(try transport.accepted().map(\.name) == held.map(\.name))
    }

    @Test("events that many threads track, hold and forward are counted once")
    func concurrentHoldsBalance() async throws {
        let transport = ScriptedTransport()
        let holder = Holder()
        let bench = try Bench(transport, processor: holder)
        let pipeline = bench.pipeline
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<200 {
                        pipeline.track("Event")
                        holder.release()
                    }
                }
            }
        }
        holder.release()
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.tracked == 800 && ledger.held == 0 && ledger.isBalanced)
        #expect(Set(try transport.accepted().map(\.id)).count == 800)
    }

    // MARK: Inserting

    @Test(
        "an inserted event comes before the current one, with an id of its own and the user's ids, and passes below only"
    )
    func insertedEventComesBefore() async throws {
        let transport = ScriptedTransport()
        let pipeline = try Pipeline.with(suffix(" above"), Marker(), suffix(" below"), to: transport)
        pipeline.track("A") { $0.loginID = "42" }
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        let events = try transport.accepted()
        #expect(events.map(\.name) == ["Before A above below", "A above below"])
        #expect(events.map(\.loginID) == ["42", "42"])
        #expect(Set(events.map(\.id)).count == 2)
        #expect(ledger.tracked == 2)
        #expect(ledger.isBalanced)
    }

    @Test("an event is neither forwarded nor dropped while the stage holds none")
    func foreignEventIsIgnored() throws {
        let holder = Holder()
        let bench = try Bench(processor: holder)
        let event = Event(id: EventID(high: 1, low: 2), name: "Foreign", time: Timestamp(milliseconds: 0))
        #expect(!holder.context.forward(event))
        holder.context.drop(event, because: .filtered)
        #expect(bench.pipeline.ledger.tracked == 0 && bench.pipeline.ledger.held == 0)
    }
}
