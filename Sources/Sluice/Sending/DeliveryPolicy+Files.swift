extension DeliveryPolicy {
    /// The policy for a `FileTransport` and for object stores: a file has 20,000 events, 8 MiB of lines, or the events of 5 minutes, whichever
    /// comes first.
    ///
    /// ```swift
    /// let pipeline = try Pipeline(delivery: .files) {
    ///     JSONLStore(at: queueDirectory, capacity: 100 << 20)
    ///     FileTransport(at: "/var/lake/events")
    /// }
    /// ```
    ///
    /// A `JSONLStore` delivers an eighth of its capacity at most, so give it 64 MiB or more. With
    /// ``standard``, a file would have at most 500 events, and readers are slow with many small
    /// files. Critical events wait as long as the others, because each file has events of one priority. After a failure, such
    /// as a full disk, the next attempt is at most 8 minutes later.
    public static let files = DeliveryPolicy(
        batch: BatchSize(events: 20_000, bytes: 8_388_608), flushCount: 20_000, flushInterval: .seconds(300),
        criticalInterval: .seconds(300), maximumBackOff: .seconds(30))
}
