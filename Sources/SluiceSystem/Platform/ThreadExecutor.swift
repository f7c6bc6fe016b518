private import Dispatch

/// Runs one task on a thread of its own.
///
/// A transport or a disk that blocks then delays that task only. On the shared threads of Swift concurrency, as many
/// blocked calls as the machine has cores would stop every task of the host, including the one that awaits
/// `Pipeline.shutdown(timeout:)`. The queue has a thread only while the task has something to do.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
package final class ThreadExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "sluice")

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension Task where Success == Void, Failure == Never {
    /// Runs `body`, which can block, on a thread of its own, and returns its result.
    package static func runningOnOwnThread<Value: Sendable>(
        hasThreads: Bool, _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            onOwnThread(hasThreads: hasThreads) { continuation.resume(returning: body()) }
        }
    }

    /// Starts a task on a thread of its own, for work that can block. Before macOS 15 and iOS 18, and without
    /// `hasThreads`, it runs on the shared threads of Swift concurrency.
    ///
    /// The task is detached, because it must not keep the task-locals of the code that starts it.
    @discardableResult
    package static func onOwnThread(
        priority: TaskPriority? = nil, hasThreads: Bool = true, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *), hasThreads {
            Task.detached(executorPreference: ThreadExecutor(), priority: priority, operation: body)
        } else {
            Task.detached(priority: priority, operation: body)
        }
    }
}
