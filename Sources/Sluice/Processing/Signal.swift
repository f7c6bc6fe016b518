/// What the host's platform reports to a pipeline: `pipeline.signal(.didEnterBackground)`.
///
/// Adapters for UIKit, AppKit and processes make them from notifications; a host may make them itself. Signals of
/// one pipeline are to be given one after the other, as a platform's main thread does.
public enum Signal: Sendable, Hashable {
    /// The process was started.
    case launched(Launch)
    /// The app is about to lose the user's attention, perhaps only to a notification or the app switcher.
    case willResignActive
    /// The app has the user's attention.
    case didBecomeActive
    /// The app cannot be seen any more, and may soon be suspended.
    case didEnterBackground
    /// The process is about to end.
    case willTerminate
    /// The network came or went.
    case connectivity(Connectivity)

    /// How a process was started.
    public enum Launch: Sendable, Hashable {
        /// By the user, to be seen.
        case foreground
        /// By the system, into the background: for a push message, a location, a fetch.
        case passive
    }

    public enum Connectivity: Sendable, Hashable {
        case available
        /// There is a network, but it costs or is to be spared: a cellular one, or somebody's hotspot.
        case metered
        case unavailable
    }
}

extension Signal {
    /// Whether the app or the network goes away, as opposed to coming.
    package var isLeaving: Bool {
        switch self {
        case .willResignActive, .didEnterBackground, .willTerminate, .connectivity(.unavailable): true
        case .launched, .didBecomeActive, .connectivity(.available), .connectivity(.metered): false
        }
    }
}
