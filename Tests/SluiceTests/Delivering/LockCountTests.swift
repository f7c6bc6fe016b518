import SluiceTesting
import Testing

@testable import Sluice

@Suite struct LockCountTests {
    @Test("a batch takes the route's lock at most four times", arguments: [1, 10, 100])
    func batchTakesLockFourTimes(batches: Int) async throws {
        let store = WatchedStore()
        let transport = ScriptedTransport()
        let policy = DeliveryPolicy(batch: BatchSize(events: 10, bytes: .max), flushCount: 10_000)
        let route = try RouteRuntime(
            Route("main") {
                store
                transport
            }, defaultPolicy: policy, environment: PipelineEnvironment(time: VirtualTime())
        ) { _ in }
        try route.open()
        for number in 0..<10 * batches {
            let event = Event(
                id: EventID(high: 0, low: UInt64(number)), name: "Event", time: Timestamp(milliseconds: 0))
            #expect(route.append(try EventLine(event), isNew: true) == nil)
        }
        let before = route.accesses
        route.start()
        await route.flush()
        // The flush itself, a worker that begins to look, and one that finds nothing more to do and waits, take it a few times
        // for all batches.
        #expect(route.accesses - before <= 4 * batches + 7, "\(route.accesses - before) for \(batches) batches")
        await route.shutdown(deadline: .zero)
        #expect(transport.batches.count == batches)
    }
}
