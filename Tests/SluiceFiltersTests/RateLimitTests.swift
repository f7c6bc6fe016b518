import Sluice
import SluiceFilters
import SluiceTesting
import TestSupport
import Testing

@Suite struct RateLimitTests {
    private let time = VirtualTime()

    @Test("a rate limit holds for each name on its own, and is refilled with time")
    func rateLimitPerName() async throws {
        let test = try TestPipeline(time: time) { RateLimit(2, per: .seconds(10)) }
        for _ in 1...3 { for name in ["A", "B"] { test.pipeline.track(name, ["round": 1]) } }
        time.advance(by: .seconds(5))
        for _ in 1...2 { test.pipeline.track("A", ["round": 2]) }
        time.advance(by: .seconds(1_000))
        for _ in 1...3 { test.pipeline.track("A", ["round": 3]) }
        #expect(test.pipeline.ledger.dropped == [.rateLimited: 4])
        let rounds = await test.events().filter { $0.name == "A" }.map { $0.properties["round"] }
        #expect(rounds == [1, 1, 2, 3, 3])
    }

    @Test("names after the first thousand share one limit")
    func furtherNamesShareOneLimit() async throws {
        let test = try TestPipeline(time: time) { RateLimit(1, per: .seconds(10)) }
        for number in 0..<1_003 { test.pipeline.track("\(number)") }
        #expect(test.pipeline.ledger.dropped == [.rateLimited: 2])
        _ = await test.events()
    }

    @Test("a clock that goes backwards refills nothing and takes nothing")
    func backwardClockChangesNothing() throws {
        let limit = RateLimit(1, per: .seconds(10))
        let test = try TestPipeline(time: time) { limit }
        defer { withExtendedLifetime(test) {} }
        #expect(limit.processed("A") != nil)
        time.advance(by: .seconds(-100))
        #expect(limit.processed("A") == nil)
        time.advance(by: .seconds(10))
        #expect(limit.processed("A") != nil)
    }

    @Test(
        "an invalid number or time is an error when the pipeline is built",
        arguments: [
            RateLimit(0, per: .seconds(1)), RateLimit(-1, per: .seconds(1)), RateLimit(.min, per: .seconds(1)),
            RateLimit(1, per: .zero), RateLimit(1, per: .seconds(-1)), RateLimit(1, per: .microseconds(999)),
        ])
    func invalidArgumentsThrow(filter: RateLimit) {
        let error = #expect(throws: SluiceError.self) { try TestPipeline { filter } }
        #expect(error?.code == .invalidArgument)
    }

    @Test("the smallest number and the shortest time are accepted")
    func smallestArgumentsWork() async throws {
        let test = try TestPipeline(time: time) { RateLimit(1, per: .milliseconds(1)) }
        test.pipeline.track("A")
        #expect(try await test.event().name == "A")
    }
}
