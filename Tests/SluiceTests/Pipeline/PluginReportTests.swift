import Sluice
import SluiceTesting
import TestSupport
import Testing

/// The sanitizations and failures that processors report.
@Suite struct PluginReportTests {
    private static let shortened = Sanitization(rawValue: "shortened")

    /// Cuts every event twice, and reports it.
    private struct Shortener: Processor {
        var cause = PluginReportTests.shortened
        let context = PluginContext()

        func process(_ event: inout Event) -> Disposition {
            for _ in 1...2 { event.report(cause) }
            return .keep
        }

        func prepare() {
            context.report("the state can't be read")
        }
    }

    @Test("a cause that both a processor and the core report counts once")
    func sharedCauseCountsOnce() throws {
        let bench = try Bench(processor: Shortener(cause: .nonFiniteNumber))
        bench.pipeline.track("Event", ["a": .double(.nan)])
        #expect(bench.pipeline.ledger.sanitized == [.nonFiniteNumber: 1])
    }

    @Test("sanitizations of a dropped event are not counted")
    func droppedEventCountsNoSanitization() throws {
        let pipeline = try Pipeline.with(Shortener(), Filter { _ in false })
        pipeline.track("Event")
        #expect(pipeline.ledger.sanitized.isEmpty)
    }

    @Test("a shared sanitization is counted once, and one by a route for that route")
    func routesCountTheirOwnSanitizations() throws {
        let own = Sanitization(rawValue: "own")
        let pipeline = try Pipeline {
            Shortener()
            for name in ["a", "b"] {
                Route(name, Shortener(cause: own))
            }
        }
        pipeline.track("Event")
        #expect(pipeline.ledger.sanitized == [Self.shortened: 1, own: 2])
    }

    @Test("a processor's message reaches the diagnostics with the name of its type")
    func messageNamesProcessorType() throws {
        let bench = try Bench(processor: Shortener())
        #expect(bench.diagnostics.map(\.kind) == [.plugin])
        #expect(bench.diagnostics.first?.description == "plugin: Shortener: the state can't be read")
    }

    @Test("a message from before there is a pipeline reaches the first one, and only the first ten are kept")
    func earlyMessagesAreKept() throws {
        let shortener = Shortener()
        for _ in 0..<20 { shortener.context.report("early") }
        let bench = try Bench(processor: shortener)
        #expect(bench.diagnostics.filter { $0.message == "Shortener: early" }.count == 10)
        let second = try Bench(processor: Shortener())
        #expect(second.diagnostics.count == 1)
    }
}
