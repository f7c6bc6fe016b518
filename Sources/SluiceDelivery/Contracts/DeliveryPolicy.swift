/// When a route sends, how much it sends in one request, and how it retries.
///
/// ```swift
/// let policy = DeliveryPolicy(flushCount: 500, flushInterval: .seconds(60))
/// let pipeline = try Pipeline(delivery: policy) {
///     MemoryStore()
///     StdoutTransport()
/// }
/// ```
///
/// A pipeline throws when it is built with a policy that has a value outside its range.
public struct DeliveryPolicy: Sendable, Hashable {
    /// The batch size to aim at: 100 events and 256 KiB by default. A new value is also the one of ``backlogBatch``.
    public var batch: BatchSize {
        didSet { backlogBatch = batch }
    }
    /// The batch size while more events than that wait: 500 events and 256 KiB if ``batch`` has its default, and ``batch``
    /// otherwise.
    ///
    /// With a slow connection and one batch in flight, a backlog drains up to five times as fast with five times as many
    /// events in a request. The order is the same, and a request needs no more memory, because the limit of bytes is the same.
    /// If two such requests have no response or the receiver finds one too large, and it accepts smaller ones, these follow
    /// for a while.
    ///
    /// ```swift
    /// var policy = DeliveryPolicy(batch: BatchSize(events: 20, bytes: 65_536))
    /// policy.backlogBatch = BatchSize(events: 200, bytes: 262_144)
    /// ```
    public var backlogBatch: BatchSize
    /// The number of waiting events that starts a delivery pass: 100 by default, at least 1.
    public var flushCount: Int
    /// The longest time that an event waits until a pass starts: 15 s by default. It must lie in ``flushIntervals``.
    public var flushInterval: Duration
    /// The range of ``flushInterval``: 1 s to a year by default, which is also the widest range.
    ///
    /// ``Pipeline/setFlush(count:interval:)`` clamps its interval to this range. Use a narrower range if a server sets
    /// the interval:
    ///
    /// ```swift
    /// let remote = DeliveryPolicy(flushIntervals: .seconds(5) ... .seconds(600))
    /// ```
    public var flushIntervals: ClosedRange<Duration>
    /// The longest time that a critical event waits outside a pause: 3 s by default, zero to a year.
    public var criticalInterval: Duration
    /// The longest first pause: 1 s by default, 1 ms to a year. It is longer if the receiver often fails by chance.
    ///
    /// The pause is drawn from 10 % to 100 % of min(``maximumBackOff``, `backOff` × 1.3ⁿ). A pause raises n by 1, and an
    /// acceptance lowers it by 4. Pauses are shorter while the events at fault are searched for. After a refusal, such as
    /// 401 or 404, the pause is drawn from 50 % to 100 %, and grows to 16 × ``maximumBackOff`` while the receiver accepts
    /// nothing: only you can fix a wrong key.
    public var backOff: Duration
    /// The longest pause: 300 s by default, ``backOff`` to a year.
    public var maximumBackOff: Duration
    /// The ranges from which the first, second, … pause is drawn, in place of the growing ones. Empty by default. All
    /// further pauses use the last range. Each ends after 1 ms to a year.
    ///
    /// ```swift
    /// let patient = DeliveryPolicy(backOffSteps: [.seconds(5) ... .seconds(10), .seconds(60) ... .seconds(90)])
    /// ```
    public var backOffSteps: [ClosedRange<Duration>]
    /// The number of batches in flight: 1 by default, which keeps the order of events, and 3 at most. With more than one,
    /// batches can overtake each other. While the receiver fails, or an event waits that failed or got a time, the route
    /// sends one request at a time.
    ///
    /// ```swift
    /// let fast = DeliveryPolicy(maximumBatchesInFlight: 3)
    /// ```
    public var maximumBatchesInFlight: Int
    /// Whether to send while the last ``Signal/connectivity(_:)`` was ``Signal/Connectivity-swift.enum/metered``: true by
    /// default. Otherwise events wait for another network, and a flush returns without sending.
    ///
    /// If this is false, nothing is sent before the first report about the network. `AppSignals` makes reports; on other
    /// platforms, call `Pipeline.signal(_:)`. Without a report, a diagnostic of the kind ``Diagnostic/Kind/paused`` says so:
    /// when events have waited for 10 s, at a flush, or at the shutdown.
    ///
    /// ```swift
    /// let frugal = DeliveryPolicy(sendsOverMeteredNetworks: false)
    /// ```
    public var sendsOverMeteredNetworks: Bool

    /// Creates a policy. Invalid values are reported when a pipeline is built with it.
    public init(
        batch: BatchSize? = nil,
        flushCount: Int = 100,
        flushInterval: Duration = .seconds(15),
        flushIntervals: ClosedRange<Duration> = .seconds(1) ... .seconds(31_536_000),
        criticalInterval: Duration = .seconds(3),
        backOff: Duration = .seconds(1),
        maximumBackOff: Duration = .seconds(300),
        backOffSteps: [ClosedRange<Duration>] = [],
        maximumBatchesInFlight: Int = 1,
        sendsOverMeteredNetworks: Bool = true
    ) {
        self.batch = batch ?? BatchSize(events: 100, bytes: 262_144)
        backlogBatch = batch ?? BatchSize(events: 500, bytes: 262_144)
        self.flushCount = flushCount
        self.flushInterval = flushInterval
        self.flushIntervals = flushIntervals
        self.criticalInterval = criticalInterval
        self.backOff = backOff
        self.maximumBackOff = maximumBackOff
        self.backOffSteps = backOffSteps
        self.maximumBatchesInFlight = maximumBatchesInFlight
        self.sendsOverMeteredNetworks = sendsOverMeteredNetworks
    }

    /// The defaults of every parameter. Start from them to set a policy's values one by one:
    ///
    /// ```swift
    /// var small = DeliveryPolicy.standard
    /// small.batch = BatchSize(events: 20, bytes: 16_384)
    /// ```
    public static let standard = DeliveryPolicy()

    /// Clocks trap on sums that only absurd durations reach, so no duration may be longer than a year.
    package static let longest = Duration.seconds(31_536_000)

    func validate() throws(SluiceError) {
        let year = Duration.zero...Self.longest
        func require(_ isValid: Bool, _ rule: String) throws(SluiceError) {
            guard isValid else { throw SluiceError(.invalidArgument, "the delivery policy is invalid: \(rule)") }
        }
        try require(batch.events > 0 && batch.bytes > 0, "batch must hold at least one event and one byte")
        try require(
            backlogBatch.events >= batch.events && backlogBatch.bytes >= batch.bytes,
            "backlogBatch must be at least as large as batch")
        try require(flushCount > 0, "flushCount must be at least 1, not \(flushCount)")
        try require(
            flushIntervals.lowerBound >= .seconds(1) && flushIntervals.upperBound <= Self.longest,
            "flushIntervals must lie between 1 s and a year, not \(flushIntervals)")
        try require(
            flushIntervals.contains(flushInterval), "flushInterval must lie in \(flushIntervals), not \(flushInterval)")
        try require(year.contains(criticalInterval), "criticalInterval must lie in \(year), not \(criticalInterval)")
        try require(
            (.milliseconds(1)...Self.longest).contains(backOff), "backOff must be 1 ms to a year, not \(backOff)")
        try require(
            maximumBackOff >= backOff && year.contains(maximumBackOff),
            "maximumBackOff must lie between backOff and a year, not \(maximumBackOff)")
        for step in backOffSteps {
            try require(
                step.lowerBound >= .zero && (.milliseconds(1)...Self.longest).contains(step.upperBound),
                "each of backOffSteps must begin at 0 s or later and end between 1 ms and a year, not \(step)")
        }
        try require(
            (1...3).contains(maximumBatchesInFlight),
            "maximumBatchesInFlight must be 1, 2 or 3, not \(maximumBatchesInFlight)")
    }
}
