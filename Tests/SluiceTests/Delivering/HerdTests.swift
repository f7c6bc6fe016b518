import SluiceTesting
import Testing

/// What many clients do to a server that comes back.
@Suite(.timeLimit(.minutes(10))) struct HerdTests {
    /// Enough capacity for what the back-off spreads, just enough, too little, and far too little.
    static let scenarios: [Herd.Scenario] = [
        Herd.Scenario(batches: 1, capacity: 200), Herd.Scenario(batches: 1, capacity: 65),
        Herd.Scenario(batches: 4, capacity: 200), Herd.Scenario(batches: 12, capacity: 100),
        Herd.Scenario(batches: 12, capacity: 500), Herd.Scenario(batches: 12, capacity: 100, retryAfter: .seconds(60)),
    ]

    @Test(
        "after an outage all arrives, and demand is under the capacity again, within twice the ideal time",
        arguments: scenarios)
    func afterOutageAll(
        scenario: Herd.Scenario
    ) throws {
        for seed in 0..<Trials.count(full: 10, few: 1) {
            var herd = Herd(scenario, seed: UInt64(seed))
            let result = herd.run()
            let drained = try #require(result.drained)
            // Waits of up to 300 s are the rule after a long outage, however able the server is.
            #expect(drained <= max(2 * scenario.ideal, 300.2))
            #expect(result.overloadEnd(scenario.capacity) <= 2 * scenario.ideal)
            #expect(result.peak <= 2 * Double(scenario.capacity))
            Trials.report(
                "herd, \(scenario), seed \(seed): ideal \(scenario.ideal) s, drained \(drained) s, "
                    + "peak \(result.peak)/s, over capacity until \(result.overloadEnd(scenario.capacity)) s")
        }
    }

    @Test("a server that could take the peak sees no overload at all")
    func serverCouldTake() throws {
        var herd = Herd(Herd.Scenario(batches: 1, capacity: 200), seed: 7)
        let result = herd.run()
        #expect(result.demand.allSatisfy { $0 <= 200 })
        #expect(try #require(result.drained) <= 300.2)
    }
}
