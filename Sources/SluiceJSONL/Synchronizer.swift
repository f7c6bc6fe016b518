internal import Sluice

/// Makes written events survive a loss of power: when it is called, and once an interval.
///
/// If the drive is slower than the events, files pile up. Appends then wait for the drive.
final class Synchronizer: Sendable {
    /// When to synchronize after an append.
    enum Due {
        case afterInterval
        /// Before the append returns.
        case now
    }

    private let access: StateAccess
    /// Of the task, and of the appends that wait for the drive.
    private let turn = Turn()

    init(_ access: StateAccess) {
        self.access = access
    }

    /// Writes buffered events, and synchronizes one file after another, `most` of them at most.
    ///
    /// - Returns: the last failure, which has been reported.
    func run(most: Int = .max, while mayContinue: () -> Bool = { true }) throws(SluiceError) -> FileError? {
        let items = try access.perform { state throws(SluiceError) in try state.unsynchronized() }
        var failure: FileError?
        for item in items.prefix(most) {
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

    /// Begins the work that an append has found to be due.
    func follow(_ due: Due) {
        switch due {
        case .afterInterval: start(since: access.now)
        case .now: catchUp()
        }
    }

    /// Waits until the drive has all closed files, without the store's lock.
    private func catchUp() {
        inTurn { () throws(SluiceError) in
            guard access.read(\.stored.directories.synchronization.isBehind) else { return }
            let failure = try run()
            access.use { $0.caughtUp(hasFailed: failure != nil) }
        }
        // This event may have been stored after another append's synchronization had begun.
        if access.use({ $0.scheduleSynchronization() }) { start(since: access.now) }
    }

    private func inTurn(_ body: () throws(SluiceError) -> Void) {
        // If this fails, the store was closed, or a closure for diagnostics appends. A failure of the drive has been reported.
        _ = SluiceError.of(try turn.take(body))
    }

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
            self?.inTurn { () throws(SluiceError) in _ = try self?.run() }
            self?.end(begun: now)
        }
    }

    private func end(begun start: Duration) {
        let isDue = access.use { state in
            state.stored.directories.synchronization.isScheduled = false
            return state.scheduleSynchronization()
        }
        if isDue { self.start(since: start) }
    }
}
