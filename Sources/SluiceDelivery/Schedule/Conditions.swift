/// The host's conditions for sending: a pause, the network, and the suspension of the process. This is a value without
/// clocks.
struct Conditions: Sendable {
    /// No batch is started with less background time left, because its response could come too late. Since iOS 13 the system
    /// gives an app some 30 s in all: a third of that is kept free.
    private static let minimumBackgroundTime = Duration.seconds(30)
    /// A process that still runs this long after its background time has run out was resumed, or was never suspended.
    private static let suspensionGrace = Duration.seconds(10)

    /// How long a route waits for the first report about the network before the host is told.
    private static let networkGrace = Duration.seconds(10)

    private enum NetworkNotice: Sendable {
        case notNeeded
        /// Events wait. The host is told at this time, or when it waits for them.
        case due(Duration)
        case given
    }

    private let sendsOverMeteredNetworks: Bool
    private var networkNotice = NetworkNotice.notNeeded
    var isPaused = false
    private var connectivity: Signal.Connectivity?
    /// The time in which no batch is started, because the system is about to suspend the process.
    private var suspension: Range<Duration>?

    init(_ policy: DeliveryPolicy) { sendsOverMeteredNetworks = policy.sendsOverMeteredNetworks }

    // MARK: Inputs

    /// Notes a report about the network.
    ///
    /// - Returns: whether the network is another one, and whether it was missing until now.
    mutating func connectivityChanged(_ connectivity: Signal.Connectivity) -> (isOther: Bool, isRegained: Bool) {
        defer { self.connectivity = connectivity }
        let isOther = connectivity != .unavailable && connectivity != self.connectivity
        return (isOther, isOther && self.connectivity == .unavailable)
    }

    /// Starts no batch shortly before the system suspends the process, and shortly after. Pass nil if you know that the
    /// system won't suspend it.
    mutating func expectSuspension(in time: Duration?, at now: Duration) {
        guard let time else { return suspension = nil }
        let end = now + max(.zero, time)
        let margin = min(Conditions.minimumBackgroundTime, max(.zero, time) / 3)
        suspension = end - margin..<end + Conditions.suspensionGrace
    }

    // MARK: Decisions

    /// Why the route waits for an input, however long that takes; nil if it doesn't.
    var obstacle: RouteStatus.State? {
        if isPaused { return .paused }
        return switch connectivity {
        case .unavailable: .noNetwork
        // It can be a metered one until it is known.
        case .metered, nil: sendsOverMeteredNetworks ? nil : .noNetwork
        case .available: nil
        }
    }

    /// When to tell the host that events wait because the network is unknown; nil if that isn't needed.
    mutating func networkNoticeTime(at now: Duration) -> Duration? {
        guard connectivity == nil, obstacle == .noNetwork else { return nil }
        if case .notNeeded = networkNotice { networkNotice = .due(now + Conditions.networkGrace) }
        return if case .due(let time) = networkNotice { time } else { nil }
    }

    /// Whether to tell the host now that events wait because the network is unknown.
    ///
    /// - Parameters:
    ///   - isAwaited: whether the host waits for the events, and must be told now.
    ///   - now: the time.
    /// - Returns: true once.
    mutating func takeNetworkNotice(isAwaited: Bool, at now: Duration) -> Bool {
        guard let time = networkNoticeTime(at: now), isAwaited || time <= now else { return false }
        networkNotice = .given
        return true
    }

    /// The end of the suspension that is expected; nil if a batch can be started.
    func suspensionEnd(at now: Duration) -> Duration? { suspension.flatMap { $0.contains(now) ? $0.upperBound : nil } }
}
