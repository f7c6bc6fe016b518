public import SluiceEvents

/// The clocks of a pipeline and its plugins: wall time for events, two monotonic clocks for intervals.
///
/// Use ``PipelineEnvironment/systemTime`` in production and `VirtualTime` of SluiceTesting in tests.
///
/// ## Conforming
/// - Allow calls from any thread.
/// - Never let a monotonic clock go backwards. Its origin is yours to choose.
public protocol TimeSource: Sendable {
    /// Returns the wall time, which may jump in either direction when the user or the network sets the clock.
    func wallTime() -> Timestamp

    /// Returns a monotonic time that stands still while the machine sleeps.
    func suspendingTime() -> Duration

    /// Returns a monotonic time that also advances while the machine sleeps.
    func continuousTime() -> Duration

    /// Waits until ``continuousTime()`` has reached `deadline`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until deadline: Duration) async throws
}

/// The sources of time and randomness of a pipeline.
///
/// The default is the operating system. Pass your own in tests, so that every run is the same.
public struct PipelineEnvironment: Sendable {
    /// The clocks of events and of delivery.
    public var time: any TimeSource

    /// Returns 64 uniformly distributed bits, for event ids and jitter. It is called from any thread.
    public var random: @Sendable () -> UInt64

    /// Whether delivery has threads of its own. False runs it on the global executor, which a simulation replaces.
    package var hasThreads = true

    /// Creates an environment, by default that of the operating system.
    public init(
        time: any TimeSource = PipelineEnvironment.systemTime,
        random: @escaping @Sendable () -> UInt64 = PipelineEnvironment.systemRandom
    ) {
        self.time = time
        self.random = random
    }

    /// The clocks of the operating system. The monotonic ones start at their first use.
    public static let systemTime: any TimeSource = SystemTime()

    /// The random number generator of the operating system, safe across `fork`.
    public static let systemRandom: @Sendable () -> UInt64 = { CurrentProcess.current.random() }
}

extension Duration {
    /// Milliseconds with three decimals, rounded to the nearest; a negative duration is 0.
    package var inMilliseconds: Double {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let microseconds = (attoseconds + 500_000_000_000) / 1_000_000_000_000
        // Doubles, because an integer could overflow; they are exact to the microsecond for 285 years.
        return (Double(seconds) * 1_000_000 + Double(microseconds)) / 1_000
    }
}
