/// Calls a closure at a time, unless it is set to another one before.
final class Alarm: Sendable {
    private let clock: any TimeSource
    private let task = Locked<Task<Void, Never>?>(nil)

    init(_ clock: any TimeSource) {
        self.clock = clock
    }

    /// Replaces the former time. Nil ends it. A set alarm keeps `ring`, and everything that `ring` captures, until the
    /// time.
    func set(_ time: Duration?, ring: @escaping @Sendable () -> Void = {}) {
        let next = time.map { time in
            Task { [clock] in
                do {
                    repeat { try await clock.sleep(until: time) } while clock.continuousTime() < time
                } catch {
                    return  // Replaced.
                }
                ring()
            }
        }
        task.withLock { task in
            task?.cancel()
            task = next
        }
    }
}
