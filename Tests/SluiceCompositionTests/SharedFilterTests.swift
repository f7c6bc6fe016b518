import Sluice
import SluiceFilters
import SluiceMemory
import SluiceTesting
import Testing

/// A filter with a state stands in one place: a second route would get no event, or half of them.
@Suite struct SharedFilterTests {
    struct Filter: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let make: @Sendable () -> any Processor
        /// The events of two equal ones that pass.
        let passing: Int
    }

    private static let filters = [
        Filter(testDescription: "Deduplication", make: { Deduplication(within: .seconds(2)) }, passing: 1),
        Filter(testDescription: "RateLimit", make: { RateLimit(1, per: .seconds(60)) }, passing: 1),
        Filter(testDescription: "Consent", make: { Consent(persistedIn: .memory, whilePending: .keep) }, passing: 2),
        Filter(testDescription: "CollectionSettings", make: { CollectionSettings(persistedIn: .memory) }, passing: 2),
    ]

    private func pipeline(
        _ first: any Processor, _ second: any Processor, to one: ScriptedTransport, _ two: ScriptedTransport
    ) throws -> Pipeline {
        try Pipeline(environment: PipelineEnvironment(time: VirtualTime())) {
            Route("one") {
                first
                MemoryStore()
                one
            }
            Route("two") {
                second
                MemoryStore()
                two
            }
        }
    }

    @Test("one filter in two routes is an error when the pipeline is built, which names the remedy", arguments: filters)
    func sharedFilterThrows(filter: Filter) {
        let shared = filter.make()
        let error = #expect(throws: SluiceError.self) {
            try pipeline(shared, shared, to: ScriptedTransport(), ScriptedTransport())
        }
        #expect(error?.code == .invalidPipeline)
        #expect(error?.message.contains("make one object for each place") == true)
    }

    @Test("with a filter of its own, each route gets the same events", arguments: filters)
    func ownFiltersPassTheSame(filter: Filter) async throws {
        let (one, two) = (ScriptedTransport(), ScriptedTransport())
        let pipeline = try pipeline(filter.make(), filter.make(), to: one, two)
        for _ in 0..<2 { pipeline.track("Tap") }
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        #expect(try one.accepted().count == filter.passing)
        #expect(try two.accepted().count == filter.passing)
    }
}
