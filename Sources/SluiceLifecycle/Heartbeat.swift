import Sluice

/// Something that is done again and again while the app is in the foreground, so that after a crash it is known until
/// when it lived.
final class Heartbeat: Sendable {
    private let time: any TimeSource
    private let interval: Duration
    private let task = Locked<Task<Void, Never>?>(nil)

    init(every interval: Duration, by time: any TimeSource) {
        // The system's clocks trap on sums that only absurd durations reach: a year stands for all of those.
        self.interval = min(max(.milliseconds(100), interval), .seconds(31_536_000))
        self.time = time
    }

    deinit {
        stop()
    }

    /// - Parameter beat: called on any thread, for the first time after one interval.
    func start(_ beat: @escaping @Sendable () -> Void) {
        let new = Task.detached(priority: .utility) { [time, interval] in
            while !Task.isCancelled {
                do {
                    try await time.sleep(until: time.continuousTime() + interval)
                } catch {
                    return
                }
                beat()
            }
        }
        replace(by: new)
    }

    func stop() {
        replace(by: nil)
    }

    private func replace(by new: Task<Void, Never>?) {
        let old = task.withLock { task in
            defer { task = new }
            return task
        }
        old?.cancel()
    }
}
