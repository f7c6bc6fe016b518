import Foundation

/// The processor time of this process, of all its threads, in user and in system mode.
///
/// It is what an event costs the host's battery and cores. Unlike the time on the wall, it does not grow with what
/// else the machine is doing, and a part of the work that moves to another thread does not vanish from it.
struct CPUTime {
    private let start = CPUTime.now

    var nanoseconds: Int { CPUTime.now - start }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
    }
}
