import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// What a plugin does stays in the chain in which it stands.
@Suite struct ChainTests {
    private typealias Marker = PluginContextTests.Marker
    private typealias Reporter = PluginContextTests.Reporter

    /// A pipeline with a shared processor, the route "own" with the processors of a test, and the route "other".
    private struct Rig {
        let own = ScriptedTransport()
        let other = ScriptedTransport()
        let pipeline: Pipeline

        init(_ processors: [any Processor]) throws {
            let (own, other) = (own, other)
            pipeline = try Pipeline(environment: Bench.environment(VirtualTime())) {
                suffix(" shared")
                Route("own") {
                    for processor in processors { processor }
                    MemoryStore()
                    own
                }
                Route("other", to: other)
            }
        }

        /// Ends the pipeline, and returns the names of the events that each route has delivered.
        func end() async throws -> [[String]] {
            let ledger = await pipeline.shutdown(timeout: .seconds(600))
            #expect(ledger.isBalanced)
            #expect(ledger.routes.allSatisfy { $0.held == 0 })
            return try [own, other].map { try $0.accepted().map(\.name) }
        }

        var ledger: Ledger { pipeline.ledger }
    }

    @Test("events that a route's plugins track, insert, forward and drop are counted for that route")
    func everyWayIsCounted() async throws {
        let (reporter, holder) = (Reporter(), Holder())
        let rig = try Rig([Marker(), holder, reporter])
        for name in ["A", "B"] { rig.pipeline.track(name, ["nan": .double(.nan)]) }
        // The plugin's own event passes the marker and the holder, too.
        #expect(!reporter.report("Own"))
        #expect(rig.ledger.routes.map(\.held) == [6, 0])
        #expect(rig.ledger.routes.map(\.inserted) == [4, 0])
        #expect(rig.ledger.routes.map(\.received) == [6, 2])
        #expect(rig.ledger.tracked == 2)
        #expect(rig.ledger.isBalanced)
        for (index, event) in holder.take().enumerated() {
            if index % 3 == 0 {
                holder.context.drop(event, because: .filtered)
            } else {
                holder.context.forward(event)
            }
        }
        #expect(rig.ledger.routes.map(\.dropped) == [[.filtered: 2], [:]])
        #expect(rig.ledger.dropped.isEmpty)
        #expect(rig.ledger.sanitized == [.nonFiniteNumber: 2])
        // The plugin's own event is critical, and is sent first.
        let names = ["Own", "A shared", "Before B shared", "Before Own"]
        #expect(try await rig.end() == [names, ["A shared", "B shared"]])
    }

    @Test("after the shutdown, the events of a route's plugins are dropped by that route")
    func lateEventsAreDroppedByRoute() async throws {
        let (reporter, holder) = (Reporter(), Holder())
        let rig = try Rig([reporter, holder])
        rig.pipeline.track("A")
        await rig.pipeline.shutdown(timeout: .seconds(600))
        #expect(!reporter.report("Late"))
        for event in holder.take() { #expect(!holder.context.forward(event)) }
        #expect(rig.ledger.routes.map(\.dropped) == [[.shutDown: 2], [:]])
        #expect(rig.ledger.dropped.isEmpty)
        #expect(rig.ledger.isBalanced)
    }
}
