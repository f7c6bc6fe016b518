/// Batches whose remaining events the receiver has all deferred. No worker holds them.
struct DeferredBatches: Sendable {
    private struct Deferred {
        let batch: BatchProgress
        var until: Duration
        /// The time that the receiver asked for. Not even a flush sends before it.
        let notBefore: Duration
    }

    private var deferred: [Deferred] = []

    var isEmpty: Bool { deferred.isEmpty }

    mutating func add(_ batch: BatchProgress, _ deferral: (notBefore: Duration, until: Duration)) {
        deferred.append(Deferred(batch: batch, until: deferral.until, notBefore: deferral.notBefore))
    }

    func hasReady(at now: Duration) -> Bool { deferred.contains { $0.until <= now } }

    /// Takes a batch whose deferral has ended, with its events sendable again.
    mutating func takeReady(at now: Duration) -> BatchProgress? {
        guard let index = deferred.firstIndex(where: { $0.until <= now }) else { return nil }
        var batch = deferred.remove(at: index).batch
        batch.resume()
        return batch
    }

    /// The next end of a deferral after `now`.
    func nextEnd(after now: Duration) -> Duration? {
        deferred.map(\.until).filter { $0 > now }.min()
    }

    /// Ends the deferrals for which the receiver named no time.
    mutating func flush() {
        for index in deferred.indices { deferred[index].until = deferred[index].notBefore }
    }

    mutating func removeAll() -> [BatchProgress] {
        defer { deferred = [] }
        return deferred.map(\.batch)
    }
}
