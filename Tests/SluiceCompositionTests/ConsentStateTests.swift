import Sluice
import SluiceAutoProperties
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

@Suite("Without consent, the state of plugins isn't stored")
struct ConsentStateTests {
    private let directory = TemporaryDirectory()
    /// For the answer only.
    private let answers = TemporaryDirectory()

    private func consent(_ pending: Consent.WhilePending = .drop) -> Consent {
        Consent(persistedIn: .file(answers.path), whilePending: pending)
    }

    private static let stored = [
        "event-names.json", "identity.json", "identity.json.lock", "lifecycle.json", "links.json", "sessions.json",
        "super-properties.json",
    ]

    /// Uses all plugins that have a state, in the way of an app, and ends.
    private func launch(_ consent: Consent, isConsentLast: Bool, _ body: () throws -> Void) async throws {
        let place = Persistence.file(directory.path)
        let identity = Identity(persistedIn: place)
        let auto = AutoProperties(persistedIn: place)
        let links = Links(persistedIn: place)
        let test = try TestPipeline {
            if !isConsentLast { consent }
            identity
            Sessions(persistedIn: place)
            LifecycleEvents(persistedIn: place)
            auto
            links
            Limits(.appCenter, persistedIn: place)
            if isConsentLast { consent }
        }
        for signal in [Signal.launched(.foreground), .didBecomeActive] { test.pipeline.signal(signal) }
        try identity.login("customer-42")
        auto.register(["plan": "pro"])
        links.opened("https://shop.example/?utm_source=newsletter")
        try body()
        test.pipeline.track("Event")
        test.pipeline.signal(.didEnterBackground)
        _ = await test.events()
    }

    @Test("a pipeline that is released waits for its Consent's answer, which is written without consent")
    func releaseWaitsForAnswer() throws {
        let place = MemoryPlace()
        let consent = Consent(persistedIn: place.persistence)
        var pipeline: Pipeline? = try RecordingStore().pipeline(consent, Identity(persistedIn: .memory))
        // Another thread writes that the receiver misses nothing any more.
        place.beforeWriting { for _ in 0..<50 { SystemFileSystem.pause() } }
        try withExtendedLifetime(pipeline) { try consent.grant() }
        pipeline = nil
        #expect(place.items["consent"].map { String(decoding: $0, as: UTF8.self) }?.contains("owes_join") == false)
    }

    @Test(
        "pending: nothing is on disk; granted: all of it; denied: nothing any more",
        arguments: [false, true], [Consent.WhilePending.drop, .hold])
    func stateFollowsTheAnswer(isConsentLast: Bool, pending: Consent.WhilePending) async throws {
        try await launch(consent(pending), isConsentLast: isConsentLast) {}
        #expect(directory.names == [] && answers.names == [])
        let granting = consent(pending)
        try await launch(granting, isConsentLast: isConsentLast) {
            #expect(directory.names == [])
            try granting.grant()
            #expect(directory.names.contains("identity.json") && directory.names.contains("links.json"))
        }
        #expect(directory.names == Self.stored)
        let denying = consent(pending)
        try await launch(denying, isConsentLast: isConsentLast) {
            try denying.deny()
            #expect(directory.names == [])
        }
        #expect(directory.names == [] && answers.names == ["consent.json"])
        try await launch(consent(pending), isConsentLast: isConsentLast) {}
        #expect(directory.names == [])
    }

    @Test("after a denial, a restart reads and writes no state")
    func deniedRestartTouchesNothing() async throws {
        let denying = consent()
        let before = try TestPipeline { denying }
        try denying.deny()
        _ = await before.events()
        let items = Locked<[String]>([])
        let place = Persistence(
            named: "a place",
            read: { item in
                items.withLock { $0.append(item) }
                return nil
            },
            write: { item, _ in items.withLock { $0.append(item) } })
        let identity = Identity(persistedIn: place)
        let links = Links(persistedIn: place)
        let test = try TestPipeline {
            consent()
            identity
            links
            AutoProperties(persistedIn: place)
            Sessions(persistedIn: place)
            LifecycleEvents(persistedIn: place)
        }
        for signal in [Signal.launched(.foreground), .didBecomeActive] { test.pipeline.signal(signal) }
        try identity.login("a")
        links.opened("https://shop.example/?utm_source=newsletter")
        test.pipeline.signal(.didEnterBackground)
        #expect(await test.events().isEmpty)
        #expect(items.withLock { $0 } == [])
        #expect(identity.loginID == "a" && links.campaigns["$first_utm_source"] == "newsletter")
    }

    @Test("a denial without a pipeline removes the state when the next one is built, also in a later launch")
    func earlyDenialRemovesStateLater() async throws {
        let granting = consent()
        try granting.grant()
        try await launch(granting, isConsentLast: false) {}
        #expect(directory.names == Self.stored)
        try consent().deny()
        #expect(directory.names == Self.stored)
        let (place, denied) = (Persistence.file(directory.path), consent())
        let test = try TestPipeline {
            denied
            Identity(persistedIn: place)
            Sessions(persistedIn: place)
            LifecycleEvents(persistedIn: place)
            AutoProperties(persistedIn: place)
            Links(persistedIn: place)
            Limits(.appCenter, persistedIn: place)
        }
        #expect(directory.names == [])
        _ = await test.events()
        let text = try String(decoding: answers.read("consent.json"), as: UTF8.self)
        #expect(text.contains("denied") && !text.contains("owes_removal"))
    }

    @Test("with .keep, state is stored until a denial")
    func keepStoresState() async throws {
        let optOut = consent(.keep)
        try await launch(optOut, isConsentLast: false) { #expect(directory.names.contains("identity.json")) }
        #expect(directory.names == Self.stored)
        let denying = consent(.keep)
        try await launch(denying, isConsentLast: false) { try denying.deny() }
        #expect(directory.names == [])
    }

    @Test("a damaged answer isn't consent, and a grant continues with the identity of before")
    func grantAdoptsStoredIdentity() async throws {
        let place = Persistence.file(directory.path)
        let before = Identity(persistedIn: place)
        let id = try #require(before.anonymousID)
        try answers.write(Array("x".utf8), to: "consent.json")
        let (identity, lost) = (Identity(persistedIn: place), consent(.keep))
        let test = try TestPipeline.with(lost, identity)
        #expect(identity.anonymousID != id)
        try lost.grant()
        #expect(identity.anonymousID == id)
        test.pipeline.track("Event")
        #expect(try await test.event().anonymousID == id)
    }

    @Test("a login while the answer is pending is kept by the grant, with the ids of the held events")
    func grantKeepsEarlierLogin() async throws {
        let (identity, pending) = (Identity(persistedIn: .file(directory.path)), consent(.hold))
        let test = try TestPipeline.with(identity, pending)
        test.pipeline.track("Before", priority: .critical)
        try identity.login("a")
        let id = identity.anonymousID
        try pending.grant()
        let events = await test.events()
        #expect(events.map(\.name) == ["Before", "$SignUp"] && events.allSatisfy { $0.anonymousID == id })
        #expect(events.first?.priority == .critical)
        let next = Identity(persistedIn: .file(directory.path))
        #expect(next.anonymousID == id && next.loginID == "a")
    }

    @Test("state that was stored before the pipeline was built is removed without consent, and kept in memory")
    func earlyStateIsRemoved() async throws {
        let place = Persistence.file(directory.path)
        let (identity, auto, pending) = (Identity(persistedIn: place), AutoProperties(persistedIn: place), consent())
        try identity.login("a")
        auto.register(["plan": "pro"])
        #expect(directory.names.contains("super-properties.json"))
        let test = try TestPipeline.with(pending, identity, auto)
        #expect(directory.names == [])
        #expect(identity.loginID == "a")
        try pending.grant()
        #expect(directory.names == ["identity.json", "identity.json.lock", "super-properties.json"])
        _ = await test.events()
        #expect(Identity(persistedIn: place).loginID == "a")
        #expect(AutoProperties(persistedIn: place).registered == ["plan": "pro"])
    }

    @Test("after a denial has returned, no thread stores a state")
    func denialStopsWritersOnAllThreads() async throws {
        let place = Persistence.file(directory.path)
        let (identity, auto, answer) = (Identity(persistedIn: place), AutoProperties(persistedIn: place), consent())
        // The file of the lock holds no data. A verb that has begun before the denial can create it.
        var names: [String] { directory.names.filter { $0 != "identity.json.lock" } }
        try answer.grant()
        let test = try TestPipeline.with(answer, identity, auto)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<3 {
                group.addTask {
                    for number in 0..<50 {
                        auto.register(["number": .int(number)])
                        do { try identity.login("user \(task) \(number)") } catch { Issue.record(error) }
                    }
                }
            }
            group.addTask {
                do {
                    for _ in 0..<10 {
                        try answer.deny()
                        #expect(names == [])
                        try answer.grant()
                    }
                    try answer.deny()
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(names == [])
        _ = await test.pipeline.shutdown(timeout: .seconds(600))
        #expect(names == [])
    }

    @Test("a denial that can't remove a state throws, counts nevertheless, and can be repeated")
    func failedRemovalThrows() throws {
        let place = MemoryPlace()
        let (answer, links) = (consent(), Links(persistedIn: place.persistence))
        try answer.grant()
        let test = try TestPipeline.with(answer, links)
        links.opened("https://shop.example/?utm_source=newsletter")
        place.fail(at: .remove)
        #expect(throws: SluiceError.self) { try answer.deny() }
        #expect(answer.status == .denied && consent().status == .denied)
        place.fail()
        try answer.deny()
        #expect(place.items.isEmpty)
        test.pipeline.track("Event")
        #expect(test.pipeline.ledger.dropped[.consentDenied] == 1)
    }

    @Test("the setting of CollectionSettings is stored without consent")
    func collectionSettingIsAlwaysStored() async throws {
        let settings = CollectionSettings(persistedIn: .file(directory.path))
        let test = try TestPipeline.with(consent(), settings)
        try settings.setEnabled(false)
        _ = await test.events()
        #expect(!CollectionSettings(persistedIn: .file(directory.path)).isEnabled)
    }

    // MARK: Routes

    @Test("a consent in one route concerns the plugins of that route only, above and below it")
    func consentInRouteConcernsRoute() async throws {
        let other = TemporaryDirectory()
        let shared = TemporaryDirectory()
        let below = Identity(persistedIn: .file(directory.path))
        let above = AutoProperties(persistedIn: .file(directory.path))
        let (links, identity) = (Links(persistedIn: .file(shared.path)), Identity(persistedIn: .file(other.path)))
        let answer = consent()
        let pipeline = try Pipeline {
            links
            RecordingStore().route("crm", above, answer, below)
            RecordingStore().route("statistics", identity)
        }
        links.opened("https://shop.example/?utm_source=newsletter")
        above.register(["plan": "pro"])
        for plugin in [identity, below] { try plugin.login("a") }
        #expect(directory.names == [])
        #expect(shared.names == ["links.json"] && other.names == ["identity.json", "identity.json.lock"])
        try answer.grant()
        #expect(directory.names == ["identity.json", "identity.json.lock", "super-properties.json"])
        try answer.deny()
        #expect(directory.names == [])
        #expect(shared.names == ["links.json"] && other.names == ["identity.json", "identity.json.lock"])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }
}
