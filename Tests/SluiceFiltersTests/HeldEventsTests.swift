import Sluice
import SluiceFilters
import SluiceTesting
import TestSupport
import Testing

/// Events that wait in memory for the user's consent.
@Suite struct HeldEventsTests {
    private let time = VirtualTime()
    private let consent = Consent(persistedIn: .memory, whilePending: .hold)

    @Test("a denial drops held events")
    func denialDropsHeldEvents() async throws {
        let test = try TestPipeline { consent }
        test.pipeline.track("A")
        try consent.deny()
        #expect(consent.held == 0)
        try consent.grant()
        #expect(await test.events().isEmpty)
        #expect(test.pipeline.ledger.dropped == [.consentDenied: 1])
    }

    @Test("held events are bounded, and further ones are dropped")
    func heldEventsAreBounded() async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .hold, holdingUpTo: 1_000)
        let test = try TestPipeline { consent }
        for _ in 0..<100 { test.pipeline.track("Event") }
        let held = consent.held
        #expect((1..<100).contains(held))
        #expect(test.pipeline.ledger.dropped == [.consentPending: 100 - held])
        try consent.grant()
        #expect(await test.events().count == held)
    }

    @Test("the sanitizations of a held event are counted when it continues")
    func sanitizationsCountOnRelease() async throws {
        let test = try TestPipeline {
            Limits(string: .cut(to: 2))
            consent
        }
        test.pipeline.track("A", ["a": "long"])
        #expect(test.pipeline.ledger.sanitized.isEmpty)
        try consent.grant()
        #expect(test.pipeline.ledger.sanitized == [.truncatedString: 1])
        #expect(try await test.event().properties == ["a": "lo"])
    }

    @Test("filters above and below don't count a held event twice")
    func filtersCountHeldEventOnce() async throws {
        let test = try TestPipeline(time: time) {
            RateLimit(1, per: .seconds(100))
            Deduplication(within: .seconds(100))
            consent
            RateLimit(1, per: .seconds(100))
            Deduplication(within: .seconds(100))
        }
        for _ in 1...2 { test.pipeline.track("A") }
        #expect(consent.held == 1)
        try consent.grant()
        test.pipeline.track("A")
        #expect(try await test.event().name == "A")
        #expect(test.pipeline.ledger.dropped == [.rateLimited: 2])
    }

    @Test("held events are never on disk")
    func heldEventsAreInMemoryOnly() async throws {
        let directory = try TemporaryDirectory()
        let consent = Consent(persistedIn: .file(directory.path), whilePending: .hold)
        let test = try TestPipeline { consent }
        test.pipeline.track("A")
        #expect(directory.names == [])
        _ = test
    }

    @Test("a grant while other threads track loses and repeats no event")
    func grantWhileOthersTrack() async throws {
        let test = try TestPipeline { consent }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<100 { test.pipeline.track("Event", ["number": .int(number)]) }
                }
            }
            group.addTask { [consent] in
                do { try consent.grant() } catch { Issue.record(error) }
            }
        }
        let events = await test.events()
        #expect(events.count == 400 && Set(events.map(\.id)).count == 400)
    }
}
