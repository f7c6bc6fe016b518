/// A lifecycle or network change that you report to a pipeline: `pipeline.signal(.didEnterBackground)`.
///
/// Adapters for UIKit, AppKit and processes make signals from notifications; you can also make them yourself. Report
/// the signals of one pipeline one after the other, for example from the main thread:
///
/// ```swift
/// pipeline.signal(.didEnterBackground)
/// pipeline.signal(.connectivity(.unavailable))
/// ```
///
/// A repeated or late signal is ignored: any `launched` after another signal of the app's life, such as a passive launch
/// of an app that is active already; a second `didBecomeActive` without a `willResignActive` or `didEnterBackground` in
/// between, and the other way round; and all but `connectivity` after `willTerminate`.
///
/// A plugin compares signals, and ignores unknown ones. A minor version can add more:
///
/// ```swift
/// func update(for signal: Signal) {
///     if signal == .didEnterBackground { print("save the state") }
///     if signal.connectivity == .unavailable { print("stop asking the server") }
/// }
/// ```
public struct Signal: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case launched(Launch)
        case willResignActive, didBecomeActive, didEnterBackground, willTerminate
        case connectivity(Connectivity)
        case userWillChange
    }

    package let kind: Kind

    /// The process has started. Report it first, and once:
    ///
    /// ```swift
    /// pipeline.signal(.launched(.foreground))
    /// ```
    public static func launched(_ launch: Launch) -> Signal { Signal(kind: .launched(launch)) }

    /// The app is about to be interrupted, perhaps only by a notification or the app switcher.
    public static let willResignActive = Signal(kind: .willResignActive)

    /// The app is in the foreground and in use.
    public static let didBecomeActive = Signal(kind: .didBecomeActive)

    /// The app is no longer visible, and may soon be suspended.
    public static let didEnterBackground = Signal(kind: .didEnterBackground)

    /// The process is about to end.
    public static let willTerminate = Signal(kind: .willTerminate)

    /// The network has changed.
    ///
    /// ```swift
    /// pipeline.signal(.connectivity(.metered))
    /// ```
    public static func connectivity(_ connectivity: Connectivity) -> Signal {
        Signal(kind: .connectivity(connectivity))
    }

    /// The user is about to be forgotten, as by `Identity.reset()`. A plugin gives this to its own chain.
    package static let userWillChange = Signal(kind: .userWillChange)

    /// The way in which the process was started; nil for other signals than ``launched(_:)``.
    public var launch: Launch? { if case .launched(let launch) = kind { launch } else { nil } }

    /// The state of the network; nil for other signals than ``connectivity(_:)``.
    public var connectivity: Connectivity? { if case .connectivity(let state) = kind { state } else { nil } }

    /// The way in which a process was started.
    public enum Launch: Sendable, Hashable {
        /// By the user.
        case foreground
        /// By the system, into the background: for a push message, a location, a fetch.
        case passive
        /// By the system, without any task, to make a later launch faster. Until the app becomes active, this is a passive
        /// launch which no plugin reports.
        case prewarmed

        /// Whether the app is in the background until it becomes active.
        package var isPassive: Bool { self != .foreground }
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

extension Signal: CustomStringConvertible {
    /// The name of the signal.
    public var description: String {
        switch kind {
        case .launched(let launch): "launched(\(launch))"
        case .connectivity(let state): "connectivity(\(state))"
        case .willResignActive, .didBecomeActive, .didEnterBackground, .willTerminate, .userWillChange: "\(kind)"
        }
    }
}

extension Signal {
    /// Whether the app leaves the foreground, the network is lost, or the user goes.
    package var isLeaving: Bool {
        switch kind {
        case .willResignActive, .didEnterBackground, .willTerminate, .connectivity(.unavailable), .userWillChange: true
        case .launched, .didBecomeActive, .connectivity(.available), .connectivity(.metered): false
        }
    }
}
