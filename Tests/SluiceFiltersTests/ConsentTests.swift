import SluiceFilters
import TestSupport
import Testing

@Suite("Consent: no event passes without it")
struct ConsentTests {
    private let directory = TemporaryDirectory()

    private func launch(whilePending pending: Consent.WhilePending = .drop) -> Consent {
        Consent(persistedIn: .file(directory.path), whilePending: pending)
    }

    @Test("events pass after a grant, and dropped ones are counted by reason")
    func eventsPassAfterGrant() async throws {
        let consent = Consent(persistedIn: .memory)
        let test = try TestPipeline { consent }
        #expect(consent.status == .pending)
        test.pipeline.track("Pending")
        try consent.grant()
        #expect(consent.status == .granted)
        test.pipeline.track("Granted")
        try consent.deny()
        #expect(consent.status == .denied)
        for _ in 1...2 { test.pipeline.track("Denied") }
        try consent.grant()
        test.pipeline.track("Granted again")
        #expect(await test.events().map(\.name) == ["Granted", "Granted again"])
        #expect(test.pipeline.ledger.dropped == [.consentPending: 1, .consentDenied: 2])
    }

    @Test("with .keep, events pass until the user has denied")
    func keepPassesUntilDenial() async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .keep)
        let test = try TestPipeline { consent }
        test.pipeline.track("Pending")
        try consent.deny()
        test.pipeline.track("Denied")
        #expect(await test.events().map(\.name) == ["Pending"])
    }

    @Test(
        "a damaged answer is kept aside and reported, and nothing passes until the user has answered again",
        arguments: [
            "", "{", #"{"consent":{"status":"granted"},"checksum":"0"}"#, #"{"consent":{"status":"granted"}}"#,
            "granted",
        ])
    func damagedAnswerLetsNothingPass(text: String) async throws {
        try directory.write(Array(text.utf8), to: "consent.json")
        for _ in 1...2 {
            let consent = launch(whilePending: .keep)
            let test = try TestPipeline { consent }
            #expect(consent.status == .pending)
            test.pipeline.track("Event")
            #expect(test.diagnostics.map(\.kind) == [.plugin])
            #expect(await test.events().isEmpty)
        }
        #expect(try directory.read("consent.json.corrupt") == Array(text.utf8))
        try launch().deny()
        #expect(launch().status == .denied)
    }

    @Test("a denial counts even if it can't be kept; a grant doesn't")
    func onlyDenialCountsWithoutDisk() throws {
        let consent = launch()
        try consent.grant()
        try directory.block()
        #expect(throws: SluiceError.self) { try consent.deny() }
        #expect(consent.status == .denied)
        #expect(throws: SluiceError.self) { try consent.grant() }
        #expect(consent.status == .denied)
    }

    @Test("after a denial has returned, nothing passes, on any thread")
    func denialIsImmediate() async throws {
        let consent = Consent(persistedIn: .memory)
        try consent.grant()
        let test = try TestPipeline { consent }
        await test.trackOnTasks(200) {
            for _ in 0..<50 {
                try consent.deny()
                test.pipeline.track("Denied")
                try consent.grant()
            }
        }
        #expect(await test.events().allSatisfy { $0.name == "Event" })
    }
}
