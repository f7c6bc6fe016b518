import Sluice

extension DeliveryPolicy {
    /// The same as SluiceHTTP's preset: an interval with a range, critical events, back-off steps and three batches in flight.
    static let appCenter = DeliveryPolicy(
        batch: BatchSize(events: 50, bytes: 262_144), flushCount: 50, flushInterval: .seconds(6),
        flushIntervals: .seconds(6) ... .seconds(86_400),
        backOffSteps: [
            .seconds(5) ... .seconds(10), .seconds(150) ... .seconds(300), .seconds(600) ... .seconds(1_200),
        ],
        maximumBatchesInFlight: 3)
}
