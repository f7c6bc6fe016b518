/// The life of the app, as far as signals have told. Decides which signals count.
///
/// A signal counts if it fits the phase that the app is in. The others are repeated or late.
///
/// | signal | no signal yet | launched | active | interrupted | background | terminated |
/// |---|---|---|---|---|---|---|
/// | `launched` | counts | | | | | |
/// | `didBecomeActive` | counts | counts | | counts | counts | |
/// | `willResignActive` | counts | counts | counts | | | |
/// | `didEnterBackground` | counts | counts | counts | counts | | |
/// | `willTerminate` | counts | counts | counts | counts | counts | |
/// | `connectivity` | counts | counts | counts | counts | counts | counts |
package struct AppLife: Sendable {
    /// The last signal that counted, except for `connectivity`.
    package enum Phase: Sendable, CaseIterable {
        case unknown, launched, active, interrupted, background, terminated
    }

    package private(set) var phase = Phase.unknown
    /// The number of signals that did not count.
    package private(set) var ignored = 0

    package init() {}

    /// Takes over a signal.
    ///
    /// - Returns: A message for the host if the signal doesn't count.
    package mutating func accept(_ signal: Signal) -> String? {
        if let next = next(signal) {
            phase = next
            return nil
        }
        ignored += 1
        return "the signal \(signal) is ignored, because the app is \(phase) (\(ignored) ignored so far)"
    }

    private func next(_ signal: Signal) -> Phase? {
        switch (signal.kind, phase) {
        case (.connectivity, _): phase
        case (_, .terminated): nil
        case (.launched, .unknown): .launched
        case (.didBecomeActive, _) where phase != .active: .active
        case (.willResignActive, .unknown), (.willResignActive, .launched), (.willResignActive, .active): .interrupted
        case (.didEnterBackground, _) where phase != .background: .background
        case (.willTerminate, _): .terminated
        default: nil
        }
    }
}
