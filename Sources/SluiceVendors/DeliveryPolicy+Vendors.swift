public import Sluice

extension DeliveryPolicy {
    /// The policy of Sensors Analytics' SDKs. A pass starts with 100 events or after 15 s, and sends batches of 50,
    /// one at a time.
    ///
    /// ```swift
    /// var policy = DeliveryPolicy.sensors
    /// policy.flushInterval = .seconds(5)
    /// ```
    ///
    /// You can change the interval to 5 s or longer.
    public static let sensors = DeliveryPolicy(
        batch: BatchSize(events: 50, bytes: 262_144), flushCount: 100, flushInterval: .seconds(15),
        flushIntervals: .seconds(5) ... .seconds(31_536_000))

    /// The policy of one of the two channels of App Center's SDKs: 50 events or 6 s start a pass.
    ///
    /// Use ``Sluice/Route/appCenter(interval:_:)``, which makes both channels. In a single route, a critical event would start
    /// a pass that also sends the normal ones.
    ///
    /// You can change the interval to 6 … 86,400 s. Batches of 50 are sent up to three at a time, and therefore unordered.
    /// Retries wait 5 to 10 s, 2.5 to 5 min, and then 10 to 20 min.
    public static let appCenter = DeliveryPolicy(
        batch: BatchSize(events: 50, bytes: 262_144), flushCount: 50, flushInterval: .seconds(6),
        flushIntervals: .seconds(6) ... .seconds(86_400),
        backOffSteps: [
            .seconds(5) ... .seconds(10), .seconds(150) ... .seconds(300), .seconds(600) ... .seconds(1_200),
        ],
        maximumBatchesInFlight: 3)
}
