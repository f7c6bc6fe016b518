public import Sluice

/// What every ``Sluice/Transport`` promises, checked on one.
public enum TransportContract {
    /// Sends single events, full batches, the same batch twice and several at once, and cancels a send.
    ///
    /// It promises: one verdict for each event, or one for all; to return after a cancellation; and to take any number
    /// of sends, also at the same time. Let the receiver accept, refuse or hang: the promises are the same.
    ///
    /// - Parameters:
    ///   - patience: how long a cancelled send may take to return before it counts as hanging: 10 s by default. It
    ///     passes only if the promise is broken.
    ///   - make: makes the transport.
    /// - Throws: ``Sluice/SluiceError/Code/brokenContract`` with a sentence that says which promise was broken; and what `make`
    ///   and ``Sluice/Transport/open()`` throw.
    public static func check(
        patience: Duration = .seconds(10), _ make: () throws -> some Transport
    ) async throws {
        let transport = try make()
        try transport.open()
        let maximum = transport.maximumBatchSize
        let single = Batch(id: Batch.ID(rawValue: 1), events: [try Samples.line(0)])
        let full = Batch(id: Batch.ID(rawValue: 2), events: try Samples.lines(1..<1 + min(100, maximum.events)))
        for batch in [single, full, full] { try await send(batch, by: transport) }

        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                let batch = Batch(id: Batch.ID(rawValue: 10 + UInt64(number)), events: full.events)
                group.addTask { try await send(batch, by: transport) }
            }
            try await group.waitForAll()
        }
        try await cancel(full, transport, patience)
    }

    private static func send(_ batch: Batch, by transport: some Transport) async throws {
        let verdicts: Verdicts
        do {
            verdicts = try await transport.send(batch)
        } catch {
            return  // A thrown error is a verdict too: a retry of all.
        }
        if case .each(let list) = verdicts {
            try require(
                list.count == batch.events.count, "\(list.count) verdicts on a batch of \(batch.events.count) events")
        }
    }

    /// The send runs in a task of its own: one that hangs must not take this check with it.
    private static func cancel(_ batch: Batch, _ transport: some Transport, _ patience: Duration) async throws {
        let (returns, continuation) = AsyncStream.makeStream(of: Bool.self)
        let sending = Task {
            _ = try await transport.send(batch)
        }
        let waiting = Task {
            _ = await sending.result
            continuation.yield(true)
        }
        let alarm = Task {
            try await ContinuousClock().sleep(for: patience)
            continuation.yield(false)
        }
        sending.cancel()
        var iterator = returns.makeAsyncIterator()
        let hasReturned = await iterator.next() ?? false
        waiting.cancel()
        alarm.cancel()
        try require(hasReturned, "a cancelled send did not return: it must, or a shutdown abandons it")
    }
}
