public import SluiceEvents

/// The clocks of a pipeline and its plugins: wall time for events, two monotonic clocks for intervals.
///
/// Use ``PipelineEnvironment/systemTime`` in production and `VirtualTime` of SluiceTesting in tests.
///
/// ```swift
/// /// The clocks of the system, with a wall clock that is an hour fast.
/// struct FastClock: TimeSource {
///     let system = PipelineEnvironment.systemTime
///
///     func wallTime() -> Timestamp { Timestamp(milliseconds: system.wallTime().milliseconds + 3_600_000) }
///     func suspendingTime() -> Duration { system.suspendingTime() }
///     func continuousTime() -> Duration { system.continuousTime() }
///     func sleep(until deadline: Duration) async throws { try await system.sleep(until: deadline) }
/// }
/// ```
///
/// ## Conforming
/// - Allow calls from any thread.
/// - Never let a monotonic clock go backwards. Its origin is yours to choose. If that of ``continuousTime()`` is the start of
///   the machine, as in the system's clock, stores know how long a pause between two processes was even if the wall clock is
///   set.
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
/// The default is the operating system. Pass the sources of SluiceTesting in tests, and every run is the same:
///
/// ```swift
/// let pipeline = try Pipeline(environment: .virtual(VirtualTime(), seed: 42)) {
///     MemoryStore()
///     StdoutTransport()
/// }
/// ```
public struct PipelineEnvironment: Sendable {
    /// The clocks of events and of delivery.
    public var time: any TimeSource

    /// Returns 64 uniformly distributed bits, for event ids, pauses and what a route sends next. It is called from any thread.
    /// Don't return a constant: a route would repeat one choice, and could send a bad event with good ones without end.
    public var random: @Sendable () -> UInt64 {
        get { ownRandom ?? PipelineEnvironment.systemRandom }
        set { ownRandom = newValue }
    }

    /// Nil for the operating system's, which can draw many numbers in one call.
    private var ownRandom: (@Sendable () -> UInt64)?

    /// Whether delivery has threads of its own. False runs it on the global executor, which a simulation replaces.
    package var hasThreads = true

    /// Creates an environment, by default that of the operating system.
    ///
    /// ```swift
    /// let environment = PipelineEnvironment(time: FastClock())
    /// ```
    ///
    /// - Parameters:
    ///   - time: The clocks of events and of delivery.
    ///   - random: Returns 64 uniformly distributed bits; nil for the random numbers of the operating system.
    public init(
        time: any TimeSource = PipelineEnvironment.systemTime, random: (@Sendable () -> UInt64)? = nil
    ) {
        self.time = time
        ownRandom = random
    }

    /// The clocks of the operating system. The monotonic ones start at their first use.
    ///
    /// ```swift
    /// let start = PipelineEnvironment.systemTime.continuousTime()
    /// ```
    public static let systemTime: any TimeSource = SystemTime()

    /// The secure random number generator of the operating system. Each call is a system call on Linux.
    public static let systemRandom: @Sendable () -> UInt64 = { .random(in: .min ... .max) }

    /// Returns the next random numbers for ids.
    package func randomBlock() -> [UInt64] {
        if let ownRandom { return (0..<PipelineEnvironment.blockCount).map { _ in ownRandom() } }
        return [UInt64](unsafeUninitializedCapacity: PipelineEnvironment.blockCount) { words, count in
            fillWithRandomBytes(UnsafeMutableRawBufferPointer(words))
            count = words.count
        }
    }

    /// 256 bytes, the most that `getentropy` returns.
    private static let blockCount = 32
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
