/// When a route sends, how much at once, and how patiently it retries.
public struct DeliveryPolicy: Sendable, Hashable {
    /// The batch to aim at: 50 events and 256 KiB by default.
    public var batch: BatchSize
    /// Events waiting that start a delivery: 100 by default.
    public var flushCount: Int
    /// How long an event waits at most before a delivery starts: 15 s by default. A value outside ``flushIntervals`` is
    /// moved to its end.
    public var flushInterval: Duration {
        didSet { flushInterval = min(max(flushIntervals.lowerBound, flushInterval), flushIntervals.upperBound) }
    }
    /// Between what ``flushInterval`` may be, also when it is changed at run time: 5 s and a year by default, which it
    /// cannot exceed.
    public let flushIntervals: ClosedRange<Duration>
    /// How long a critical event waits at most: 3 s by default.
    public var criticalInterval: Duration
    /// The wait after a failure is drawn from 0 … min(maximumBackOff, backOff × 2ⁿ), where n is the number of retries
    /// spent so far: each failure spends one of 10, each success earns one back. 1 s by default.
    public var backOff: Duration
    /// 300 s by default.
    public var maximumBackOff: Duration
    /// If there are any, the waits after the first, second, … retry in place of the doubling ones: each is drawn from its
    /// range, and that of the last counts for all further ones.
    public var backOffSteps: [ClosedRange<Duration>]
    /// How long a route that is on hold waits before it probes whether it may go on, from half of it to all: 300 s by
    /// default. It doubles with every probe that fails, up to twelve times as long.
    public var holdInterval: Duration
    /// How many batches may be on their way at a time: 1 by default, which keeps the order of events; 3 at most. With more
    /// than one, batches can overtake each other, and a retry can come after what was tracked later. After three failures
    /// there is one again, until the receiver has taken some.
    public var maximumBatchesInFlight: Int
    /// Over which networks to send, as far as the platform tells: any by default.
    public var network: Network

    public enum Network: Sendable, Hashable {
        case any
        /// Not while the last ``Signal/connectivity(_:)`` was ``Signal/Connectivity-swift.enum/metered``; events wait for
        /// another network, and a flush returns at once.
        case unmetered
    }

    /// Values outside their range are moved to its end, here or, if they are set later, when a pipeline is built; no
    /// duration is longer than a year.
    public init(
        batch: BatchSize = BatchSize(events: 50, bytes: 262_144),
        flushCount: Int = 100,
        flushInterval: Duration = .seconds(15),
        flushIntervals: ClosedRange<Duration> = .seconds(5) ... .seconds(31_536_000),
        criticalInterval: Duration = .seconds(3),
        backOff: Duration = .seconds(1),
        maximumBackOff: Duration = .seconds(300),
        backOffSteps: [ClosedRange<Duration>] = [],
        holdInterval: Duration = .seconds(300),
        maximumBatchesInFlight: Int = 1,
        network: Network = .any
    ) {
        self.batch = batch
        self.flushCount = max(1, flushCount)
        self.flushIntervals = flushIntervals.clamped(to: .seconds(5)...Self.longest)
        self.flushInterval = min(max(self.flushIntervals.lowerBound, flushInterval), self.flushIntervals.upperBound)
        self.criticalInterval = min(max(.zero, criticalInterval), Self.longest)
        self.backOff = min(max(.milliseconds(1), backOff), Self.longest)
        self.maximumBackOff = min(max(self.backOff, maximumBackOff), Self.longest)
        self.backOffSteps = backOffSteps.map { $0.clamped(to: .zero...Self.longest) }
        self.holdInterval = min(max(.seconds(1), holdInterval), Self.longest)
        self.maximumBatchesInFlight = min(max(1, maximumBatchesInFlight), 3)
        self.network = network
    }

    /// With each value within its range.
    var withinRanges: DeliveryPolicy {
        DeliveryPolicy(
            batch: batch, flushCount: flushCount, flushInterval: flushInterval, flushIntervals: flushIntervals,
            criticalInterval: criticalInterval, backOff: backOff, maximumBackOff: maximumBackOff,
            backOffSteps: backOffSteps, holdInterval: holdInterval, maximumBatchesInFlight: maximumBatchesInFlight,
            network: network)
    }

    /// The system's clocks trap on sums that only absurd durations reach: a year stands for all of those.
    static let longest = Duration.seconds(31_536_000)
}

extension DeliveryPolicy {
    /// The defaults of every parameter.
    public static let standard = DeliveryPolicy()
}
