package import Sluice
import SluiceTesting

/// Virtual clocks that stand still until a shutdown, and then jump to the end of each sleep before its deadline. So a
/// shutdown has its waits, and takes no time.
package final class RunningTime: TimeSource {
    private struct State {
        var deadline = Duration.zero
        var isRunning = false
    }

    private let time = VirtualTime()
    private let state = Locked(State())

    package init() {}

    package func shutDown(_ pipeline: Pipeline, within timeout: Duration) async -> Ledger {
        state.withLock { $0.deadline = time.continuousTime() + timeout }
        defer { state.withLock { $0 = State() } }
        return await pipeline.shutdown(timeout: timeout)
    }

    package func wallTime() -> Timestamp { time.wallTime() }
    package func suspendingTime() -> Duration { time.suspendingTime() }
    package func continuousTime() -> Duration { time.continuousTime() }

    package func sleep(until deadline: Duration) async throws {
        try Task.checkCancellation()
        let (isEnd, isRunning, end) = state.withLock { state in
            let isEnd = state.deadline == deadline
            if isEnd { state.isRunning = true }
            return (isEnd, state.isRunning, state.deadline)
        }
        // The sleeps that began before the shutdown, and those that a thread was about to begin.
        while isEnd {
            try Task.checkCancellation()
            if let next = time.deadlines.first(where: { $0 < end }) { jump(to: next) } else { await Task.yield() }
        }
        if isRunning, deadline < end { jump(to: deadline) } else { try await time.sleep(until: deadline) }
    }

    private func jump(to deadline: Duration) { time.advance(by: max(.zero, deadline - time.continuousTime())) }
}

extension PipelineEnvironment {
    /// An environment in virtual time whose random numbers are the same in each run.
    package static func seeded(_ time: any TimeSource, _ seed: UInt64 = 1) -> PipelineEnvironment {
        let random = Locked(SeededRandom(seed: seed))
        return PipelineEnvironment(time: time, random: { random.withLock { $0.next() } })
    }
}
