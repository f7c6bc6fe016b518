import Sluice
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import TestSupport

/// A plugin that the tests of compositions place.
enum Line: String, CaseIterable, Sendable {
    case lifecycle, tagger, sessions, screens, timers, identity, consent

    static func permutations(_ lines: [Line] = Line.allCases) -> [[Line]] {
        guard lines.count > 1 else { return [lines] }
        return lines.flatMap { first in permutations(lines.filter { $0 != first }).map { [first] + $0 } }
    }
}

extension MemoryPlace {
    /// The state of plugins. The answer of the user is always kept.
    var states: [String] { items.keys.filter { $0 != "consent" }.sorted() }

    /// The disk that the next launch finds, if this launch ends now.
    func copy() -> MemoryPlace { MemoryPlace(items) }
}

/// The pipeline and the plugins of one launch, in one route or two.
struct AppLaunch {
    let time: VirtualTime
    let sessions: Sessions
    let screens: Screens
    let timers: DurationTimer
    let identity: Identity
    let consent: Consent
    /// The events of each route.
    let stores: [RecordingStore]
    private let lifecycle: LifecycleEvents
    private let tagger: PassiveLaunchTagger
    private let environment: PipelineEnvironment

    init(
        _ disk: MemoryPlace, at time: VirtualTime, routes: Int, launch: Signal.Launch = .foreground,
        whilePending: Consent.WhilePending = .drop, seed: UInt64 = 1
    ) {
        self.time = time
        tagger = PassiveLaunchTagger(launch: launch)
        let place = disk.persistence
        environment = PipelineEnvironment.virtual(time, seed: seed)
        (lifecycle, sessions, screens, timers, identity, consent) = PluginContext.$environment.withValue(environment) {
            (
                LifecycleEvents(persistedIn: place, appVersion: "1.0"), Sessions(persistedIn: place), Screens(),
                DurationTimer(), Identity(persistedIn: place), Consent(persistedIn: place, whilePending: whilePending)
            )
        }
        stores = (0..<routes).map { _ in RecordingStore() }
    }

    private func processor(_ line: Line) -> any Processor {
        switch line {
        case .lifecycle: lifecycle
        case .tagger: tagger
        case .sessions: sessions
        case .screens: screens
        case .timers: timers
        case .identity: identity
        case .consent: consent
        }
    }

    /// Builds a pipeline that sends nothing.
    ///
    /// - Parameters:
    ///   - shared: The lines above the routes.
    ///   - own: The lines of the last route.
    func build(_ shared: [Line], inLastRoute own: [Line] = []) throws -> Pipeline {
        let processors = shared.map(processor)
        guard stores.count > 1 else {
            return try Pipeline(isDeliveryPaused: true, environment: environment) {
                processors
                stores[0]
                NullTransport()
            }
        }
        return try Pipeline(isDeliveryPaused: true, environment: environment) {
            processors
            stores[0].route("first")
            Route("second") {
                own.map(processor)
                stores[1]
                NullTransport()
            }
        }
    }
}
