import Sluice
import Testing

/// Runs each test of a suite on a thread of its own.
///
/// Use it for tests that need a kept connection. Otherwise a test waits between two requests until all other tests have run
/// for a while, and a client doesn't reuse a connection that was idle for 118 s (libcurl's default).
struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *), testCase != nil else {
            return try await body()
        }
        try await withTaskExecutorPreference(ThreadExecutor()) { try await body() }
    }
}

extension Trait where Self == OwnThread {
    static var ownThread: OwnThread { OwnThread() }
}
