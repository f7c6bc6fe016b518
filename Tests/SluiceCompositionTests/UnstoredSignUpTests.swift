import Sluice
import SluiceFilters
import SluiceIdentity
import TestSupport
import Testing

@Suite("Sign-ups that a filter drops or holds")
struct UnstoredSignUpTests {
    private let directory = TemporaryDirectory()

    private func launch() -> Identity {
        Identity(persistedIn: .file(directory.path))
    }

    @Test("a sign-up while collection is disabled is tracked once by a later launch or login")
    func droppedSignUpIsTrackedByLaterLaunch() async throws {
        let first = launch()
        let switches = CollectionSettings(persistedIn: .memory)
        try switches.setEnabled(false)
        let off = try TestPipeline.with(switches, first)
        try first.login("a")
        #expect(await off.events().isEmpty)
        let second = launch()
        let test = try TestPipeline.with(switches, second)
        try switches.setEnabled(true)
        try second.login("a")
        #expect(try await test.event().name == "$SignUp")
        #expect(try await TestPipeline { launch() }.events().isEmpty)
    }

    @Test("a held sign-up that a denial has dropped is forgotten with the identity")
    func deniedSignUpIsForgotten() async throws {
        let first = launch()
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let test = try TestPipeline.with(first, consent)
        try first.login("a")
        try consent.deny()
        #expect(await test.events().isEmpty)
        #expect(try await TestPipeline { launch() }.events().isEmpty)
    }

    @Test("a sign-up that a filter below drops is tried once per launch")
    func filteredSignUpIsTriedOncePerLaunch() async throws {
        let identity = launch()
        let test = try TestPipeline.with(identity, EventNames(denied: ["$SignUp"]))
        try identity.login("a")
        for _ in 1...3 { test.pipeline.signal(.didBecomeActive) }
        #expect(test.pipeline.ledger.dropped == [.filtered: 1])
        _ = await test.events()
        #expect(try await TestPipeline { launch() }.event().name == "$SignUp")
    }
}
