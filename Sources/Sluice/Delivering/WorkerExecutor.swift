private import Dispatch

/// Runs one worker of a route on a thread of its own.
///
/// A transport or a disk that blocks then delays its own batch only. On the shared threads of Swift concurrency, as many
/// blocked calls as the machine has cores would stop every task of the host, including the one that awaits
/// ``Pipeline/shutdown(deadline:)``. The queue has a thread only while the worker has something to do.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class WorkerExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "sluice.delivery")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension RouteRuntime {
    /// Starts a task on a thread of its own. Before macOS 15 and iOS 18, it runs on the shared threads of Swift concurrency.
    ///
    /// The task is detached, so that it doesn't keep the task-locals of the code that builds the pipeline.
    @discardableResult
    func startWorker(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *), environment.hasThreads {
            Task.detached(executorPreference: WorkerExecutor(), operation: body)
        } else {
            Task.detached(operation: body)
        }
    }
}
