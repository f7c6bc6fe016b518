import SluiceMemory

/// The time to drain a backlog over a connection with a round trip of 100 ms, with one request after another.
struct SluiceRoundTrip: Candidate {
    private static let batch = BatchSize(events: 100, bytes: 262_144)
    private static let unit = Unit(name: "s", decimals: 1)

    let rows = [
        Row(
            name: "round-trip-100",
            description: "the events of five rounds wait, each send takes 100 ms: 100 events in each",
            unit: SluiceRoundTrip.unit, baseline: nil),
        Row(
            name: "round-trip", description: "the same with the default policy, whose batches grow with the backlog",
            unit: SluiceRoundTrip.unit, baseline: "round-trip-100"),
    ]

    private struct SlowTransport: Transport {
        func send(_ batch: Batch) async throws -> Verdicts {
            try await Task.sleep(for: .milliseconds(100))
            return .all(.accepted)
        }
    }

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        var times: [Double] = []
        let events = 5 * events
        for policy in [DeliveryPolicy(batch: SluiceRoundTrip.batch), .standard] {
            let pipeline = try Pipeline(delivery: policy) {
                SluicePipeline.sixStages(stateIn: "\(folder)/\(times.count)")
                MemoryStore(capacity: .max)
                SlowTransport()
            }
            try SluicePipeline.track(events, into: pipeline)
            let time = WallTime()
            try await SluicePipeline.deliver(events, of: pipeline)
            times.append(time.seconds)
        }
        return times
    }
}
