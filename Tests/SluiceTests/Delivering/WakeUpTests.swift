import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// Many rounds in real time, in which a lost wake-up or continuation would hang the test.
@Suite struct WakeUpTests {
    /// Accepts most batches, fails some, and yields before others.
    private struct Restless: Transport {
        let random: @Sendable () -> UInt64

        func send(_ batch: Batch) async throws -> Verdicts {
            switch random() % 16 {
            case 0: throw SluiceError(.inputOutput, "a failure")
            case 1: return .each(batch.events.map { _ in random() % 2 == 0 ? .accepted : .retry(after: nil) })
            case 2...6:
                await Task.yield()
                return .all(.accepted)
            default: return .all(.accepted)
            }
        }
    }

    /// The interval is long, so that only flushes and counts wake the route.
    private static let policy = DeliveryPolicy(
        batch: BatchSize(events: 8, bytes: .max), flushCount: 1_000_000, flushInterval: .seconds(80_000))

    @Test("each flush returns, and all flushes together deliver everything")
    func concurrentFlushesDeliverEverything() async throws {
        let rounds = Trials.count(full: 2_000, few: 250)
        let random = Locked(SeededRandom(seed: 7))
        let store = WatchedStore()
        let pipeline = try Pipeline(delivery: Self.policy) {
            store
            Restless(random: { random.withLock { $0.next() } })
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<rounds {
                        pipeline.track("Task \(task)", ["round": .int(round)])
                        await pipeline.flush()
                    }
                }
            }
        }
        while await pipeline.flush().waiting > 0 {}
        #expect(pipeline.ledger.routes[0].delivered == 8 * rounds)
        #expect(pipeline.ledger.isBalanced)
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(store.offences.isEmpty)
    }

    /// With a count of one, every append to an empty store must wake the route. There is no flush.
    @Test("an append to an empty store is always noticed", arguments: [1, 3])
    func appendToEmptyStoreIsNoticed(batchesInFlight: Int) async throws {
        let accepted = AsyncStream.makeStream(of: Int.self)
        struct Telling: Transport {
            let continuation: AsyncStream<Int>.Continuation

            func send(_ batch: Batch) async throws -> Verdicts {
                continuation.yield(batch.events.count)
                return .all(.accepted)
            }
        }
        var policy = DeliveryPolicy(flushCount: 1, flushInterval: .seconds(80_000))
        policy.maximumBatchesInFlight = batchesInFlight
        let pipeline = try Pipeline(delivery: policy) {
            MemoryStore()
            Telling(continuation: accepted.continuation)
        }
        var arrivals = accepted.stream.makeAsyncIterator()
        for _ in 0..<Trials.count(full: 20_000, few: 2_000) {
            pipeline.track("Event")
            #expect(await arrivals.next() == 1)
        }
        await pipeline.shutdown(timeout: .seconds(600))
    }

    /// No flush and no shutdown may wait forever if pipelines end while they are used.
    @Test("a shutdown during use ends all waits")
    func shutdownDuringUseEndsAllWaits() async throws {
        for seed in 0..<UInt64(Trials.count(full: 400, few: 60)) {
            let random = Locked(SeededRandom(seed: seed))
            let store = WatchedStore()
            let pipeline = try Pipeline(delivery: Self.policy) {
                store
                Restless(random: { random.withLock { $0.next() } })
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<5 {
                            pipeline.track("Event")
                            await pipeline.flush()
                        }
                    }
                }
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<seed % 20 { await Task.yield() }
                        // No time, or more than enough.
                        await pipeline.shutdown(timeout: seed % 2 == 0 ? .zero : .seconds(80_000))
                    }
                }
            }
            // A shutdown doesn't wait for long if the store is in use at its deadline.
            while !store.isClosed, !Task.isCancelled { await Task.yield() }
            #expect(pipeline.ledger.isBalanced, "seed \(seed)")
            #expect(store.isClosed)
            #expect(store.offences.isEmpty, "seed \(seed): \(store.offences)")
        }
    }
}
