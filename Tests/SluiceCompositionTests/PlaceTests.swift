import Sluice
import SluiceAutoProperties
import SluiceFiles
import SluiceFilters
import SluiceIdentity
import SluiceJSONL
import SluiceLibC
import SluiceLifecycle
import TestSupport
import Testing

@Suite("Places of state")
struct PlaceTests {
    #if os(macOS) || os(Linux)
        @Test("a relative path leads to the same place when the process changes its working directory, for all plugins")
        func placeStays() async {
            await #expect(processExitsWith: .success) {
                let (first, second) = (TemporaryDirectory(), TemporaryDirectory())
                for (index, spelling) in [
                    "state", "./state", "a/../state", "state/", "state//", "a/b/c", "./a/./b", ".", "./", "", ".state",
                    "Ä ö",
                    "-", "./~state", "a~/b",
                ].enumerated() where !spelling.isEmpty {
                    let (here, there) = ("\(first.path)/\(index)", "\(second.path)/\(index)")
                    for path in [here, "\(here)/a", there, "\(there)/a"] { try #require(mkdir(path, 0o700) == 0) }
                    try #require(chdir(here) == 0)
                    let place = Persistence.file(spelling)
                    let identity = Identity(persistedIn: place)
                    let auto = AutoProperties(persistedIn: place)
                    let links = Links(persistedIn: place)
                    let settings = CollectionSettings(persistedIn: place)
                    let sessions = Sessions(persistedIn: place)
                    let encrypted = Consent(persistedIn: place.backedUp(by: .file("\(spelling)/backup")))
                    let store = JSONLStore(at: "\(spelling)/queue")
                    let lake = FileTransport(at: "\(spelling)/lake", gzip: false)
                    // Used first here, or in the other directory.
                    if index.isMultiple(of: 2) { try identity.login("customer-42") }
                    try #require(chdir(there) == 0)
                    let pipeline = try Pipeline.with(
                        encrypted, settings, identity, sessions, auto, links, in: store, to: lake)
                    try encrypted.grant()
                    try identity.login("customer-42")
                    auto.register(["plan": "pro"])
                    links.opened("https://shop.example/?utm_source=newsletter")
                    try settings.setEnabled(true)
                    pipeline.track("Event")
                    await pipeline.shutdown(timeout: .seconds(600))
                    let state = "\(here)/\(spelling)"
                    for name in [
                        "identity.json", "super-properties.json", "links.json", "consent.json", "collection.json",
                        "sessions.json", "backup/consent.json", "queue", "lake",
                    ] { try #require(access("\(state)/\(name)", F_OK) == 0, "\(state)/\(name)") }
                    // Nothing else is there than the directory that this test has made.
                    try #require(rmdir("\(there)/a") == 0 && rmdir(there) == 0, "\(spelling)")
                    try #require(Identity(persistedIn: .file(state)).loginID == "customer-42")
                }
            }
        }

        @Test("without a working directory, a relative path is an error, also if there is one later")
        func placeIsUnknown() async {
            await #expect(processExitsWith: .success) {
                let (gone, later) = (TemporaryDirectory(), TemporaryDirectory())
                try #require(chdir(gone.path) == 0 && rmdir(gone.path) == 0)
                let identity = Identity(persistedIn: .file("state"))
                try #require(chdir(later.path) == 0)
                let error = #expect(throws: SluiceError.self) { try identity.login("customer-42") }
                try #require(error?.message.contains("is relative, and the working directory can't be found") == true)
                try #require(later.names.isEmpty)
            }
        }
    #endif

    @Test(
        "a denial in a place without `remove` leaves nothing behind, and a later grant is a first one",
        arguments: [false, true])
    func emptyItemIsNothing(isEncrypted: Bool) async throws {
        let memory = MemoryPlace()
        let encryption = LineEncryption(encrypt: { $0.map { $0 ^ 0x55 } }, decrypt: { $0.map { $0 ^ 0x55 } })
        let plain = memory.persistenceWithoutRemoval
        let place = isEncrypted ? plain.encrypted(with: encryption) : plain
        func launch(_ answer: (Consent) throws -> Void) async throws -> (events: [Event], reports: [Diagnostic]) {
            let consent = Consent(persistedIn: .memory)
            let (identity, auto) = (Identity(persistedIn: place), AutoProperties(persistedIn: place))
            let test = try TestPipeline {
                consent
                identity
                auto
                Links(persistedIn: place)
                Sessions(persistedIn: place)
                LifecycleEvents(persistedIn: place, appVersion: "1.0")
                Limits(.appCenter, persistedIn: place)
            }
            try consent.grant()
            for signal in [Signal.launched(.foreground), .didBecomeActive] { test.pipeline.signal(signal) }
            try identity.login("customer-42")
            auto.register(["plan": "pro"])
            try answer(consent)
            let events = await test.events()
            return (events, test.diagnostics)
        }
        #expect(try await launch { try $0.deny() }.events.contains { $0.name == "$AppInstall" })
        #expect(memory.items.values.allSatisfy(\.isEmpty) && !memory.items.isEmpty)
        let next = try await launch { _ in }
        #expect(next.reports.isEmpty)
        #expect(next.events.contains { $0.name == "$AppInstall" } && next.events.contains { $0.name == "$SignUp" })
        let last = try await launch { _ in }
        #expect(last.reports.isEmpty && !last.events.contains { $0.name == "$AppInstall" || $0.name == "$SignUp" })
    }
}
