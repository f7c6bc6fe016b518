package import SluiceEvents

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// Opens standard input, output and error if the host was started without them, or has closed them. Otherwise a file or a
/// socket of ours could get one of these numbers, and everything that the host prints would go there.
///
/// Input can't be read then, and output can't be written, so a later use fails as before.
package func occupyStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
        let opened = open("/dev/null", (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
        // Another thread was faster.
        if opened > descriptor { close(opened) }
    }
}

/// The number of the current thread. A later thread can get the number of one that has ended.
package var currentThread: UInt {
    #if canImport(Glibc)
        pthread_self()
    #else
        UInt(bitPattern: pthread_self())
    #endif
}

/// The clocks of the operating system.
package struct SystemTime: TimeSource {
    // The system's own clocks, because ContinuousClock and SuspendingClock, which read the same ones, need three times as
    // many instructions.
    #if canImport(Darwin)
        private static let continuous = CLOCK_MONOTONIC_RAW
        private static let suspending = CLOCK_UPTIME_RAW
    #else
        private static let continuous = CLOCK_BOOTTIME
        private static let suspending = CLOCK_MONOTONIC
    #endif

    package init() {}

    package func wallTime() -> Timestamp {
        let time = SystemTime.read(CLOCK_REALTIME)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    package func suspendingTime() -> Duration { SystemTime.duration(SystemTime.suspending) }

    package func continuousTime() -> Duration { SystemTime.duration(SystemTime.continuous) }

    package func sleep(until deadline: Duration) async throws {
        // The system's clock traps on values that its integers can't hold.
        let rest = min(deadline - continuousTime(), .seconds(100 * 31_536_000))
        try await ContinuousClock().sleep(for: rest)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }

    private static func duration(_ clock: clockid_t) -> Duration {
        let time = read(clock)
        return Duration(
            secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    }
}

/// The time zone of the machine.
package enum LocalTime {
    /// Returns the minutes east of UTC at `time`, or nil if the system doesn't know.
    package static func utcOffset(at time: Timestamp) -> Int? {
        var seconds = time_t(time.milliseconds / 1_000)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return nil }
        return Int(local.tm_gmtoff) / 60
    }
}

/// The number of the current process and its random numbers, both replaced in the child of a `fork`.
///
/// A system call for either would be expensive beside the one `write` of an event. Therefore the number is cached, and
/// random bytes are drawn in blocks.
package final class CurrentProcess: Sendable {
    private let block = Locked<[UInt64]>([])

    private init() {}

    // nonisolated(unsafe), unchecked: all are written only in the child of a fork, which has a single thread at that time.
    @exclusivity(unchecked) nonisolated(unsafe) private static var cachedID: Int32 = getpid()
    @exclusivity(unchecked) nonisolated(unsafe) private static var instance = CurrentProcess()
    @exclusivity(unchecked) nonisolated(unsafe) private static var cachedGeneration = 0

    /// The process number, different in the child of a `fork`.
    // Computed, because other modules would check a stored property for exclusive access in spite of the attribute.
    package static var id: Int32 { cachedID }

    /// The number of forks from the process that loaded the program to this one. It is not a process number, because the
    /// system can reuse those, and they can be equal in different namespaces.
    static var generation: Int { cachedGeneration }

    static var current: CurrentProcess { instance }

    static func resetAfterFork() {
        cachedID = getpid()
        cachedGeneration += 1
        instance = CurrentProcess()
    }

    /// Returns 64 bits of the system's secure generator. Each is returned only once.
    func random() -> UInt64 {
        block.withLock { block in
            if block.isEmpty { block = CurrentProcess.drawBlock() }
            if let word = block.popLast() { return word }
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        }
    }

    /// Returns as many random numbers as one system call can give, or an empty array where the system keeps a block of
    /// its own.
    private static func drawBlock() -> [UInt64] {
        #if canImport(Glibc) || canImport(Musl)
            [UInt64](unsafeUninitializedCapacity: 32) { buffer, count in
                let bytes = UnsafeMutableRawBufferPointer(buffer)
                count = getentropy(bytes.baseAddress, bytes.count) == 0 ? buffer.count : 0
            }
        #else
            []
        #endif
    }
}
