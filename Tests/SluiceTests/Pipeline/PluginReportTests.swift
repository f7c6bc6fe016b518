import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// What a processor tells beside the event: what it cut, and what it could not do.
@Suite(.timeLimit(.minutes(10))) struct PluginReportTests {
    private static let shortened = Sanitization(rawValue: "shortened")

    /// Cuts every event twice, and says so.
    private struct Shortener: Processor {
        var cause = PluginReportTests.shortened

        func process(_ event: inout Event) -> Disposition {
            for _ in 1...2 { event.report(cause) }
            return .keep
        }

        func attach(to outlet: EventOutlet) {
            outlet.report("what it keeps cannot be read")
        }
    }

    private struct DropAll: Processor {
        func process(_ event: inout Event) -> Disposition { .drop(.filtered) }
    }

    @Test("what a processor cuts is counted by its cause, once for each event")
    func processorCutsCounted() throws {
        let bench = try Bench(processor: Shortener())
        bench.track(3)
        #expect(bench.pipeline.ledger.sanitized == [Self.shortened: 3])
    }

    @Test("a cause that the core has found too counts once")
    func causeCoreFound() throws {
        let bench = try Bench(processor: Shortener(cause: .nonFiniteNumber))
        bench.pipeline.track("Event", ["a": .double(.nan)])
        #expect(bench.pipeline.ledger.sanitized == [.nonFiniteNumber: 1])
    }

    @Test("what was cut from a dropped event is not counted")
    func cutFromDropped() throws {
        let pipeline = try Pipeline {
            Shortener()
            DropAll()
            MemoryStore()
            ScriptedTransport()
        }
        pipeline.track("Event")
        #expect(pipeline.ledger.sanitized.isEmpty)
    }

    @Test("what all routes share is counted once, and what a route cuts for that route")
    func allRoutesShare() throws {
        let own = Sanitization(rawValue: "own")
        let pipeline = try Pipeline {
            Shortener()
            for name in ["a", "b"] {
                Route(name) {
                    Shortener(cause: own)
                    MemoryStore()
                    ScriptedTransport()
                }
            }
        }
        pipeline.track("Event")
        #expect(pipeline.ledger.sanitized == [Self.shortened: 1, own: 2])
    }

    @Test("a processor's message reaches the host's diagnostics")
    func processorSMessage() throws {
        let bench = try Bench(processor: Shortener())
        #expect(bench.diagnostics.map(\.kind) == [.plugin])
        #expect(bench.diagnostics.first?.description == "plugin: what it keeps cannot be read")
    }
}
