package import SluiceEvents
import SluiceLibC

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

extension ArraySlice<UInt8> {
    /// The index of the first `byte`. The C library compares many bytes at a time.
    package func index(of byte: UInt8) -> Int? { withUnsafeBytes { $0.index(of: byte) }.map { startIndex + $0 } }
}

extension UnsafeRawBufferPointer {
    /// The index of the first `byte`. The C library compares many bytes at a time.
    package func index(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, CInt(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    package func starts(with text: StaticString) -> Bool {
        guard let baseAddress, count >= text.utf8CodeUnitCount else { return false }
        return memcmp(baseAddress, text.utf8Start, text.utf8CodeUnitCount) == 0
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

/// Fills at most 256 bytes with random numbers of the operating system.
func fillWithRandomBytes(_ bytes: UnsafeMutableRawBufferPointer) {
    #if canImport(Glibc) || canImport(Musl)
        // One system call for all of them. Swift's own generator needs one for each number.
        if getentropy(bytes.baseAddress, bytes.count) == 0 { return }
    #endif
    for offset in stride(from: 0, to: bytes.count, by: 8) {
        bytes.storeBytes(of: .random(in: .min ... .max), toByteOffset: offset, as: UInt64.self)
    }
}

/// The clocks of the operating system.
package struct SystemTime: TimeSource {
    // The system's own clocks, because ContinuousClock and SuspendingClock read the same ones with more work.
    #if canImport(Darwin)
        private static let continuous = CLOCK_MONOTONIC_RAW
        private static let suspending = CLOCK_UPTIME_RAW
    #else
        private static let continuous = CLOCK_BOOTTIME
        private static let suspending = CLOCK_MONOTONIC
    #endif

    package init() {}

    package func wallTime() -> Timestamp { .now }

    package func suspendingTime() -> Duration { SystemTime.duration(SystemTime.suspending) }

    package func continuousTime() -> Duration { SystemTime.duration(SystemTime.continuous) }

    package func sleep(until deadline: Duration) async throws {
        // The system's clock traps on values that its integers can't hold.
        let rest = min(deadline - continuousTime(), .seconds(100 * 31_536_000))
        try await ContinuousClock().sleep(for: rest)
    }

    private static func duration(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
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

/// The process that runs this code.
package enum CurrentProcess {
    // nonisolated(unsafe), unchecked: all are written only in the child of a fork, which has a single thread at that time.
    @exclusivity(unchecked) nonisolated(unsafe) fileprivate static var forks = 0
    // Not of Void: the thread sanitizer takes an empty state for the variable before it, and reports a race.
    @exclusivity(unchecked) nonisolated(unsafe) private static var lock = Locked(false)
    @exclusivity(unchecked) nonisolated(unsafe) private static var cachedID: Int32 = {
        _ = lock
        pthread_atfork(nil, nil, { CurrentProcess.begin() })
        return getpid()
    }()

    /// The process number, different in the child of a `fork`. Reading it needs no system call.
    // Computed, because other modules would check a stored property for exclusive access in spite of the attribute.
    package static var id: Int32 { cachedID }

    /// Protects the changes that the child of a `fork` makes to objects of its parent.
    ///
    /// Each child has a lock of its own. At the time of the fork, another thread of the parent may hold any lock that the
    /// child inherits, and the child would wait for it without end.
    package static var childLock: Locked<Bool> { lock }

    /// Called in the child of a `fork`.
    private static func begin() {
        forks += 1
        cachedID = getpid()
        // Never released: a thread that doesn't exist here may hold it.
        _ = Unmanaged.passRetained(lock)
        lock = Locked(false)
    }
}

/// The process that created an object. The child of a `fork` inherits a copy of the object, and must not take its locks:
/// other threads of the parent may have held them at the time of the fork.
package struct CreatingProcess: Sendable {
    // Not the process number. The system reuses numbers, and they can be equal in different namespaces.
    private let forks: Int

    /// Notes the current process.
    package init() {
        // Its first use registers the handler of forks.
        _ = CurrentProcess.id
        forks = CurrentProcess.forks
    }

    /// Whether it is a parent of the current process.
    package var isParent: Bool { forks != CurrentProcess.forks }
}
