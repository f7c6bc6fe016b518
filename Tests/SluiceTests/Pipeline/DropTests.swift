import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// Events that are dropped before the store, and their reasons.
@Suite struct DropTests {
    static let boring = DropReason(rawValue: "boring")
    static let noDull = Filter(droppingAs: boring) { $0.name != "Dull" }

    @Test("drops of a shared processor are counted by the pipeline, not by a route")
    func sharedDropsAreCountedByPipeline() async throws {
        let late = OrderTests.Book()
        let pipeline = try Pipeline.with(
            Self.noDull, Filter { $0.name != "Private" }, OrderTests.Scribe(name: "", book: late))
        for name in ["Dull", "Private", "Dull", "Fine", ""] { pipeline.track(name) }
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.tracked == 5)
        #expect(ledger.dropped == [Self.boring: 2, .filtered: 1, .emptyName: 1])
        #expect(ledger.routes[0].received == 1)
        #expect(ledger.routes[0].dropped.isEmpty)
        // A dropped event goes no further.
        #expect(late.all == [" prepared", " Fine", " "])
        #expect(ledger.isBalanced)
    }

    @Test("drops of a route are counted by that route, and the other routes get the event")
    func routeDropsAreCountedByRoute() async throws {
        let pipeline = try Pipeline(maximumEventBytes: 400) {
            Route("strict", Self.noDull, Transform { if $0.name == "Erase" { $0.name = "" } })
            Route("open")
        }
        for name in ["Dull", "Erase", "Fine", "Dull"] { pipeline.track(name) }
        pipeline.track("Long", ["text": .string(String(repeating: "x", count: 500))])
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.dropped.isEmpty)
        #expect(ledger[route: "strict"]?.dropped == [Self.boring: 2, .emptyName: 1, .tooLarge: 1])
        #expect(ledger[route: "strict"]?.delivered == 1)
        #expect(ledger[route: "open"]?.dropped == [.tooLarge: 1])
        #expect(ledger[route: "open"]?.delivered == 4)
        #expect(ledger[route: "none"] == nil)
        #expect(ledger.routes.map(\.received) == [5, 5])
        #expect(ledger.isBalanced)
    }

    @Test("the first loss for each reason is reported, and drops of a filter are not")
    func firstLossOfEachReasonIsReported() async throws {
        let told = Locked<[Diagnostic]>([])
        let pipeline = try Pipeline.with(
            Self.noDull, in: MemoryStore(capacity: 1_000), to: ScriptedTransport(then: .hang),
            onDiagnostic: { diagnostic in told.withLock { $0.append(diagnostic) } })
        pipeline.pauseDelivery()
        for _ in 0..<2 {
            pipeline.track("")
            pipeline.track("Dull")
        }
        for _ in 0..<30 { pipeline.track("Kept until it has to make room") }
        // A pause ends it immediately. With less time, a store that a late thread still uses would be reported.
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        pipeline.track("Late")
        pipeline.track("Late")
        #expect(pipeline.ledger.dropped == [.emptyName: 2, Self.boring: 2, .shutDown: 2])
        #expect(pipeline.ledger.routes[0].dropped.keys.contains(.evicted))
        let texts = told.withLock(\.self).map { "\($0)" }
        #expect(
            texts == [
                "dropped: events are dropped: emptyName (reported once)",
                "dropped [main]: the store has lost events: evicted (reported once)",
                "dropped: events are dropped: shutDown (reported once)",
            ])
    }

    @Test("a ledger is out of balance as soon as one number is wrong")
    func anyWrongNumberUnbalancesLedger() async throws {
        let bench = try Bench()
        bench.pipeline.pauseDelivery()
        bench.track(3)
        #expect(bench.pipeline.ledger.isBalanced)
        // An event that is added to the store without the pipeline.
        try bench.store.append(
            EventLine(Event(id: EventID(high: 0, low: 1), name: "Smuggled", time: Timestamp(milliseconds: 0))))
        let ledger = await bench.pipeline.shutdown(timeout: .zero)
        #expect(ledger.routes[0].stored == 4)
        #expect(!ledger.isBalanced)
    }
}
