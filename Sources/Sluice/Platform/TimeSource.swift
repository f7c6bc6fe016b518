#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// Where a pipeline and its plugins read the time: wall time for events, two monotonic clocks for intervals.
///
/// ## Conforming
/// The system's clocks are ``SystemTime``; tests use the virtual clock of SluiceTesting. A conforming type may be
/// called from any thread. Readings of one monotonic clock never go backwards and share one unspecified origin.
public protocol TimeSource: Sendable {
    /// The wall clock. It may jump in either direction, whenever the user or the network sets it.
    func wallTime() -> Timestamp

    /// A monotonic clock that stands still while the machine sleeps.
    func suspendingTime() -> Duration

    /// A monotonic clock that goes on while the machine sleeps.
    func continuousTime() -> Duration

    /// Waits until ``continuousTime()`` has reached `deadline`; returns at once if it has.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until deadline: Duration) async throws
}

/// The clocks of the operating system.
public struct SystemTime: TimeSource {
    // Instants of the standard clocks are opaque: each process measures from its own start of use.
    private static let continuousOrigin = ContinuousClock.now
    private static let suspendingOrigin = SuspendingClock.now

    public init() {}

    public func wallTime() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    public func suspendingTime() -> Duration {
        SystemTime.suspendingOrigin.duration(to: .now)
    }

    public func continuousTime() -> Duration {
        SystemTime.continuousOrigin.duration(to: .now)
    }

    public func sleep(until deadline: Duration) async throws {
        // The system's clock traps on what its integers cannot hold.
        let deadline = min(deadline, .seconds(100 * 31_536_000))
        try await ContinuousClock().sleep(until: SystemTime.continuousOrigin.advanced(by: deadline))
    }
}
