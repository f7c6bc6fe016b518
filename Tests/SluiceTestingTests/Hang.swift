import Dispatch
import SluiceTesting
import Testing

/// Blocks the threads of a plugin that never returns, until the test ends.
final class Hang: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private struct State {
        var isReached = false
        var watchers: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Locked(State())

    /// Runs a check whose time is over when the plugin hangs, and returns its error.
    static func run(_ check: (Hang) async throws -> Void) async -> SluiceError? {
        let hang = Hang()
        let error = await #expect(throws: SluiceError.self) {
            try await ContractTimeout.$wait.withValue({ _ in try await hang.reached() }) { try await check(hang) }
        }
        hang.semaphore.signal()
        return error
    }

    func wait() {
        let watchers = state.withLock { state in
            state.isReached = true
            return state.watchers
        }
        for watcher in watchers { watcher.yield() }
        semaphore.wait()
        semaphore.signal()
    }

    private func reached() async throws {
        let (stream, watcher) = AsyncStream.makeStream(of: Void.self)
        let isReached = state.withLock { state in
            state.watchers.append(watcher)
            return state.isReached
        }
        if isReached { watcher.yield() }
        for await _ in stream { return }
        throw CancellationError()
    }

    /// Waits without blocking a thread.
    func suspend() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.wait()
                continuation.resume()
            }
        }
    }
}
