import Sluice

/// Calls a closure at regular intervals while the app is in the foreground. After a crash, the next launch then knows
/// when the session and the app ended, to within one interval.
final class Heartbeat: Sendable {
    private let interval: Duration
    private let task = Locked<Task<Void, Never>?>(nil)

    init(every interval: Duration) {
        // The system's clocks trap on sums that only absurd durations reach, so the longest interval is a year.
        self.interval = min(max(.seconds(1), interval), .seconds(31_536_000))
    }

    deinit {
        stop()
    }

    /// Starts to call `beat` on any thread, for the first time after one interval.
    func start(_ time: any TimeSource, _ beat: @escaping @Sendable () -> Void) {
        let first = time.continuousTime() + interval
        let new = Task.onOwnThread(priority: .utility) { [interval] in
            var next = first
            while !Task.isCancelled {
                do {
                    try await time.sleep(until: next)
                } catch {
                    return
                }
                beat()
                next = time.continuousTime() + interval
            }
        }
        replace(by: new)
    }

    func stop() {
        replace(by: nil)
    }

    private func replace(by new: Task<Void, Never>?) {
        task.withLock { exchange(&$0, with: new) }?.cancel()
    }
}
