import Sluice

/// Clocks that stand still until a test moves them.
final class ManualTime: TimeSource {
    private struct State {
        var wall = Timestamp(milliseconds: 1_800_000_000_000)
        var suspending = Duration.seconds(1_000)
        var continuous = Duration.seconds(1_000)
    }

    private let state = Locked(State())

    func advance(by duration: Duration) {
        state.withLock { state in
            state.suspending += duration
            state.continuous += duration
            state.wall.milliseconds += Int64(duration / .milliseconds(1))
        }
    }

    /// The machine sleeps: only the suspending clock stands still.
    func sleepMachine(for duration: Duration) {
        state.withLock { state in
            state.continuous += duration
            state.wall.milliseconds += Int64(duration / .milliseconds(1))
        }
    }

    /// By more than the wall clock could show.
    func advanceMonotonic(by duration: Duration) {
        state.withLock { $0.suspending += duration }
    }

    func setWall(_ time: Timestamp) {
        state.withLock { $0.wall = time }
    }

    /// A monotonic clock never does this; a broken one may.
    func setBack(by duration: Duration) {
        state.withLock { $0.suspending -= duration }
    }

    func wallTime() -> Timestamp { state.withLock { $0.wall } }
    func suspendingTime() -> Duration { state.withLock { $0.suspending } }
    func continuousTime() -> Duration { state.withLock { $0.continuous } }

    /// Nothing in these tests waits for a deadline to come: it ends with the task.
    func sleep(until deadline: Duration) async throws {
        guard continuousTime() < deadline else { return }
        let (never, _) = AsyncStream<Never>.makeStream()
        for await _ in never {}
        throw CancellationError()
    }
}
