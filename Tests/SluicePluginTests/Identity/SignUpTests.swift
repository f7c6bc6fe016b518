import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceMemory
import SluiceTesting
import Testing

extension Identity {
    /// A user who logged in at some earlier time.
    static func loggedIn(_ id: String) throws -> Identity {
        let identity = Identity(persistedIn: .memory)
        let earlier = try TestPipeline { identity }
        try identity.login(id)
        _ = earlier
        return identity
    }
}

/// The event that joins the events of a user before and after the first login.
@Suite struct SignUpTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func launch() -> Identity {
        Identity(persistedIn: .file(directory.path))
    }

    @Test("the first login tracks $SignUp with the previous id")
    func firstLoginTracksSignUp() async throws {
        let identity = launch()
        let anonymousID = try #require(identity.anonymousID)
        let test = try TestPipeline { identity }
        try identity.login("a", ["method": "password"])
        let event = try await test.event()
        #expect(event.name == "$SignUp")
        #expect(event.properties == ["method": "password", "$original_id": .string(anonymousID)])
        #expect(event.distinctID == "a" && event.loginID == "a" && event.anonymousID == anonymousID)
    }

    @Test("later logins track nothing: of the same user, of another one, after a logout, in another launch")
    func laterLoginsTrackNothing()
        async throws
    {
        let identity = launch()
        let test = try TestPipeline { identity }
        try identity.login("a")
        try identity.login("a")
        try identity.logout()
        try identity.login("a")
        try identity.login("b")
        #expect(await test.events().map(\.name) == ["$SignUp"])
        let next = launch()
        let second = try TestPipeline { next }
        try next.login("c")
        #expect(await second.events().isEmpty)
    }

    @Test("after a new anonymous id a login is the first again")
    func loginAfterResetIsAFirstOne() async throws {
        let identity = Identity(persistedIn: .memory)
        let test = try TestPipeline { identity }
        try identity.login("a")
        try identity.reset()
        try identity.login("a")
        try identity.logout()
        try identity.setAnonymousID("device 7")
        try identity.login("b")
        let events = await test.events()
        #expect(events.map(\.loginID) == ["a", "a", "b"])
        #expect(events.last?.properties["$original_id"] == "device 7")
    }

    @Test("a new anonymous id under a login that stays is no sign-up")
    func newAnonymousIDIsNoSignUp() async throws {
        let identity = try Identity.loggedIn("a")
        let test = try TestPipeline { identity }
        try identity.resetAnonymousID()
        try identity.login("a")
        #expect(await test.events().isEmpty)
    }

    @Test("a login before there is a pipeline is tracked once there is one")
    func loginBeforePipelineIsTrackedLater() async throws {
        let identity = launch()
        try identity.login("a", ["method": "link"])
        let test = try TestPipeline { identity }
        let event = try await test.event()
        #expect(event.name == "$SignUp" && event.loginID == "a")
        #expect(event.properties["method"] == "link")
        #expect(try await TestPipeline { launch() }.events().isEmpty)
    }

    @Test("if the process ends between the login and its event, the next launch tracks the event")
    func crashedSignUpIsTrackedByNextLaunch() async throws {
        let first = launch()
        try first.login("a")
        try first.logout()
        let test = try TestPipeline { launch() }
        let event = try await test.event()
        #expect(event.name == "$SignUp" && event.distinctID == "a")
        #expect(event.properties["$original_id"] == .string(try #require(first.anonymousID)))
    }

    @Test("a sign-up that can't be recorded as done is reported, and repeated rather than lost")
    func unkeptSignUpIsReportedAndRepeated() async throws {
        let said = Locked<[Diagnostic]>([])
        let identity = launch()
        try identity.login("a")
        let directory = directory
        /// Takes the disk away as the event passes.
        struct Blocker: Processor {
            let directory: TemporaryDirectory
            func process(_ event: inout Event) -> Disposition {
                do { try directory.block() } catch { Issue.record(error) }
                return .keep
            }
        }
        let pipeline = try Pipeline(onDiagnostic: { diagnostic in said.withLock { $0.append(diagnostic) } }) {
            identity
            Blocker(directory: directory)
            MemoryStore()
            NowhereTransport()
        }
        #expect(pipeline.ledger.tracked == 1)
        #expect(said.withLock { $0.map(\.kind) } == [.plugin])
    }

    @Test("a login with the anonymous id tracks nothing")
    func sameIDIsNoSignUp() async throws {
        let identity = Identity(persistedIn: .memory)
        let test = try TestPipeline { identity }
        try identity.setAnonymousID("a")
        try identity.login("a")
        #expect(await test.events().isEmpty)
    }

    @Test("logins of many threads track one $SignUp for each anonymous id")
    func concurrentLoginsTrackOneSignUp() async throws {
        let identity = Identity(persistedIn: .memory)
        let test = try TestPipeline { identity }
        await withTaskGroup(of: Void.self) { group in
            for user in 0..<8 {
                group.addTask {
                    do {
                        for _ in 0..<50 { try identity.login("user \(user)") }
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        #expect(await test.events().map(\.name) == ["$SignUp"])
    }

    // MARK: Not stored

    @Test("a sign-up that was dropped without consent is tracked once when the app becomes active with it")
    func droppedSignUpIsTrackedAfterGrant() async throws {
        let identity = launch()
        let consent = Consent(persistedIn: .memory)
        let test = try TestPipeline {
            consent
            identity
        }
        try identity.login("a", ["method": "password"])
        test.pipeline.signal(.didBecomeActive)
        try consent.deny()
        test.pipeline.signal(.didEnterBackground)
        #expect(test.pipeline.ledger.dropped == [.consentPending: 2, .consentDenied: 1])
        try consent.grant()
        for _ in 1...2 { test.pipeline.signal(.didBecomeActive) }
        try identity.login("a")
        let event = try await test.event()
        #expect(event.name == "$SignUp" && event.loginID == "a" && event.properties["method"] == "password")
        #expect(try await TestPipeline { launch() }.events().isEmpty)
    }

    @Test("a sign-up while collection is disabled is tracked once by a later launch or login")
    func droppedSignUpIsTrackedByLaterLaunch() async throws {
        let first = launch()
        let switches = CollectionSettings(persistedIn: .memory)
        try switches.setEnabled(false)
        let off = try TestPipeline {
            switches
            first
        }
        try first.login("a")
        #expect(await off.events().isEmpty)
        let second = launch()
        let test = try TestPipeline {
            switches
            second
        }
        try switches.setEnabled(true)
        try second.login("a")
        #expect(try await test.event().name == "$SignUp")
        #expect(try await TestPipeline { launch() }.events().isEmpty)
    }

    @Test(
        "a held sign-up continues once in its launch, however often the app becomes active, and keeps its id in the next"
    )
    func heldSignUpContinuesOnce() async throws {
        let identity = launch()
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let test = try TestPipeline {
            identity
            consent
        }
        try identity.login("a")
        for _ in 1...3 { test.pipeline.signal(.didBecomeActive) }
        #expect(consent.held == 1)
        try consent.grant()
        for _ in 1...3 { test.pipeline.signal(.didEnterBackground) }
        let event = try await test.event()
        #expect(event.loginID == "a")
        // The identity doesn't know that it was released. A receiver recognizes the repetition by the id.
        let repeated = try await TestPipeline { launch() }.event()
        #expect(repeated.id == event.id && repeated.time == event.time)
        #expect(try await TestPipeline { launch() }.events().isEmpty)
    }

    @Test("a held sign-up that was dropped is tracked by the next launch")
    func droppedHeldSignUpIsTrackedByNextLaunch() async throws {
        let first = launch()
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let test = try TestPipeline {
            first
            consent
        }
        try first.login("a")
        try consent.deny()
        #expect(await test.events().isEmpty)
        let next = try TestPipeline { launch() }
        #expect(try await next.event().loginID == "a")
    }

    @Test("a sign-up that a filter below drops is tried once per launch")
    func filteredSignUpIsTriedOncePerLaunch() async throws {
        let identity = launch()
        let test = try TestPipeline {
            identity
            EventNames(denied: ["$SignUp"])
        }
        try identity.login("a")
        for _ in 1...3 { test.pipeline.signal(.didBecomeActive) }
        #expect(test.pipeline.ledger.dropped == [.filtered: 1])
        _ = await test.events()
        #expect(try await TestPipeline { launch() }.event().name == "$SignUp")
    }

    @Test("a sign-up that one of several pipelines stores is not repeated")
    func signUpIsStoredByOnePipeline() async throws {
        let identity = launch()
        let open = try TestPipeline { identity }
        let closed = try TestPipeline {
            EventNames(denied: ["*"])
            identity
        }
        try identity.login("a")
        open.pipeline.signal(.didBecomeActive)
        #expect(closed.pipeline.ledger.dropped == [.filtered: 1])
        #expect(try await open.event().name == "$SignUp")
    }

    @Test("a sign-up before a reset is not tracked")
    func resetForgetsSignUp() async throws {
        let identity = launch()
        try identity.login("a")
        try identity.reset()
        #expect(try await TestPipeline { identity }.events().isEmpty)
    }
}
