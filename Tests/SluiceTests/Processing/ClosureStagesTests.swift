import Sluice
import SluiceTesting
import TestSupport
import Testing

/// Stages that are made of a closure.
@Suite struct ClosureStagesTests {
    @Test("a transform changes every event")
    func transformChangesEveryEvent() async throws {
        let bench = try Bench(processor: Transform { $0.properties["build"] = "beta" })
        bench.track(2)
        await bench.pipeline.flush()
        #expect(try bench.transport.accepted().map { $0.properties["build"] } == ["beta", "beta"])
    }

    @Test(
        "a filter drops the events that its closure refuses, and counts them as filtered or with a reason of the host",
        arguments: [nil, DropReason(rawValue: "internal")])
    func filterDropsAndCounts(reason: DropReason?) async throws {
        let isKept: @Sendable (Event) -> Bool = { $0.name != "Debug" }
        let filter = reason.map { Filter(droppingAs: $0, isKept) } ?? Filter(isKept)
        let bench = try Bench(processor: filter)
        for name in ["Debug", "Purchase", "Debug"] { bench.pipeline.track(name) }
        await bench.pipeline.flush()
        #expect(try bench.transport.accepted().map(\.name) == ["Purchase"])
        #expect(bench.pipeline.ledger.dropped == [reason ?? .filtered: 2])
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("values without state can be listed twice, and in two routes and pipelines")
    func valuesCanBeListedAnywhere() async throws {
        let count = Transform { $0.properties["passes"] = ($0.properties["passes"]?.int ?? 0) + 1 }
        let filter = Filter { $0.name != "Debug" }
        let transports = [ScriptedTransport(), ScriptedTransport(), ScriptedTransport()]
        let first = try Pipeline {
            count
            count
            filter
            filter
            for (name, transport) in zip(["a", "b"], transports) {
                Route(name, count, filter, to: transport)
            }
        }
        let second = try Pipeline.with(count, filter, to: transports[2])
        for pipeline in [first, second] {
            pipeline.track("Debug")
            pipeline.track("Event")
            await pipeline.flush()
        }
        #expect(try transports.map { try $0.accepted().map { $0.properties["passes"] } } == [[3], [3], [1]])
    }

    @Test("stages made of closures keep the promises of processors")
    func closureStagesKeepPromises() async throws {
        try await ProcessorContract.check { Transform { $0.properties["build"] = "beta" } }
        try await ProcessorContract.check { Filter { $0.name.count < 20 } }
    }
}
