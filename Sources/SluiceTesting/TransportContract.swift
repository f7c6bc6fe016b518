public import Sluice

/// Checks your ``Sluice/Transport`` against the promises of the protocol.
///
/// ```swift
/// try await TransportContract.check { StdoutTransport() }
/// ```
public enum TransportContract {
    /// Sends single events, full batches, the same batch twice and several concurrently, and cancels a send.
    ///
    /// The transport must return one verdict for each event or one for all, return after a cancellation, and allow
    /// concurrent sends. The receiver can accept, refuse or hang.
    ///
    /// - Parameters:
    ///   - timeout: The time that a send has to return. Pass more if the timeouts of your transport are longer.
    ///   - isolation: The caller's actor, on which `make` runs.
    ///   - make: Makes the transport.
    /// - Throws: ``Sluice/SluiceError/Code/brokenContract`` with the broken promise, and errors thrown by `make` and
    ///   ``Sluice/Transport/open(_:in:)``.
    public static func check(
        timeout: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation,
        _ make: () throws -> some Transport
    ) async throws {
        let transport = try make()
        try transport.open(TransportObserver(), in: PipelineEnvironment())
        let maximum = transport.maximumBatchSize
        let single = Batch(id: 1, events: [try Samples.line(0)])
        let full = Batch(id: 2, events: try Samples.lines(1..<1 + min(100, maximum.events)))
        for batch in [single, full, full] {
            try await send(batch, by: transport, timeout, "a send of \(batch.events.count) events")
        }

        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                let batch = Batch(id: 10 + UInt64(number), events: full.events)
                group.addTask { try await send(batch, by: transport, timeout, "one of eight concurrent sends") }
            }
            try await group.waitForAll()
        }
        try await cancel(full, transport, timeout)
    }

    private static func send(
        _ batch: Batch, by transport: some Transport, _ timeout: Duration, _ name: String
    ) async throws {
        let promise = "\(name) didn't return within \(timeout): a transport needs timeouts of its own"
        try await returning(within: timeout, orElse: promise) {
            let verdicts: Verdicts
            do {
                verdicts = try await transport.send(batch)
            } catch {
                return  // A thrown error is a valid result: all events are retried.
            }
            if case .each(let list) = verdicts.kind {
                try require(
                    list.count == batch.events.count,
                    "\(list.count) verdicts on a batch of \(batch.events.count) events")
            }
        }
    }

    private static func cancel(_ batch: Batch, _ transport: some Transport, _ timeout: Duration) async throws {
        let sending = Task<Void, Never>.onOwnThread {
            do { _ = try await transport.send(batch) } catch { return }
        }
        sending.cancel()
        let promise = "a cancelled send didn't return: a shutdown would have to abandon it"
        try await returning(within: timeout, orElse: promise) { await sending.value }
    }
}
