import Sluice
import SluiceFilters
import Testing

@Suite("Consent: nothing passes without the user's")
struct ConsentTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func launch(whilePending pending: Consent.PendingPolicy = .drop) -> Consent {
        Consent(persistedIn: .file(directory.path), whilePending: pending)
    }

    @Test("events pass after a grant, and what is dropped is counted by its reason")
    func answers() async throws {
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

    @Test("a host may let events pass until the user has answered")
    func optOut() async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .pass)
        let test = try TestPipeline { consent }
        test.pipeline.track("Pending")
        try consent.deny()
        test.pipeline.track("Denied")
        #expect(await test.events().map(\.name) == ["Pending"])
    }

    @Test("the answer is remembered")
    func remembered() throws {
        try launch().grant()
        #expect(launch().status == .granted)
        try launch().deny()
        #expect(launch(whilePending: .pass).status == .denied)
        #expect(try directory.names == ["consent.json"])
    }

    @Test("asking does not write: a file is there when the user has answered")
    func noFileBeforeAnswer() throws {
        _ = try TestPipeline { launch() }
        #expect(try directory.names == [])
    }

    @Test(
        "a damaged file is no answer, and the user has to be asked again",
        arguments: [
            "", "{", #"{"consent":"grante"#, #"{"consent":"granded"}"#, #"{"consent":"denied"} "#, "granted",
        ])
    func damage(text: String) throws {
        try directory.write(Array(text.utf8), to: "consent.json")
        let consent = launch(whilePending: .pass)
        let error = #expect(throws: SluiceError.self) { try TestPipeline { consent } }
        #expect(error?.code == .corruptConsent)
        try consent.deny()
        _ = try TestPipeline { consent }
        #expect(launch().status == .denied)
    }

    @Test("a refusal counts even if it cannot be kept; a grant does not")
    func failedWrites() throws {
        let consent = launch()
        try consent.grant()
        try directory.block()
        #expect(throws: SluiceError.self) { try consent.deny() }
        #expect(consent.status == .denied)
        #expect(throws: SluiceError.self) { try consent.grant() }
        #expect(consent.status == .denied)
    }

    @Test("a place that cannot be used is an error when the pipeline is built", arguments: ["", "/dev/null/state"])
    func unusablePlace(path: String) {
        let error = #expect(throws: SluiceError.self) {
            try TestPipeline { Consent(persistedIn: .file(path)) }
        }
        #expect(error?.code == .storageUnavailable)
    }

    @Test("what stands below has not seen what was dropped")
    func order() async throws {
        struct Watcher: Processor {
            let seen = Locked(0)
            func process(_ event: inout Event) -> Disposition {
                seen.withLock { $0 += 1 }
                return .keep
            }
        }
        let watcher = Watcher()
        let test = try TestPipeline {
            Consent(persistedIn: .memory)
            watcher
        }
        test.pipeline.track("Event")
        #expect(watcher.seen.withLock { $0 } == 0)
        #expect(await test.events().isEmpty)
    }

    @Test("answers while others track: after a refusal has returned, nothing passes")
    func concurrency() async throws {
        let consent = Consent(persistedIn: .memory)
        try consent.grant()
        let test = try TestPipeline { consent }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<200 { test.pipeline.track("Event") }
                }
            }
            group.addTask {
                do {
                    for _ in 0..<50 {
                        try consent.deny()
                        test.pipeline.track("Denied")
                        try consent.grant()
                    }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(await test.events().allSatisfy { $0.name == "Event" })
    }
}
