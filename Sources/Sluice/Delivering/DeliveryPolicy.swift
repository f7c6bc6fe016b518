/// When a route sends, how much at once, and how patiently it retries.
public struct DeliveryPolicy: Sendable, Hashable {
    /// The batch to aim at: 50 events and 256 KiB by default.
    public var batch: BatchSize
    /// Events waiting that start a delivery: 100 by default.
    public var flushCount: Int
    /// How long an event waits at most before a delivery starts: 15 s by default, never less than 5 s.
    public var flushInterval: Duration
    /// How long a critical event waits at most: 3 s by default.
    public var criticalInterval: Duration
    /// The wait after a failure is drawn from 0 … min(maximumBackOff, backOff × 2ⁿ), where n is the number of retries
    /// spent so far: each failure spends one of 10, each success earns one back. 1 s by default.
    public var backOff: Duration
    /// 300 s by default.
    public var maximumBackOff: Duration
    /// How long a route that is on hold waits before it probes whether it may go on, from half of it to all: 300 s by
    /// default. It doubles with every probe that fails, up to twelve times as long.
    public var holdInterval: Duration
    /// How many batches may be on their way at a time: 1 by default, which keeps the order of events; 3 at most. With more
    /// than one, batches can overtake each other, and a retry can come after what was tracked later. After three failures
    /// there is one again, until the receiver has taken some.
    public var maximumBatchesInFlight: Int

    /// Values outside their range are moved to its end; no duration is longer than a year.
    public init(
        batch: BatchSize = BatchSize(events: 50, bytes: 262_144),
        flushCount: Int = 100,
        flushInterval: Duration = .seconds(15),
        criticalInterval: Duration = .seconds(3),
        backOff: Duration = .seconds(1),
        maximumBackOff: Duration = .seconds(300),
        holdInterval: Duration = .seconds(300),
        maximumBatchesInFlight: Int = 1
    ) {
        self.batch = batch
        self.flushCount = max(1, flushCount)
        self.flushInterval = min(max(.seconds(5), flushInterval), Self.longest)
        self.criticalInterval = min(max(.zero, criticalInterval), Self.longest)
        self.backOff = min(max(.milliseconds(1), backOff), Self.longest)
        self.maximumBackOff = min(max(self.backOff, maximumBackOff), Self.longest)
        self.holdInterval = min(max(.seconds(1), holdInterval), Self.longest)
        self.maximumBatchesInFlight = min(max(1, maximumBatchesInFlight), 3)
    }

    /// The system's clocks trap on sums that only absurd durations reach: a year stands for all of those.
    static let longest = Duration.seconds(31_536_000)

    /// The defaults of every parameter.
    public static let standard = DeliveryPolicy()
}
