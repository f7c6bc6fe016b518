import Foundation

/// The processor time of this process since the value was created: all threads, in user and in system mode.
///
/// It is the cost of an event for the host's battery and cores. Unlike wall time it doesn't grow with the other load of
/// the machine, and it includes work on other threads.
struct CPUTime {
    private let start = CPUTime.now

    private var nanoseconds: Double { Double(CPUTime.now - start) }

    func nanoseconds(for events: Int) -> Double { nanoseconds / Double(events) }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
    }
}

/// Wall time since the value was created.
struct WallTime {
    private let start = ContinuousClock.now

    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

    func throughput(of events: Int) -> Double { Double(events) / seconds }
}
