import Sluice
import SluiceMemory
import SluiceTesting
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

    @Test("a filter drops the events that its closure refuses, and the ledger counts them as filtered")
    func filterDropsAndCounts() async throws {
        let bench = try Bench(processor: Filter { $0.name != "Debug" })
        for name in ["Debug", "Purchase", "Debug"] { bench.pipeline.track(name) }
        await bench.pipeline.flush()
        #expect(try bench.transport.accepted().map(\.name) == ["Purchase"])
        #expect(bench.pipeline.ledger.dropped == [.filtered: 2])
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a filter counts with a reason of the host")
    func filterCountsWithOwnReason() throws {
        let reason = DropReason(rawValue: "internal")
        let bench = try Bench(processor: Filter(droppingAs: reason) { $0.properties["staff"] == nil })
        bench.pipeline.track("Search", ["staff": true])
        #expect(bench.pipeline.ledger.dropped == [reason: 1])
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
                Route(name) {
                    count
                    filter
                    MemoryStore()
                    transport
                }
            }
        }
        let second = try Pipeline {
            count
            filter
            MemoryStore()
            transports[2]
        }
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
