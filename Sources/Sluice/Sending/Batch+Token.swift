extension Batch {
    /// Creates a batch of some events of another one, by their indices.
    package init(_ batch: Batch, _ indices: some Sequence<Int>) {
        self.init(id: batch.id, events: indices.map { batch.events[$0] }, retryCount: batch.retryCount)
    }

    /// Identifies the events of the batch and their order, for backends that drop a request that they have already. It is
    /// the same for every attempt to send the same events, also by another process, and different for any other events. At
    /// most 64 characters of printable ASCII.
    ///
    /// ```swift
    /// struct IdempotentFormat: WireFormat {
    ///     func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
    ///         request.setHeader("Idempotency-Key", batch.deduplicationToken)
    ///     }
    /// }
    /// ```
    ///
    /// - Complexity: O(number of events).
    public var deduplicationToken: String {
        var hash = FNV1a()
        for line in events {
            if let id = line.id {
                hash.add(id.high)
                hash.add(id.low)
            } else {
                hash.add(FNV1a(line.bytes).value)
            }
        }
        return (events.first?.id?.description ?? "batch") + "-" + String(hash.value, radix: 16)
    }
}
