import Sluice
import SluiceFilters
import SluiceTesting
import TestSupport
import Testing

/// Filters by name, by rate and by earlier events.
@Suite struct PassingTests {
    private let time = VirtualTime()

    @Test("an allow list lets only its names pass, a deny list all others")
    func nameListsFilter() async throws {
        let allowed = try TestPipeline { EventNames(allowed: ["A", "$*"]) }
        let denied = try TestPipeline { EventNames(denied: ["A", "$*"]) }
        for test in [allowed, denied] {
            for name in ["A", "AB", "$AppStart", "$", "a"] { test.pipeline.track(name) }
        }
        #expect(allowed.pipeline.ledger.dropped == [.filtered: 2])
        #expect(denied.pipeline.ledger.dropped == [.filtered: 3])
        #expect(await allowed.events().map(\.name) == ["A", "$AppStart", "$"])
        #expect(await denied.events().map(\.name) == ["AB", "a"])
    }

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

    @Test("an equal event within the window is a duplicate, and doesn't extend the window")
    func equalEventsInWindowAreDuplicates() async throws {
        let test = try TestPipeline(time: time) { Deduplication(within: .seconds(2)) }
        for number in 0..<6 {
            test.pipeline.track("Tap", ["a": 1, "b": "x"])
            test.pipeline.track("Tap", ["b": "x", "a": 1])
            test.pipeline.track("Other", ["number": .int(number)])
            time.advance(by: .seconds(1))
        }
        #expect(await test.events().filter { $0.name == "Tap" }.count == 3)
        #expect(test.pipeline.ledger.dropped == [.duplicate: 9])
    }

    @Test(
        "an event with another name, type, value or id is not a duplicate",
        arguments: [
            [:], ["a": 1], ["a": "1"], ["a": 1.0], ["a": true], ["a": nil], ["a": ""], ["b": 1], ["a": [1]],
            ["a": ["a": 1]],
            ["a": .date(Timestamp(milliseconds: 1))], ["a": 1, "b": 1], ["ab": ""], ["a": "b"],
        ] as [Properties])
    func differentEventsAreNotDuplicates(properties: Properties) {
        let filter = Deduplication(within: .seconds(1))
        let others: [Properties] = [
            [:], ["a": 1], ["a": "1"], ["a": 1.0], ["a": true], ["a": nil], ["a": ""], ["b": 1], ["a": [1]],
            ["a": ["a": 1]], ["a": .date(Timestamp(milliseconds: 1))], ["a": 1, "b": 1], ["ab": ""], ["a": "b"],
        ]
        #expect(filter.processed("Event", properties) != nil)
        #expect(filter.processed("Event", properties) == nil)
        for other in others where other != properties { #expect(filter.processed("Event", other) != nil) }
        #expect(filter.processed("Event2", properties) != nil)
        for id in ["x", ""] {
            var event = Event.named("Event", properties)
            event.distinctID = id
            #expect(filter.process(&event) == .keep)
        }
    }

    @Test(
        "an invalid number or time is an error when the pipeline is built",
        arguments: [
            RateLimit(0, per: .seconds(1)), RateLimit(-1, per: .seconds(1)), RateLimit(.min, per: .seconds(1)),
            RateLimit(1, per: .zero), RateLimit(1, per: .seconds(-1)), RateLimit(1, per: .microseconds(999)),
            Deduplication(within: .zero), Deduplication(within: .seconds(-1)),
        ] as [any Processor])
    func invalidArgumentsThrow(filter: any Processor) {
        let error = #expect(throws: SluiceError.self) { try TestPipeline { filter } }
        #expect(error?.code == .invalidArgument)
    }

    @Test("the smallest number and the shortest times are accepted")
    func smallestArgumentsWork() async throws {
        let test = try TestPipeline(time: time) {
            RateLimit(1, per: .milliseconds(1))
            Deduplication(within: .nanoseconds(1))
        }
        test.pipeline.track("A")
        #expect(try await test.event().name == "A")
    }

    @Test("it remembers the last 1,024 events")
    func lastEventsAreRemembered() {
        let filter = Deduplication(within: .seconds(1_000))
        for number in 0...1_024 { _ = filter.processed("\(number)") }
        #expect(filter.processed("1") == nil)
        #expect(filter.processed("0") != nil)
    }
}
