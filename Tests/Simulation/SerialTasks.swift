#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs all tasks of this process one after the other, on the one thread that asks for it: what depends on the order in
/// which tasks run is thereby the same in every run.
///
/// The runtime of Swift's concurrency has a hook for this, which replaces the global executor.
enum SerialTasks {
    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

    private final class Runner: SerialExecutor {
        func enqueue(_ job: UnownedJob) { SerialTasks.enqueue(job) }
    }

    private static let runner = Runner()
    // Everything happens on one thread: that is the point.
    nonisolated(unsafe) private static var jobs: [UnownedJob] = []
    nonisolated(unsafe) private static var next = 0

    /// - Returns: false if this system's runtime has no such hook.
    static func install() -> Bool {
        guard let symbol = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
        symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in SerialTasks.enqueue(job) }
        return true
    }

    private static func enqueue(_ job: UnownedJob) {
        jobs.append(job)
    }

    /// Runs up to `limit` jobs.
    ///
    /// - Returns: whether none is left.
    @discardableResult
    static func run(_ limit: Int = .max) -> Bool {
        var left = limit
        while next < jobs.count, left > 0 {
            let job = jobs[next]
            next += 1
            left -= 1
            if next == jobs.count || next > 1_024 {
                jobs.removeFirst(next)
                next = 0
            }
            job.runSynchronously(on: runner.asUnownedSerialExecutor())
        }
        return next == jobs.count
    }
}
