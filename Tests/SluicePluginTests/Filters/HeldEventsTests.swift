import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceTesting
import Testing

/// Events that wait in memory for the user's consent.
@Suite struct HeldEventsTests {
    private let time = VirtualTime()
    private let consent = Consent(persistedIn: .memory, whilePending: .hold)

    @Test("a grant lets go what was held, in order, with the times, ids and priorities of its moment")
    func grantLetsGo()
        async throws
    {
        let identity = Identity(persistedIn: .memory)
        let test = try TestPipeline(time: time) {
            identity
            consent
        }
        let start = time.wallTime()
        test.pipeline.track("A", ["a": .date(start)])
        time.advance(by: .seconds(1))
        try identity.setAnonymousID("other")
        test.pipeline.track("B", priority: .critical)
        time.advance(by: .seconds(100))
        #expect(consent.held == 2)
        try consent.grant()
        #expect(consent.held == 0)
        test.pipeline.track("C")
        let events = await test.events()
        #expect(Set(events.map(\.name)) == ["A", "B", "C"])
        let held = try ["A", "B"].map { name in try #require(events.first { $0.name == name }) }
        #expect(held.map(\.time.milliseconds) == [start.milliseconds, start.milliseconds + 1_000])
        #expect(held[0].anonymousID != "other" && held[1].distinctID == "other")
        #expect(held[0].properties == ["a": .date(start)] && held[1].priority == .critical)
        #expect(test.pipeline.ledger.tracked == 5)
        #expect(test.pipeline.ledger.dropped == [.consentHeld: 2])
    }

    @Test("a refusal forgets what was held")
    func refusalForgetsHeld() async throws {
        let test = try TestPipeline { consent }
        test.pipeline.track("A")
        try consent.deny()
        #expect(consent.held == 0)
        try consent.grant()
        #expect(await test.events().isEmpty)
    }

    @Test("what is held is bounded, and what comes beyond it is dropped and counted")
    func heldBoundedComes() async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .hold(upTo: 1_000))
        let test = try TestPipeline { consent }
        for _ in 0..<100 { test.pipeline.track("Event") }
        let held = consent.held
        #expect((1..<100).contains(held))
        #expect(test.pipeline.ledger.dropped == [.consentHeld: held, .consentPending: 100 - held])
        try consent.grant()
        #expect(await test.events().count == held)
    }

    @Test("what was cut from a held event is counted when it is let go")
    func cutFromHeld() async throws {
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

    @Test("filters that have let a held event pass do not stop it when it is let go")
    func filtersLetHeld() async throws {
        let test = try TestPipeline(time: time) {
            RateLimit(1, per: .seconds(100), time: time)
            Deduplication(within: .seconds(100), time: time)
            consent
        }
        for _ in 1...2 { test.pipeline.track("A") }
        #expect(consent.held == 1)
        try consent.grant()
        #expect(try await test.event().name == "A")
    }

    @Test("a consent that holds serves one pipeline")
    func consentHoldsServes() throws {
        let first = try TestPipeline { consent }
        let error = #expect(throws: SluiceError.self) { try TestPipeline { consent } }
        #expect(error?.code == .invalidPipeline)
        _ = first
    }

    @Test("nothing that is held touches a disk")
    func nothingHeldTouches() async throws {
        let directory = try TemporaryDirectory()
        let consent = Consent(persistedIn: .file(directory.path), whilePending: .hold)
        let test = try TestPipeline { consent }
        test.pipeline.track("A")
        #expect(try directory.names == [])
        _ = test
    }

    @Test("an answer while others track loses nothing and doubles nothing")
    func answerWhileOthers() async throws {
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
        #expect(await test.events().count == 400)
    }

    @Test("resetting the identity does not undo a refusal")
    func resettingIdentityDoes() async throws {
        let directory = try TemporaryDirectory()
        let identity = Identity(persistedIn: .file(directory.path))
        let consent = Consent(persistedIn: .file(directory.path))
        let test = try TestPipeline {
            consent
            identity
        }
        try consent.deny()
        try identity.reset()
        test.pipeline.track("A")
        #expect(Consent(persistedIn: .file(directory.path)).status == .denied)
        #expect(await test.events().isEmpty)
    }
}
