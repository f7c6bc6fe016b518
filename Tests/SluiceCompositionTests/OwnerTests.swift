import Sluice
import SluiceFilters
import SluiceHTTP
import SluiceIdentity
import SluiceLifecycle
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite("Files and stages with two owners")
struct OwnerTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

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
            Route("a") {
                identity
                Sessions()
                LifecycleEvents(appVersion: "1.0")
                maker
                MemoryStore()
                transport
            }
            Route("b") {
                MemoryStore()
                NullTransport()
            }
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

    @Test("when the stage above lets events pass, a route has its plugins' events")
    func openStageLetsRoutesPass() async throws {
        let settings = CollectionSettings(persistedIn: .memory)
        let maker = Maker()
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            settings
            Route("a") {
                maker
                MemoryStore()
                transport
            }
        }
        try settings.setEnabled(false)
        maker.context.track("Off")
        try settings.setEnabled(true)
        maker.context.track("On")
        pipeline.track("Event")
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(try transport.accepted().map(\.name) == ["On", "Inserted", "Event", "End"])
    }
}
