import SluiceFilters
import TestSupport
import Testing

@Suite struct EventNamesTests {
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
}
