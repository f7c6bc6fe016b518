/// Delays the answer to a wrong token, which slows down a program that tries one token after another.
///
/// A request with the right token never waits. A request that waits holds a connection, so only a limited number of them
/// wait. Otherwise, wrong tokens could use up the process's descriptors, and the user couldn't connect any more.
actor WrongTokenDelay {
    private let limit: Int
    private let pause: @Sendable () async throws -> Void
    private var waiting = 0

    /// - Parameters:
    ///   - limit: The number of requests that may wait at the same time. Further ones are answered without a delay.
    ///   - pause: Returns when the delay is over. One second by default.
    init(
        limit: Int = 64, pause: @escaping @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(1)) }
    ) {
        self.limit = limit
        self.pause = pause
    }

    /// Returns after the delay. Call this before you answer a request that has a wrong token.
    func wait() async throws {
        guard waiting < limit else { return }
        waiting += 1
        defer { waiting -= 1 }
        try await pause()
    }
}
