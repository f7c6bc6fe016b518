import SluiceFilters
import SluiceTesting
import TestSupport
import Testing

/// Events that wait in memory for the user's consent.
@Suite struct HeldEventsTests {
    private let time = VirtualTime()
    private let consent = Consent(persistedIn: .memory, whilePending: .hold)

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

    // MARK: Order

    /// What happens while the first of three held events continues, and the names of the stored events.
    struct Interruption: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let names: [String]
        var isOnOtherThread = true
        let action: @Sendable (Consent, _ track: (String) -> Void) throws -> Void
    }

    private static let later = (0..<20).map { "Later \($0)" }

    static let interruptions = [
        Interruption(
            testDescription: "an event of another thread comes after the held ones, beyond the limit too",
            names: ["1", "2", "3"] + later + ["After"]
        ) { _, track in later.forEach(track) },
        Interruption(
            testDescription: "an event that a stage tracks passes with the held one, also if it grants once more",
            names: ["Caused", "1", "2", "3", "After"], isOnOtherThread: false
        ) { consent, track in
            try consent.grant()
            track("Caused")
        },
        Interruption(
            testDescription: "a denial drops the held events that have not continued yet", names: ["1"]
        ) { consent, _ in try consent.deny() },
        Interruption(
            testDescription: "a grant on another thread after a denial lets later events continue",
            names: ["1", "Later", "After"]
        ) { consent, track in
            try consent.deny()
            try consent.grant()
            track("Later")
        },
    ]

    @Test("held events continue in their order, whatever happens during the grant", arguments: interruptions)
    func grantIsInterrupted(_ interruption: Interruption) async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .hold, holdingUpTo: 400)
        let interrupted = Locked<Pipeline?>(nil)
        let interrupt: @Sendable () -> Void = {
            guard let pipeline = interrupted.withLock({ $0.take() }) else { return }
            do {
                try interruption.action(consent) { pipeline.track($0) }
            } catch {
                Issue.record(error)
            }
        }
        let test = try TestPipeline {
            consent
            Transform {
                guard $0.name == "1" else { return }
                if interruption.isOnOtherThread { onOtherThread(interrupt) } else { interrupt() }
            }
        }
        interrupted.withLock { $0 = test.pipeline }
        for name in ["1", "2", "3"] { test.pipeline.track(name) }
        try consent.grant()
        #expect(consent.held == 0)
        test.pipeline.track("After")
        #expect(await test.events().map(\.name) == interruption.names)
    }

    @Test(
        "events during the write of the answer keep their order; if it fails, they go on waiting",
        arguments: [false, true])
    func eventsDuringWriteKeepTheirOrder(fails: Bool) async throws {
        let place = MemoryPlace()
        let consent = Consent(persistedIn: place.persistence, whilePending: .hold)
        let test = try TestPipeline { consent }
        test.pipeline.track("1")
        let waiting = Locked<Pipeline?>(test.pipeline)
        place.beforeWriting {
            guard let pipeline = waiting.withLock({ $0.take() }) else { return }
            onOtherThread { pipeline.track("2") }
        }
        if fails {
            place.fail(at: .write)
            #expect(throws: SluiceError.self) { try consent.grant() }
            #expect(consent.status == .pending && consent.held == 2)
            place.fail()
        }
        try consent.grant()
        test.pipeline.track("3")
        #expect(await test.events().map(\.name) == ["1", "2", "3"])
    }

    @Test(
        "events that a consent holds move with it to the next pipeline, and are counted there",
        arguments: [(3, 5), (0, 5), (3, 0), (1, 1), (40, 2)] as [(Int, Int)], [false, true])
    func heldEventsMove(_ counts: (Int, Int), isGrantedBetween: Bool) async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let first = try TestPipeline { consent }
        for number in 0..<counts.0 { first.pipeline.track("\(number)") }
        let before = await first.pipeline.shutdown(timeout: .seconds(600))
        #expect(before.isBalanced && before.held == counts.0)
        if isGrantedBetween { try consent.grant() }
        let next = try TestPipeline { consent }
        for number in 0..<counts.1 { next.pipeline.track("\(counts.0 + number)") }
        try consent.grant()
        await next.pipeline.flush()
        let ledger = next.pipeline.ledger
        #expect(ledger.tracked == counts.0 + counts.1 && ledger.held == 0 && ledger.isBalanced)
        #expect(await next.events().map(\.name) == (0..<counts.0 + counts.1).map { "\($0)" })
        #expect(consent.held == 0)
    }

    @Test("events that move with a consent are dropped by a denial, and counted there", arguments: [false, true])
    func movedEventsAreDenied(isInRoute: Bool) async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        func pipeline() throws -> Pipeline {
            let store = RecordingStore()
            return try Pipeline {
                if !isInRoute { consent }
                isInRoute ? store.route("a", consent) : store.route("a")
            }
        }
        let first = try pipeline()
        for _ in 0..<3 { first.track("Event") }
        await first.shutdown(timeout: .seconds(600))
        let next = try pipeline()
        for _ in 0..<5 { next.track("Event") }
        try consent.deny()
        let ledger = await next.shutdown(timeout: .seconds(600))
        #expect(ledger.isBalanced && consent.held == 0)
        #expect((isInRoute ? ledger.routes.first?.dropped : ledger.dropped) == [.consentDenied: 8])
    }
}
