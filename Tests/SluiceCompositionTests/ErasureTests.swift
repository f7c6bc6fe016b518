import Sluice
import SluiceAutoProperties
import SluiceFilters
import SluiceIdentity
import SluiceJSONL
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@Suite("eraseEverything(): events, dead letters and the state of plugins")
struct ErasureTests {
    private let directory = TemporaryDirectory()
    private let queue = TemporaryDirectory()

    private var place: Persistence { .file(directory.path) }

    /// Rejects the first batch.
    private func rejecting() -> ScriptedTransport {
        ScriptedTransport([.answer(.all(.unsendable(reason: "no")))])
    }

    @Test("a pipeline that has erased everything is gone when it is released, with its places")
    func erasedPipelineIsReleased() async throws {
        let identity = Identity(persistedIn: place)
        func launch() async throws {
            let pipeline = try Pipeline.with(identity)
            await pipeline.eraseEverything()
        }
        for _ in 0..<200 { try await launch() }
    }

    @Test("waiting events, dead letters and states are removed and counted, and the answer of the user stays")
    func everythingIsRemovedAndCounted() async throws {
        let (identity, auto, links) = (
            Identity(persistedIn: place), AutoProperties(persistedIn: place), Links(persistedIn: place)
        )
        let consent = Consent(persistedIn: place)
        let pipeline = try Pipeline.with(
            consent, identity, auto, links, in: JSONLStore(at: queue.path), to: rejecting(),
            delivery: DeliveryPolicy(flushInterval: .seconds(3_600)))
        try consent.grant()
        for _ in 0..<2 { pipeline.track("Refused") }
        await pipeline.flush()
        pipeline.pauseDelivery()
        let id = identity.anonymousID
        try identity.login("customer-42")
        auto.register(["plan": "pro"])
        links.opened("https://shop.example/?utm_source=newsletter")
        let report = await pipeline.eraseEverything()
        // $SignUp and $DeepLinkOpened waited.
        #expect(report.events == 2 && report.deadLetters == 2 && report.states == 3 && report.isComplete)
        #expect(identity.loginID == nil && identity.anonymousID != id)
        #expect(auto.registered == [:] && links.campaigns == [:])
        // The grant is written in the background, into a temporary file first.
        await writesAreDone(of: pipeline)
        #expect(directory.names == ["consent.json", "identity.json", "identity.json.lock"])
        #expect(consent.status == .granted)
        #expect(try await pipeline.deadLetters().isEmpty)
        // Nothing of the user comes back with a later change.
        auto.register(["theme": "dark"])
        #expect(auto.registered == ["theme": "dark"] && auto.processed()?.properties["plan"] == nil)
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.isBalanced && ledger.routes.first?.waiting == 0)
        let text = try String(decoding: directory.read("identity.json"), as: UTF8.self)
        #expect(!text.contains("customer-42"))
        #expect(AutoProperties(persistedIn: place).registered == ["theme": "dark"])
    }

    /// Replays its dead letters just before they are listed, as another thread can.
    private struct ReplayingStore: Store {
        let base = MemoryStore()

        func append(_ line: EventLine) throws(SluiceError) { try base.append(line) }
        func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? { try base.nextBatch(size) }
        func settle(_ batch: Batch.ID) throws(SluiceError) { try base.settle(batch) }
        func reject(_ letters: [DeadLetter], in batch: Batch.ID) { base.reject(letters, in: batch) }
        var backlog: Backlog { base.backlog }

        func deadLetters() throws(SluiceError) -> [DeadLetter] {
            let ids = try base.deadLetters().map(\.id)
            _ = try base.replayDeadLetters(Set(ids))
            return try base.deadLetters()
        }
    }

    @Test("dead letters that are replayed during the call are removed too")
    func replayedLettersAreRemoved() async throws {
        let store = ReplayingStore()
        let pipeline = try Pipeline {
            store
            rejecting()
        }
        for _ in 0..<2 { pipeline.track("Refused") }
        await pipeline.flush()
        #expect(store.backlog.deadLetters == 2)
        #expect(await pipeline.eraseEverything().isComplete)
        #expect(store.backlog == Backlog(events: 0, bytes: 0))
    }

    @Test("events that a consent holds are removed and counted")
    func heldEventsAreRemoved() async throws {
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let test = try TestPipeline { consent }
        for _ in 0..<3 { test.pipeline.track("Event") }
        let report = await test.pipeline.eraseEverything()
        #expect(report.events == 3 && report.isComplete && consent.held == 0)
        try consent.grant()
        #expect(await test.events().isEmpty)
    }

    @Test("a state that can't be removed is reported, and the rest is removed")
    func failureIsReported() async throws {
        let broken = Persistence(
            named: "a broken place", read: { _ in nil }, write: { _, _ in },
            remove: { _ in throw SluiceError(.storageUnavailable, "no disk") })
        let (auto, links) = (AutoProperties(persistedIn: broken), Links(persistedIn: place))
        let test = try TestPipeline.with(auto, links)
        links.opened("https://shop.example/?utm_source=newsletter")
        let report = await test.pipeline.eraseEverything()
        #expect(!report.isComplete && report.events == 1)
        #expect(directory.names == [])
        #expect(test.diagnostics.map(\.kind) == [.plugin])
        #expect(await test.events().isEmpty)
    }

    @Test("without consent, the identity is a new one in memory only")
    func pendingIdentityIsReplaced() async throws {
        let (identity, consent) = (Identity(persistedIn: place), Consent(persistedIn: .memory))
        let test = try TestPipeline.with(consent, identity)
        try identity.login("a")
        let id = identity.anonymousID
        #expect(await test.pipeline.eraseEverything().isComplete)
        #expect(identity.loginID == nil && identity.anonymousID != id)
        #expect(directory.names == [])
        try consent.grant()
        #expect(await test.events().isEmpty)
    }

    @Test("a plugin's forget() is called once, after its state was erased")
    func forgetIsCalledOnce() async throws {
        final class Plugin: Processor {
            let calls = Locked(0)
            func process(_ event: inout Event) -> Disposition { .keep }
            func forget() { calls.withLock { $0 += 1 } }
        }
        let plugin = Plugin()
        let test = try TestPipeline { plugin }
        await test.pipeline.eraseEverything()
        #expect(plugin.calls.withLock { $0 } == 1)
        #expect(await test.events().isEmpty)
    }

    /// Uses the plugins of the state that is erased while they forget it: after the stored state is gone.
    private struct LateUse: Processor {
        let use: @Sendable () -> Void

        func process(_ event: inout Event) -> Disposition { .keep }
        func forget() { use() }
    }

    @Test(
        "a change in the middle of an erasure brings nothing back, and counts from then on",
        arguments: ["register", "registerOnce", "registerDynamic", "unregister", "unregisterAll", "process"])
    func lateChangeBringsNothingBack(change: String) async throws {
        let auto = AutoProperties(persistedIn: place)
        let test = try TestPipeline {
            LateUse {
                switch change {
                case "register": auto.register(["theme": "dark"])
                case "registerOnce": auto.registerOnce(["plan": "free"])
                case "registerDynamic": auto.registerDynamic("n") { 1 }
                case "unregister": auto.unregister("other")
                case "unregisterAll": auto.unregisterAll()
                default: _ = auto.processed()
                }
            }
            auto
        }
        auto.register(["plan": "pro", "email": "a@b.example"])
        #expect(await test.pipeline.eraseEverything().isComplete)
        let expected: Properties =
            switch change {
            case "register": ["theme": "dark"]
            case "registerOnce": ["plan": "free"]
            default: [:]
            }
        #expect(auto.registered == expected)
        let event = try #require(auto.processed())
        #expect(event.properties["email"] == nil && event.properties["plan"] == expected["plan"])
        #expect(event.properties["theme"] == expected["theme"])
        _ = await test.events()
        #expect(AutoProperties(persistedIn: place).registered == expected)
    }
}
