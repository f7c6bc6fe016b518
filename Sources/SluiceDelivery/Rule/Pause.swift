internal import SluiceLibC

/// The time before which a route sends nothing, and how long the next one will be.
struct Pause: Sendable {
    private let policy: DeliveryPolicy
    private enum State: Sendable {
        case none
        /// It ends or ended at this time. Nothing ends it early if the receiver has named it.
        case until(Duration, isNamed: Bool)
    }

    private var state = State.none
    /// The length of the next one, as the exponent of its growth.
    private var exponent = 0.0
    /// The pauses that the network has ended since the last acceptance.
    private var networkRetries = 0

    private static let maximumNetworkRetries = 3
    private static let growth = 1.3
    /// A longer outage needs no more acceptances after it.
    private static let maximumExponent = 40.0
    /// An acceptance takes back this many steps of growth. More would let all clients of a recovering receiver come together.
    private static let earned = 4.0
    /// The pause of an expected failure is shorter by this many steps of growth, a tenth at first, and grows half as fast.
    private static let expected = 9.0

    init(_ policy: DeliveryPolicy) { self.policy = policy }

    /// Whether the last failures have lengthened the next pause.
    var hasGrown: Bool { exponent > 0 }

    /// When the last one ends or ended; the past without one.
    var end: Duration { if case .until(let end, _) = state { end } else { .past } }

    /// Whether the receiver has named an end that is not over.
    private func isFixed(at now: Duration) -> Bool {
        if case .until(let end, isNamed: true) = state { end > now } else { false }
    }

    /// Begins a pause, or moves its end. A named time is the minimum. In a search, failures are expected.
    mutating func begin(
        _ kind: Answer.Failure.Kind, named: Duration = .zero, refusals: Int = 0, isExpected: Bool = false,
        chance: Double, at now: Duration, _ random: UInt64
    ) {
        // The random wait keeps clients from coming back together.
        let isShort = isExpected && named == .zero && policy.backOffSteps.isEmpty
        let shorter = isShort ? exponent - Self.expected : exponent
        let next = now + named + wait(shorter, kind, after: refusals, chance: chance, random)
        state = .until(max(end, next), isNamed: named > .zero || isFixed(at: now))
        exponent = min(exponent + (isShort ? 0.5 : 1), Self.maximumExponent)
    }

    /// Makes the next one at least as long as another one's.
    mutating func grow(as other: Pause) { exponent = max(exponent, other.exponent) }

    /// The receiver has accepted events.
    mutating func accepted(at now: Duration) {
        if !isFixed(at: now) { state = .none }
        exponent = max(0, exponent - Self.earned)
        networkRetries = 0
    }

    /// Counts another network, which may end the pause.
    ///
    /// - Returns: false if the network has ended enough pauses of a receiver that accepts nothing.
    mutating func countNetwork(isInDoubt: Bool) -> Bool {
        guard networkRetries < Self.maximumNetworkRetries else { return false }
        if isInDoubt { networkRetries += 1 }
        return true
    }

    /// Ends the pause, because the host asks for it or there is another network.
    mutating func endEarly() { if case .until(_, isNamed: false) = state { state = .none } }

    /// A random wait that grows with `exponent`, and with the receiver's failures that are chance. After many refusals in a
    /// row, it is longer than other waits.
    func wait(
        _ exponent: Double, _ kind: Answer.Failure.Kind, after refusals: Int = 0, chance: Double, _ random: UInt64
    ) -> Duration {
        if let last = policy.backOffSteps.last {
            let step = Int(exponent) < policy.backOffSteps.count ? policy.backOffSteps[Int(exponent)] : last
            return step.lowerBound + (step.upperBound - step.lowerBound) * random.fraction
        }
        func grown(_ exponent: Double) -> Duration {
            policy.backOff * pow(Self.growth, min(exponent, Self.maximumExponent))
        }
        var longest = policy.maximumBackOff
        if kind == .refused { longest = max(longest, min(longest * 16, grown(Double(refusals)))) }
        let limit = min(longest, grown(exponent) * ((1 - Blame.wellChance) / (1 - chance)))
        let shortest = kind == .refused ? limit / 2 : limit / 10
        return shortest + (limit - shortest) * random.fraction
    }
}

extension Duration {
    /// Before every time of a clock, which can be negative.
    static let past = Duration.seconds(-1 << 40)
}

extension UInt64 {
    /// From 0 to below 1, if the bits are random.
    var fraction: Double { Double(self >> 11) / Double(1 << 53) }
}
