import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// A route whose consent comes after the login.
@Suite struct LateConsentTests {
    private let directory: TemporaryDirectory
    private let answers: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        answers = try TemporaryDirectory()
    }

    /// A launch of an app whose identity all routes share.
    private struct Launch {
        let identity: Identity
        let consent: Consent
        let pipeline: Pipeline
        let free = ScriptedTransport()
        let crm = ScriptedTransport()

        init(_ identity: Identity, _ consent: Consent) throws {
            let (free, crm) = (self.free, self.crm)
            (self.identity, self.consent) = (identity, consent)
            pipeline = try Pipeline {
                identity
                Route("free") {
                    MemoryStore()
                    free
                }
                Route("crm") {
                    consent
                    MemoryStore()
                    crm
                }
            }
        }

        /// Ends the launch; returns the sign-ups of both routes.
        func end() async throws -> (free: [Event], crm: [Event]) {
            #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
            func signUps(_ transport: ScriptedTransport) throws -> [Event] {
                try transport.accepted().filter { $0.name == "$SignUp" }
            }
            return (try signUps(free), try signUps(crm))
        }
    }

    private func launch(whilePending: Consent.WhilePending = .drop) throws -> Launch {
        try Launch(
            Identity(persistedIn: .file(directory.path)),
            Consent(persistedIn: .file(answers.path), whilePending: whilePending))
    }

    @Test(
        "a grant after the login sends the join to that backend once, and to no other",
        arguments: [Consent.WhilePending.drop, .hold])
    func grantSendsJoinOnce(whilePending: Consent.WhilePending) async throws {
        let launch = try launch(whilePending: whilePending)
        try launch.identity.login("customer-42", ["plan": "pro"])
        try launch.consent.grant()
        for signal in [Signal.didEnterBackground, .didBecomeActive] { launch.pipeline.signal(signal) }
        try launch.consent.grant()
        let (free, crm) = try await launch.end()
        #expect(free.count == 1 && crm.count == 1 && free.first?.id == crm.first?.id)
        let event = try #require(crm.first)
        #expect(event.loginID == "customer-42" && event.properties["$set"] == ["plan": "pro"])
        #expect(event.properties["$original_id"] == launch.identity.anonymousID.map { .string($0) })
        let next = try await self.launch().end()
        #expect(next.free.isEmpty && next.crm.isEmpty)
    }

    @Test("the grant can come in a later launch, before or after its pipeline is built", arguments: [false, true])
    func laterLaunchSendsJoinOnce(isEarly: Bool) async throws {
        let first = try launch()
        try first.identity.login("customer-42", ["plan": "pro"])
        let before = try await first.end()
        #expect(before.free.count == 1 && before.crm.isEmpty)
        let waiting = try await launch().end()
        #expect(waiting.free.isEmpty && waiting.crm.isEmpty)
        let consent = Consent(persistedIn: .file(answers.path))
        if isEarly { try consent.grant() }
        let granted = try Launch(Identity(persistedIn: .file(directory.path)), consent)
        if !isEarly { try consent.grant() }
        let (free, crm) = try await granted.end()
        #expect(free.isEmpty && crm.map(\.id) == before.free.map(\.id))
        #expect(crm.first?.properties["$set"] == ["plan": "pro"])
        #expect(try await launch().end().crm.isEmpty)
    }

    @Test("after a denial there is no join, in this launch and later")
    func denialSendsNothing() async throws {
        let first = try launch()
        try first.identity.login("customer-42")
        try first.consent.deny()
        first.pipeline.track("Event")
        #expect(try await first.end().crm.isEmpty)
        #expect(try await launch().end().crm.isEmpty)
    }

    @Test("a login after the grant sends one join to each backend")
    func loginAfterGrantIsOrdinary() async throws {
        let launch = try launch()
        try launch.consent.grant()
        try launch.identity.login("customer-42")
        let (free, crm) = try await launch.end()
        #expect(free.count == 1 && crm.count == 1)
    }

    @Test("the grant of another user doesn't send the join of the user before")
    func formerUserIsNotSent() async throws {
        let launch = try launch()
        try launch.identity.login("customer-42")
        try launch.identity.logout()
        try launch.consent.grant()
        launch.pipeline.track("Event")
        #expect(try await launch.end().crm.isEmpty)
    }

    @Test("a join that can't be stored is sent by the next launch")
    func unstoredJoinIsRepeated() async throws {
        let first = try launch()
        try first.identity.login("customer-42")
        _ = try await first.end()
        // Its pipeline is gone, so the event can't be stored.
        try first.consent.grant()
        #expect(try await launch().end().crm.count == 1)
        #expect(try await launch().end().crm.isEmpty)
    }

    @Test("a grant in one route doesn't send the identity of another route")
    func identityOfOtherRouteStaysThere() async throws {
        let (identity, consent) = (Identity(persistedIn: .memory), Consent(persistedIn: .memory))
        let crm = ScriptedTransport()
        let pipeline = try Pipeline {
            Route("free") {
                identity
                MemoryStore()
                ScriptedTransport()
            }
            Route("crm") {
                consent
                MemoryStore()
                crm
            }
        }
        try identity.login("customer-42")
        try consent.grant()
        pipeline.track("Event")
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        #expect(try crm.accepted().map(\.name) == ["Event"])
    }
}
