/// A lifecycle or network change that you report to a pipeline: `pipeline.signal(.didEnterBackground)`.
///
/// Adapters for UIKit, AppKit and processes make signals from notifications; you can also make them yourself. Report
/// the signals of one pipeline one after the other, for example from the main thread.
public enum Signal: Sendable, Hashable {
    /// The process has started.
    case launched(Launch)
    /// The app is about to be interrupted, perhaps only by a notification or the app switcher.
    case willResignActive
    /// The app is in the foreground and in use.
    case didBecomeActive
    /// The app is no longer visible, and may soon be suspended.
    case didEnterBackground
    /// The process is about to end.
    case willTerminate
    /// The network has changed.
    case connectivity(Connectivity)

    /// The way in which a process was started.
    public enum Launch: Sendable, Hashable {
        /// By the user.
        case foreground
        /// By the system, into the background: for a push message, a location, a fetch.
        case passive
    }

    /// The state of the network.
    public enum Connectivity: Sendable, Hashable {
        /// There is a network.
        case available
        /// There is a network that costs money or should be used little, such as a cellular one or a hotspot.
        case metered
        /// There is no network.
        case unavailable
    }
}

extension Signal {
    /// Whether the app leaves the foreground, or the network is lost.
    package var isLeaving: Bool {
        switch self {
        case .willResignActive, .didEnterBackground, .willTerminate, .connectivity(.unavailable): true
        case .launched, .didBecomeActive, .connectivity(.available), .connectivity(.metered): false
        }
    }
}
