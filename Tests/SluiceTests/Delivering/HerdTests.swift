import SluiceTesting
import TestSupport
import Testing

/// Many clients and one server after an outage.
@Suite struct HerdTests {
    /// Capacities that are ample, just enough, too small and far too small for the clients.
    static let scenarios: [Herd.Scenario] = [
        (1, 200, nil), (1, 65, nil), (4, 200, nil), (12, 100, nil), (12, 500, nil), (12, 100, Duration.seconds(60)),
    ].map { batches, capacity, retryAfter in
        // Fewer clients of a smaller server show the same.
        let share = Trials.isFull ? 1 : 5
        return Herd.Scenario(
            clients: 10_000 / share, batches: batches, capacity: max(1, capacity / share), retryAfter: retryAfter)
    }

    @Test(
        "after an outage everything arrives, and demand is below the capacity again, within twice the ideal time",
        arguments: scenarios)
    func outageDrainsWithinTwiceIdealTime(
        scenario: Herd.Scenario
    ) throws {
        for seed in 0..<Trials.count(full: 10, few: 1) {
            var herd = Herd(scenario, seed: UInt64(seed))
            let result = herd.run()
            let drained = try #require(result.drained)
            // After a long outage waits are up to 300 s, even if the server has enough capacity. The last ones of fewer clients vary
            // more.
            #expect(drained <= max((Trials.isFull ? 2 : 2.2) * scenario.ideal, 300.2))
            #expect(result.overloadEnd(scenario.capacity) <= 2 * scenario.ideal)
            #expect(result.peak <= 2.35 * Double(scenario.capacity))
            Trials.report(
                "herd, \(scenario), seed \(seed): ideal \(scenario.ideal) s, drained \(drained) s, "
                    + "peak \(result.peak)/s, over capacity until \(result.overloadEnd(scenario.capacity)) s")
        }
    }

    @Test("a server with enough capacity for the peak is never overloaded")
    func sufficientServerIsNotOverloaded() throws {
        var herd = Herd(Herd.Scenario(clients: 2_000, batches: 1, capacity: 40), seed: 7)
        let result = herd.run()
        #expect(result.peak <= 40)
        #expect(try #require(result.drained) <= 300.2)
    }
}
