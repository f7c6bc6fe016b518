import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceLibC
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

@Suite("Files and stages with two owners")
struct OwnerTests {
    private let directory = TemporaryDirectory()

    /// A plugin of one's own that makes events in every way.
    private final class Maker: Processor {
        let context = PluginContext()

        func process(_ event: inout Event) -> Disposition {
            if event.name == "Event" { context.insert("Inserted", before: event) }
            return .keep
        }

        func emit(for signal: Signal) { context.track("Signal") }
        func finish() async { context.track("End") }
    }

    /// The stage that closes the pipeline.
    enum Closer: CaseIterable { case settings, denied, pending, settingsBelowGrant, denialBelowSettings }

    @Test(
        "a stage above the routes that lets nothing pass stops all events below it, also those of plugins",
        arguments: Closer.allCases)
    func closedStageStopsRoutes(closer: Closer) async throws {
        let settings = CollectionSettings(persistedIn: .memory)
        let consent = Consent(persistedIn: .memory)
        switch closer {
        case .settings: try settings.setEnabled(false)
        case .denied, .denialBelowSettings: try consent.deny()
        case .pending: break
        case .settingsBelowGrant:
            try consent.grant()
            try settings.setEnabled(false)
        }
        let transport = ScriptedTransport()
        let identity = Identity(persistedIn: .memory)
        let maker = Maker()
        let pipeline = try Pipeline {
            if closer == .settings || closer == .denialBelowSettings { settings }
            if closer != .settings { consent }
            if closer == .settingsBelowGrant { settings }
            Route("a", identity, Sessions(), LifecycleEvents(appVersion: "1.0"), maker, to: transport)
            RecordingStore().route("b")
        }
        for signal in [Signal.launched(.foreground), .didBecomeActive] { pipeline.signal(signal) }
        try identity.login("customer-42")
        identity.profile.set(["plan": "pro"])
        maker.context.track("Own")
        pipeline.track("Event")
        pipeline.signal(.didEnterBackground)
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(transport.batches.isEmpty && ledger.isBalanced)
        let reason: DropReason =
            switch closer {
            case .settings, .settingsBelowGrant: .collectionDisabled
            case .denied, .denialBelowSettings: .consentDenied
            case .pending: .consentPending
            }
        #expect(ledger.dropped == [reason: 1])
        #expect(ledger.routes.first?.dropped.keys.sorted { $0.rawValue < $1.rawValue } == [reason])
        #expect(ledger.routes.first.map { $0.inserted >= 6 } == true)
    }

    @Test(
        "a stage that closes later stops the events that a stage below has held, and those that plugins insert",
        arguments: [false, true], [0, 1, 5])
    func closedStageStopsHeldEvents(isInRoute: Bool, count: Int) async throws {
        let settings = CollectionSettings(persistedIn: .memory)
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let maker = Maker()
        let transport = ScriptedTransport()
        let pipeline = try Pipeline.with([consent, maker], inRoute: isInRoute, above: [settings], to: transport)
        for _ in 0..<count { pipeline.track("Held") }
        try settings.setEnabled(false)
        try consent.grant()
        maker.context.insert("Inserted", before: Event(id: .make(at: .now), name: "Earlier", time: .now))
        let closed = pipeline.ledger
        #expect((isInRoute ? closed.routes[0].dropped : closed.dropped) == [.collectionDisabled: count + 1])
        #expect(consent.held == 0 && closed.isBalanced)
        try settings.setEnabled(true)
        pipeline.track("Event")
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(try transport.accepted().map(\.name) == ["Inserted", "Event", "End"])
    }

    @Test("a held sign-up that a closed stage has stopped is tracked at the next grant", arguments: [false, true])
    func stoppedSignUpIsTracked(isInRoute: Bool) async throws {
        let settings = CollectionSettings(persistedIn: .memory)
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let identity = Identity(persistedIn: .memory)
        let transport = ScriptedTransport()
        let pipeline = try Pipeline.with([consent, identity], inRoute: isInRoute, above: [settings], to: transport)
        try identity.login("u-1")
        try settings.setEnabled(false)
        try consent.grant()
        #expect(pipeline.ledger.isBalanced)
        try settings.setEnabled(true)
        try consent.grant()
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(try transport.accepted().map(\.name) == ["$SignUp"])
    }

    /// Two identities in one file. The second one's path is another spelling.
    private func shared(_ shared: Consent?, _ first: Consent?, _ second: Consent?, _ path: String) throws -> Pipeline {
        try Pipeline {
            shared
            Route("a", first, Identity(persistedIn: .file(directory.path)))
            Route("b", second, Identity(persistedIn: .file(path)))
        }
    }

    @Test("two identities share a file only if one Consent decides about both, or none")
    func sharedIdentityHasOneConsent() async throws {
        func consent() -> Consent { Consent(persistedIn: .memory) }
        for consents in [(consent(), nil), (nil, consent()), (consent(), consent())] as [(Consent?, Consent?)] {
            let error = #expect(throws: SluiceError.self) { try shared(nil, consents.0, consents.1, directory.path) }
            #expect(error?.code == .invalidPipeline && error?.message.contains("identity.json") == true)
            // In a directory of its own, each has its own consent.
            await (try shared(nil, consents.0, consents.1, "\(directory.path)/b")).shutdown(timeout: .seconds(600))
        }
        await (try shared(nil, nil, nil, directory.path)).shutdown(timeout: .seconds(600))
        await (try shared(consent(), nil, nil, directory.path)).shutdown(timeout: .seconds(600))
    }

    @Test(
        "one directory is recognized in all spellings of its path",
        arguments: [
            "", "/", "//", "/.", "/./", "/../", "/a/..", "//.//.", "/link", "/link/", "/link/link", "/./link/a/../.",
            "/missing/..", "/missing/.././", "/link/missing/b/../..", "/missing/../a/..",
            "/a/missing/../../missing/../link",
        ])
    func directoryIsRecognized(spelling: String) throws {
        #expect(mkdir("\(directory.path)/a", 0o700) == 0)
        symlink(directory.path, "\(directory.path)/link")
        let name = directory.path.split(separator: "/").last.map(String.init) ?? ""
        let path = directory.path + (spelling == "/../" ? "/../\(name)" : spelling)
        let consent = Consent(persistedIn: .memory)
        let error = #expect(throws: SluiceError.self) { try shared(nil, consent, nil, path) }
        #expect(error?.code == .invalidPipeline)
        #expect(throws: SluiceError.self) {
            try Pipeline {
                RecordingStore().route("a", Sessions(persistedIn: .file("\(directory.path)/new")))
                RecordingStore().route("b", Sessions(persistedIn: .file("\(path)/.//new/")))
            }
        }
    }
}
