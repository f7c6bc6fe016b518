import Sluice

/// How a contract waits for a plugin that may never return.
package enum ContractTimeout {
    /// Returns when the time is over. Tests replace it, because a busy machine can be slow without a fault of the plugin.
    @TaskLocal package static var wait: @Sendable (Duration) async throws -> Void = {
        try await ContinuousClock().sleep(for: $0)
    }
}

/// Runs a part of a check, which can block, on a thread of its own.
///
/// - Throws: ``Sluice/SluiceError/Code/brokenContract`` with `promise` if the part doesn't return in time. Its thread then
///   stays behind. Otherwise, the error of the part.
@discardableResult
func returning<Value: Sendable>(
    within timeout: Duration, orElse promise: String, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let (results, continuation) = AsyncStream.makeStream(of: Result<Value, any Error>.self)
    let work = Task.onOwnThread {
        do {
            continuation.yield(.success(try await body()))
        } catch {
            continuation.yield(.failure(error))
        }
    }
    let wait = ContractTimeout.wait
    // The part may block the threads that all tasks share.
    let alarm = Task.onOwnThread {
        do {
            try await wait(timeout)
            continuation.yield(.failure(SluiceError(.brokenContract, promise)))
        } catch {
            return  // Cancelled: the part has returned.
        }
    }
    defer {
        work.cancel()
        alarm.cancel()
    }
    for await result in results { return try result.get() }
    throw CancellationError()
}

func require(_ condition: Bool, _ promise: @autoclosure () -> String) throws(SluiceError) {
    if !condition { throw SluiceError(.brokenContract, promise()) }
}
