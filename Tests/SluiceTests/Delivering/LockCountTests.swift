import SluiceTesting
import Testing

@testable import Sluice

/// The calls of the store for a batch. The rows `locks-of-event` and `locks-of-batch` of Tests/Instructions count all locks.
@Suite struct LockCountTests {
    @Test("a batch uses its store at most four times", arguments: [1, 10, 100])
    func batchUsesStoreFourTimes(batches: Int) async throws {
        let store = CountedStore()
        let transport = ScriptedTransport()
        let policy = DeliveryPolicy(batch: BatchSize(events: 10, bytes: .max), flushCount: 10_000)
        let route = try RouteRuntime(
            named: "main", store, transport, policy: policy, environment: PipelineEnvironment(time: VirtualTime())
        ) { _ in }
        try route.open()
        for number in 0..<10 * batches {
            let event = Event(
                id: EventID(high: 0, low: UInt64(number)), name: "Event", time: Timestamp(milliseconds: 0))
            #expect(route.append(try EventLine(event)) == nil)
        }
        let before = store.calls
        route.start()
        await route.flush()
        // A batch is taken and settled. The flush asks until the store returns nothing.
        #expect(store.calls - before <= 2 * batches + 2)
        await route.shutdown(until: .zero)
        #expect(transport.batches.count == batches)
    }
}

/// Counts the calls of a worker.
private final class CountedStore: StoreWrapper {
    let base = WatchedStore()
    private let count = Locked(0)

    var calls: Int { count.withLock(\.self) }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        count.withLock { $0 += 1 }
        return try base.nextBatch(size)
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        count.withLock { $0 += 1 }
        try base.settle(batch)
    }

    var backlog: Backlog {
        count.withLock { $0 += 1 }
        return base.backlog
    }
}
