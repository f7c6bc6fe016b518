import SluiceMemory
import SluiceTesting
import Testing

@Suite struct TraceRecorderTests {
    @Test("a TraceRecorder finds the stage that dropped an event")
    func droppingStageIsFound() throws {
        let traces = TraceRecorder()
        let pipeline = try Pipeline(onTrace: traces.record) {
            Route("all") {
                MemoryStore()
                NullTransport()
            }
            Route("purchases") {
                Filter { $0.name == "Purchase" }
                MemoryStore()
                NullTransport()
            }
        }
        let view = pipeline.track("View")
        let purchase = pipeline.track("Purchase")
        let stage = try #require(traces.stage(dropping: view))
        #expect(stage.name == "Filter" && stage.route == "purchases" && stage.disposition == .drop(.filtered))
        #expect(traces.stage(dropping: purchase) == nil)
        #expect(traces.stage(dropping: pipeline.track("")) == nil)
        #expect(traces.traces.map(\.event.name) == ["View", "Purchase", ""])
        #expect(traces.traces(of: purchase).count == 1 && traces.traces(named: "View").map(\.event.id) == [view])
    }
}
