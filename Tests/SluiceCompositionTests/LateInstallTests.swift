import Sluice
import SluiceFilters
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// The installation of an app whose user agrees later.
@Suite struct LateInstallTests {
    private let directory = TemporaryDirectory()

    private func lifecycle() -> LifecycleEvents {
        LifecycleEvents(persistedIn: .file(directory.path), appVersion: "2.4.1")
    }

    private func consent() -> Consent { Consent(persistedIn: .file(directory.path)) }

    /// A launch with the consent in the chain of the lifecycle events.
    private func launch(
        isConsentFirst: Bool, grantsBefore: Bool = false, grantsAfter: Bool = false
    ) async throws -> [String] {
        let (store, consent) = (RecordingStore(), consent())
        let pipeline =
            isConsentFirst ? try store.pipeline(consent, lifecycle()) : try store.pipeline(lifecycle(), consent)
        if grantsBefore { try consent.grant() }
        for signal in [Signal.launched(.foreground), .didBecomeActive] { pipeline.signal(signal) }
        if grantsAfter { try consent.grant() }
        for signal in [Signal.didEnterBackground, .didBecomeActive] { pipeline.signal(signal) }
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        return store.events.map(\.name)
    }

    @Test("a grant tracks the $AppInstall once, in the first launch or in a later one", arguments: [true, false])
    func grantTracksInstall(isConsentFirst: Bool) async throws {
        #expect(try await launch(isConsentFirst: isConsentFirst) == [])
        let names = try await launch(isConsentFirst: isConsentFirst, grantsAfter: true)
        #expect(names == ["$AppInstall", "$AppEnd", "$AppStart", "$AppEnd"])
        let later = try await launch(isConsentFirst: isConsentFirst)
        #expect(later == ["$AppStart", "$AppEnd", "$AppStart", "$AppEnd"])
    }

    @Test("after a grant before the first signal, that signal tracks it", arguments: [true, false])
    func earlyGrantTracksInstall(isConsentFirst: Bool) async throws {
        let names = try await launch(isConsentFirst: isConsentFirst, grantsBefore: true, grantsAfter: true)
        #expect(names == ["$AppInstall", "$AppStart", "$AppEnd", "$AppStart", "$AppEnd"])
    }

    @Test("a grant after a denial tracks the $AppInstall that was due in between, without another signal")
    func grantAfterDenialTracksInstall() async throws {
        let store = RecordingStore()
        let consent = Consent(persistedIn: .file(directory.path), whilePending: .keep)
        let pipeline = try store.pipeline(consent, lifecycle())
        try consent.deny()
        for signal in [Signal.launched(.foreground), .didBecomeActive] { pipeline.signal(signal) }
        #expect(store.events.isEmpty)
        try consent.grant()
        #expect(store.events.map(\.name) == ["$AppInstall"])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }

    @Test("a route whose consent was missing gets the $AppInstall of the other routes once, after a denial none")
    func routeGetsInstall() async throws {
        for isDenied in [false, true] {
            let (free, crm, consent) = (RecordingStore(), RecordingStore(), Consent(persistedIn: .memory))
            let pipeline = try Pipeline {
                LifecycleEvents(persistedIn: .file(directory.path + "/\(isDenied)"), appVersion: "2.4.1")
                free.route("free")
                crm.route("crm", consent)
            }
            for signal in [Signal.launched(.foreground), .didBecomeActive] { pipeline.signal(signal) }
            if isDenied { try consent.deny() }
            for _ in 0..<2 { try consent.grant() }
            #expect(free.events(named: "$AppInstall").count == 1)
            let ids = isDenied ? [] : free.events(named: "$AppInstall").map(\.id)
            #expect(crm.events.map(\.id) == ids)
            #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        }
    }
}
