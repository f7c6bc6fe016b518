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

    @Test("one noisy user doesn't use up the events of the others")
    func rateLimitPerUser() async throws {
        let test = try TestPipeline(time: time) { RateLimit(20, per: .seconds(10), per: .distinctID) }
        for _ in 1...300 { test.pipeline.track("Request") { $0.distinctID = "noisy" } }
        for user in 1...19 {
            for _ in 1...10 { test.pipeline.track("Request") { $0.distinctID = "user-\(user)" } }
        }
        #expect(test.pipeline.ledger.dropped == [.rateLimited: 280])
        _ = await test.events()
    }

    @Test("events without an id share one number, and ids are compared by their bytes")
    func idsAreBytes() throws {
        let limit = RateLimit(1, per: .seconds(10), per: .distinctID)
        let test = try TestPipeline(time: time) { limit }
        defer { withExtendedLifetime(test) {} }
        #expect(limit.processed("A") != nil && limit.processed("B") == nil)
        for id in ["caf\u{E9}", "cafe\u{301}"] {
            #expect(limit.processed("A", configure: { $0.distinctID = id }) != nil)
            #expect(limit.processed("A", configure: { $0.distinctID = id }) == nil)
        }
    }

    @Test("a key of one's own decides which events share a number, and nil is unlimited")
    func ownKey() throws {
        let tenants = RateLimit(1, per: .seconds(10), per: .init { $0.properties["tenant"] })
        let all = RateLimit(2, per: .seconds(10), per: .init { _ in "all" })
        let test = try TestPipeline(time: time) {
            tenants
            all
        }
        defer { withExtendedLifetime(test) {} }
        #expect(tenants.processed("A", ["tenant": 1]) != nil)
        #expect(tenants.processed("B", ["tenant": 1]) == nil)
        #expect(tenants.processed("B", ["tenant": "1"]) != nil)
        for _ in 1...3 { #expect(tenants.processed("A") != nil) }
        #expect(["A", "B", "C"].map { all.processed($0) != nil } == [true, true, false])
    }

    @Test("a flood of further keys passes, and frees no key that has used up its number")
    func memoryIsBounded() throws {
        let limit = RateLimit(2, per: .seconds(10))
        let test = try TestPipeline(time: time) { limit }
        defer { withExtendedLifetime(test) {} }
        for name in ["Noisy", "Noisy", "Calm"] { #expect(limit.processed(name) != nil) }
        for number in 0..<20_000 { #expect(limit.processed("\(number)") != nil) }
        #expect(limit.keyCount <= 10_000)
        #expect(limit.processed("Noisy") == nil)
        // A full bucket holds no information.
        time.advance(by: .seconds(10))
        for number in 0..<20_000 { #expect(limit.processed("\(number)") != nil) }
        for _ in 1...2 { #expect(limit.processed("Noisy") != nil) }
        #expect(limit.processed("Noisy") == nil)
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
}
