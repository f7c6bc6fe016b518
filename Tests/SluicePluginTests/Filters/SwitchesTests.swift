import Sluice
import SluiceFilters
import SluiceMemory
import SluiceTesting
import Testing

@Suite("Switches and urgency", .timeLimit(.minutes(10))) struct SwitchesTests {
    @Test("events switched off are dropped and counted, in the next launch too")
    func switchedOff() async throws {
        let directory = try TemporaryDirectory()
        let first = Switches(persistedIn: .file(directory.path))
        let test = try TestPipeline { first }
        test.pipeline.track("before")
        try first.setEnabled(false)
        test.pipeline.track("off")
        #expect(await test.events().map(\.name) == ["before"])
        #expect(test.pipeline.ledger.dropped == [.switchedOff: 1])

        let second = Switches(persistedIn: .file(directory.path))
        #expect(!second.isEnabled)
        let next = try TestPipeline { second }
        next.pipeline.track("still off")
        try second.setEnabled(true)
        next.pipeline.track("on")
        #expect(await next.events().map(\.name) == ["on"])
        #expect(Switches(persistedIn: .file(directory.path)).isEnabled)
    }

    @Test("paused delivery stays paused in the next launch, while events are stored")
    func paused() async throws {
        let directory = try TemporaryDirectory()
        try Switches(persistedIn: .file(directory.path)).setDeliveryPaused(true)
        let switches = Switches(persistedIn: .file(directory.path))
        #expect(switches.isDeliveryPaused && switches.isEnabled)
        let transport = ScriptedTransport()
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: VirtualTime())) {
            switches
            MemoryStore()
            transport
        }
        pipeline.track("waits")
        #expect(await pipeline.flush().waiting == 1)
        #expect(transport.batches.isEmpty)
        try switches.setDeliveryPaused(false)
        #expect(await pipeline.flush().delivered + transport.batches.count >= 1)
        await pipeline.shutdown()
        #expect(try transport.accepted().map(\.name) == ["waits"])
        #expect(!Switches(persistedIn: .file(directory.path)).isDeliveryPaused)
    }

    @Test("a damaged file is an error when the pipeline is built, until a switch is set anew")
    func damaged() throws {
        let directory = try TemporaryDirectory()
        try Switches(persistedIn: .file(directory.path)).setEnabled(false)
        try directory.write(Array(#"{"enabled":truf,"deliveryPaused":false}"#.utf8), to: "switches.json")
        let switches = Switches(persistedIn: .file(directory.path))
        let error = #expect(throws: SluiceError.self) { try TestPipeline { switches } }
        #expect(error?.code == .corruptSwitches)
        #expect(throws: SluiceError.self) { try switches.setDeliveryPaused(true) }
        #expect(switches.isEnabled)
        #expect(throws: SluiceError.self) { try TestPipeline { switches } }
        try switches.setEnabled(false)
        #expect(throws: Never.self) { try TestPipeline { switches } }
        #expect(!Switches(persistedIn: .file(directory.path)).isEnabled)
    }

    @Test("nothing is kept in memory alone, and a place that cannot be used is an error")
    func places() throws {
        let switches = Switches(persistedIn: .memory)
        try switches.setEnabled(false)
        #expect(switches.processed() == nil)
        #expect(Switches(persistedIn: .memory).isEnabled)
        #expect(throws: SluiceError.self) { try TestPipeline { Switches(persistedIn: .file("/dev/null/state")) } }
    }

    @Test("events are critical by their names")
    func critical() {
        let processor = CriticalEvents(named: ["Purchase"])
        #expect(processor.processed("Purchase")?.priority == .critical)
        #expect(processor.processed("Purchases")?.priority == .normal)
        var event = Event.named("Other")
        event.priority = .critical
        #expect(processor.process(&event) == .keep)
        #expect(event.priority == .critical)
    }
}
