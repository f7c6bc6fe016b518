import Sluice
import SluiceTesting

/// A virtual clock that counts its uses.
final class CountedTime: TimeSource {
    let base = VirtualTime()
    private let counts = Locked((readings: 0, sleeps: 0))

    /// The readings of the suspending clock.
    var readings: Int { counts.withLock(\.readings) }
    /// The system keeps a cancelled sleep in memory until its time.
    var sleeps: Int { counts.withLock(\.sleeps) }

    func wallTime() -> Timestamp { base.wallTime() }

    func suspendingTime() -> Duration {
        counts.withLock { $0.readings += 1 }
        return base.suspendingTime()
    }

    func continuousTime() -> Duration { base.continuousTime() }

    func sleep(until deadline: Duration) async throws {
        counts.withLock { $0.sleeps += 1 }
        try await base.sleep(until: deadline)
    }
}
