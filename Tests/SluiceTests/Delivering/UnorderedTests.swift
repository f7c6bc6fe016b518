import Dispatch
import SluiceMemory
import SluiceTesting
import Testing

@testable import Sluice

/// Routes with more than one batch in flight.
@Suite struct UnorderedTests {
    static let policy: DeliveryPolicy = {
        var policy = Bench.policy
        policy.maximumBatchesInFlight = 3
        return policy
    }()

    @Test("three batches are sent before the first response, and no fourth")
    func atMostThreeBatchesInFlight() async throws {
        let bench = try Bench(ScriptedTransport(then: .hang), delivery: Self.policy)
        bench.trackWhilePaused(45)
        let flush = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(3)
        // The flush waits for the batches in flight. A fourth send would be seen here.
        bench.transport.release(.all(.accepted))
        await bench.transport.waitForSends(5)
        #expect(bench.sizes.prefix(3) == [10, 10, 10])
        #expect(bench.sizes.sorted() == [5, 10, 10, 10, 10])
        bench.transport.release(.all(.accepted))
        #expect(await flush.value.waiting == 0)
        #expect(bench.ledger.delivered == 45)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    /// The first count of dead letters is read before the second batch is rejected, and noted after that one's.
    private final class LateCountStore: StoreWrapper {
        let base = MemoryStore()
        let isCounted = DispatchSemaphore(value: 0)
        let isNoted = DispatchSemaphore(value: 0)
        private let calls = Locked((rejections: 0, counts: 0))

        func reject(_ letters: [DeadLetter], in batch: Batch.ID) {
            if next(\.rejections) == 2 { isCounted.wait() }
            base.reject(letters, in: batch)
        }

        var backlog: Backlog {
            let backlog = base.backlog
            if backlog.deadLetters > 0, next(\.counts) == 1 {
                isCounted.signal()
                isNoted.wait()
            }
            return backlog
        }

        private func next(_ count: WritableKeyPath<(rejections: Int, counts: Int), Int>) -> Int {
            calls.withLock { calls in
                calls[keyPath: count] += 1
                return calls[keyPath: count]
            }
        }
    }

    @Test("workers that count dead letters at the same time count all of them")
    func countsDeadLettersOfAllWorkers() async throws {
        let store = LateCountStore()
        let transport = ScriptedTransport(then: .hang)
        let pipeline = try Pipeline(
            delivery: Self.policy, environment: Bench.environment(VirtualTime()),
            onDiagnostic: { if $0.kind == .rejected { store.isNoted.signal() } }
        ) {
            store
            transport
        }
        pipeline.pauseDelivery()
        for number in 0..<20 { pipeline.track("Event \(number)") }
        pipeline.resumeDelivery()
        let flush = Task { await pipeline.flush() }
        await transport.waitForSends(2)
        // The flush would end with the 20th refusal in a row, although the other worker still counts.
        transport.release(.each([.accepted] + Array(repeating: .rejected(reason: "no"), count: 9)))
        _ = await flush.value
        let route = pipeline.ledger.routes[0]
        #expect(route.rejected == 18)
        #expect(route.deadLetters == 18)
    }
}
