import Foundation

/// The processor time of this process since the value was created: all threads, in user and in system mode. It can be that of
/// the current thread alone.
///
/// It is the cost of an event for the host's battery and cores. Unlike wall time it doesn't grow with the other load of
/// the machine, and it includes work on other threads.
struct CPUTime {
    private let clock: clockid_t
    private let start: Int

    init(of clock: clockid_t = CLOCK_PROCESS_CPUTIME_ID) {
        self.clock = clock
        start = CPUTime.now(clock)
    }

    private var nanoseconds: Double { Double(CPUTime.now(clock) - start) }

    func nanoseconds(for events: Int) -> Double { nanoseconds / Double(events) }

    private static func now(_ clock: clockid_t) -> Int {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
    }
}

/// Wall time since the value was created.
struct WallTime {
    private let start = ContinuousClock.now

    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

    func throughput(of events: Int) -> Double { Double(events) / seconds }
}
