import Sluice
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// Events that the plugins of a route make while a `Consent` above the routes holds events.
@Suite struct HeldInRoutesTests {
    /// A use of the plugins of a route, before the answer.
    enum Use: CaseIterable {
        case app, early, own

        var names: [String] {
            switch self {
            case .app:
                [
                    "$SessionStart", "$AppStart", "$SignUp", "$ProfileSet", "$GroupIdentify", "Timer", "Event",
                    "$AppEnd",
                ]
            case .early: ["$SessionStart", "Timer", "$SignUp", "Event"]
            case .own: ["Before", "Inserted", "Event", "Outside", "Own"]
            }
        }
    }

    /// A route with the plugins of a use, and a `Consent` above them: in the route, or above the routes.
    private struct Rig {
        let consent = Consent(persistedIn: .memory, whilePending: .hold)
        let identity = Identity(persistedIn: .memory)
        let timers = DurationTimer()
        let maker = Holder("Own", insertingBefore: "Event")
        let store = RecordingStore()
        let pipeline: Pipeline

        init(_ use: Use, isInRoute: Bool) throws {
            let (consent, identity, timers, maker, store) = (consent, identity, timers, maker, store)
            if use == .early {
                timers.start("Timer")
                timers.end("Timer")
                try identity.login("customer-42")
            }
            let plugins: [any Processor] =
                use == .own ? [maker] : [identity, Sessions(), LifecycleEvents(appVersion: "1.0"), timers]
            pipeline = try Pipeline.with([consent], inRoute: isInRoute, own: plugins, in: store)
            switch use {
            case .app:
                for signal in [Signal.launched(.foreground), .didBecomeActive] { pipeline.signal(signal) }
                try identity.login("customer-42")
                identity.profile.set(["plan": "pro"])
                try identity.join(group: "acme", ofType: "company")
                timers.start("Timer")
                timers.end("Timer")
                pipeline.track("Event")
                pipeline.signal(.didEnterBackground)
            case .early: pipeline.track("Event")
            case .own:
                maker.context.track("Before")
                pipeline.track("Event")
                maker.context.track("Own")
                maker.context.insert("Outside", ["a": 1], before: .named("Cause"))
            }
        }
    }

    @Test(
        "a grant lets the events of a route's plugins continue there, in the order in which they were made",
        arguments: Use.allCases, [false, true])
    func grantLetsEventsContinue(use: Use, isInRoute: Bool) async throws {
        let rig = try Rig(use, isInRoute: isInRoute)
        let before = rig.pipeline.ledger
        #expect(rig.consent.held > 0 && rig.consent.held == before.held + before.routes[0].held)
        #expect(rig.store.events.isEmpty && before.isBalanced)
        try rig.consent.grant()
        rig.maker.release()
        #expect(rig.store.events.map(\.name) == use.names)
        #expect(rig.consent.held == 0)
        // The identity repeats its event when the pipeline is built, or when the app leaves the foreground.
        let repeated = use == .own ? 0 : 1
        let ledger = rig.pipeline.ledger
        #expect(ledger.isBalanced && ledger.dropped.isEmpty)
        #expect(ledger.routes[0].dropped == (repeated > 0 ? [.consentPending: repeated] : [:]))
        await rig.pipeline.shutdown(timeout: .seconds(600))
    }

    @Test(
        "a denial drops the events of a route's plugins, and counts them there", arguments: Use.allCases, [false, true])
    func denialDropsEvents(use: Use, isInRoute: Bool) async throws {
        let rig = try Rig(use, isInRoute: isInRoute)
        let held = rig.consent.held
        try rig.consent.deny()
        let ledger = rig.pipeline.ledger
        #expect(ledger.dropped[.consentDenied, default: 0] == (isInRoute ? 0 : 1))
        #expect(
            (ledger.dropped[.consentDenied] ?? 0) + (ledger.routes[0].dropped[.consentDenied] ?? 0) == held
                && ledger.routes[0].held == 0 && ledger.isBalanced)
        await rig.pipeline.shutdown(timeout: .seconds(600))
        #expect(rig.store.events.isEmpty)
    }

    /// The parts that two pipelines share: a consent, the plugins of a route, or the first pipeline, which isn't released before
    /// the second one is built.
    enum Shared: CaseIterable {
        case consent, plugins, both, consentAndPipeline, pluginsAndPipeline, all

        var hasConsent: Bool { self != .plugins && self != .pluginsAndPipeline }
        var hasPlugins: Bool { self != .consent && self != .consentAndPipeline }
        var hasPipeline: Bool { self == .consentAndPipeline || self == .pluginsAndPipeline || self == .all }
    }

    @Test(
        "events of a route's plugins end with their pipeline, and a ledger counts them", arguments: Shared.allCases,
        [(1, false, true), (3, true, false), (7, false, false), (0, true, true)])
    func eventsEndWithPipeline(shared: Shared, row: (events: Int, isInRoute: Bool, isDenied: Bool)) async throws {
        func build(_ consent: Consent, _ maker: Holder) throws -> Pipeline {
            try Pipeline.with([consent], inRoute: row.isInRoute, own: [maker])
        }
        var (consent, maker) = (Consent(persistedIn: .memory, whilePending: .hold), Holder())
        var first: Pipeline? = try build(consent, maker)
        // Each is inserted below the consent.
        for number in 0..<row.events { maker.context.insert("\(number)", before: .named("Cause")) }
        var ends = await first?.shutdown(timeout: .seconds(600))
        #expect(ends?.routes[0].held == row.events)
        if !shared.hasPipeline { first = nil }
        if !shared.hasConsent { consent = Consent(persistedIn: .memory, whilePending: .hold) }
        if !shared.hasPlugins { maker = Holder() }
        let next = try build(consent, maker)
        #expect(consent.held == 0 && next.ledger.held == 0 && next.ledger.routes[0].held == 0)
        ends = first?.ledger
        first = nil
        let ledgers = [ends, next.ledger].compactMap(\.self)
        let lost = ledgers.flatMap { [$0.dropped] + $0.routes.map(\.dropped) }.compactMap { $0[.shutDown] }
        #expect(lost.reduce(0, +) == row.events)
        if row.isDenied { try consent.deny() } else { try consent.grant() }
        #expect(await next.eraseEverything().isComplete && next.ledger.isBalanced)
        await next.shutdown(timeout: .seconds(600))
    }

    @Test("a held sign-up of a route isn't repeated by the next launch", arguments: [false, true])
    func heldSignUpIsNotRepeated(isInRoute: Bool) async throws {
        let directory = TemporaryDirectory()
        var names: [String] = []
        for launch in 0..<3 {
            let consent = Consent(persistedIn: .file(directory.path), whilePending: .hold)
            let identity = Identity(persistedIn: .file(directory.path))
            let store = RecordingStore()
            let pipeline = try Pipeline.with([consent], inRoute: isInRoute, own: [identity], in: store)
            if launch == 0 {
                try identity.login("customer-42")
                try consent.grant()
            }
            await pipeline.shutdown(timeout: .seconds(600))
            names += store.events.map(\.name)
        }
        #expect(names == ["$SignUp"])
    }
}
