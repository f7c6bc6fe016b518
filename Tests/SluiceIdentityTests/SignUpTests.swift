import SluiceIdentity
import SluiceMemory
import SluiceTesting
import TestSupport
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
    private let directory = TemporaryDirectory()

    private func launch() -> Identity { Identity(persistedIn: .file(directory.path)) }

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
        let pipeline = try Pipeline(onDiagnostic: { diagnostic in said.withLock { $0.append(diagnostic) } }) {
            identity
            // Takes the disk away as the event passes.
            Transform { [directory] _ in do { try directory.block() } catch { Issue.record(error) } }
            MemoryStore()
            NullTransport()
        }
        #expect(pipeline.ledger.tracked == 1)
        #expect(said.withLock { $0.map(\.kind) } == [.plugin])
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
        let joins = await test.events().filter { $0.properties["$switches_user"] == nil }
        #expect(joins.map(\.name) == ["$SignUp"])
    }

    @Test(
        "a sign-up before a reset or an erasure is not tracked",
        arguments: [{ try $0.reset() }, { _ = try $0.erase() }] as [@Sendable (Identity) throws -> Void])
    func resetForgetsSignUp(reset: @Sendable (Identity) throws -> Void) async throws {
        let identity = launch()
        try identity.login("a")
        try reset(identity)
        let test = try TestPipeline { identity }
        test.pipeline.signal(.didBecomeActive)
        try identity.login("b")
        #expect(await test.events().map { [$0.name, $0.loginID] } == [["$SignUp", "b"]])
    }
}
