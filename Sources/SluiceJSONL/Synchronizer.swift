internal import Sluice

/// Makes written events survive a loss of power: when it is called, and once an interval.
final class Synchronizer: Sendable {
    private let access: StateAccess

    init(_ access: StateAccess) {
        self.access = access
    }

    /// Writes buffered events, and synchronizes one file after another.
    ///
    /// - Returns: the last failure, which has been reported.
    func run(while mayContinue: () -> Bool) throws(SluiceError) -> FileError? {
        let items = try access.perform { state throws(SluiceError) in try state.unsynchronized() }
        var failure: FileError?
        for item in items {
            guard mayContinue() else { break }
            var hasFailed = false
            // Without the lock: callers of append must not wait for the drive.
            do throws(FileError) {
                try item.synchronize(in: access.files)
            } catch {
                failure = error
                // Nothing was synchronized for want of a descriptor. The next run tries it again.
                if error.isPassing { continue }
                hasFailed = true
            }
            access.use { [hasFailed] in $0.finish(item, hasFailed: hasFailed) }
        }
        if let failure { access.use { $0.stored.notes.append("events may not survive a loss of power: \(failure)") } }
        return failure
    }

    /// Synchronizes at most eight files, because closing a store must not take long.
    func runBriefly() {
        var rest = 8
        do throws(SluiceError) {
            _ = try run {
                rest -= 1
                return rest >= 0
            }
        } catch {
            // The store is closed, or can't write, which closing it reports.
        }
    }

    /// Synchronizes one interval from now.
    func start() { start(since: access.now) }

    /// - Parameter start: when the oldest of the events that are not safe may have been stored.
    private func start(since start: Duration) {
        guard let interval = access.configuration.interval else { return }
        let environment = access.environment
        let time = environment.time
        Task.onOwnThread(hasThreads: environment.hasThreads) { [weak self] in
            do {
                try await time.sleep(until: start + interval)
            } catch {
                // Only a cancelled task is woken early, and this one is never cancelled.
            }
            let now = time.continuousTime()
            do throws(SluiceError) {
                _ = try self?.run { true }
            } catch {
                // The store was closed. A failure of the drive has been reported.
            }
            self?.end(begun: now)
        }
    }

    private func end(begun start: Duration) {
        let isDue = access.use { state in
            state.stored.directories.synchronization.isScheduled = false  // mutant: synchronize-once
            return state.phase == .open && state.scheduleSynchronization()
        }
        if isDue { self.start(since: start) }
    }
}
