import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// Without virtual time: thousands of rounds in which a lost wake-up or continuation would hang the test.
@Suite(.timeLimit(.minutes(10))) struct WakeUpTests {
    /// Accepts, and now and then fails or is slow by a turn of the scheduler.
    private struct Restless: Transport {
        let random: @Sendable () -> UInt64

        func send(_ batch: Batch) async throws -> Verdicts {
            switch random() % 16 {
            case 0: throw SluiceError(.inputOutput, "a bad moment")
            case 1: return .each(batch.events.map { _ in random() % 2 == 0 ? .accepted : .retry(after: nil) })
            case 2...6:
                await Task.yield()
                return .all(.accepted)
            default: return .all(.accepted)
            }
        }
    }

    /// The interval is far away, so that only the wake-ups of flushes and counts lead to the end.
    private static let policy = DeliveryPolicy(
        batch: BatchSize(events: 8, bytes: .max), flushCount: 1_000_000, flushInterval: .seconds(80_000))

    @Test("each flush returns, and all flushes together bring everything home")
    func eachFlushReturns() async throws {
        let random = Locked(SeededRandom(seed: 7))
        let store = WatchedStore()
        let pipeline = try Pipeline(delivery: Self.policy) {
            store
            Restless(random: { random.withLock { $0.next() } })
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<2_000 {
                        pipeline.track("Task \(task)", ["round": .int(round)])
                        await pipeline.flush()
                    }
                }
            }
        }
        while await pipeline.flush().waiting > 0 {}
        #expect(pipeline.ledger.routes[0].delivered == 16_000)
        #expect(pipeline.ledger.isBalanced)
        await pipeline.shutdown(deadline: .seconds(600))
        #expect(store.offences.isEmpty)
    }

    /// A count of one: every append into an empty store must wake the loop, and nobody flushes.
    @Test("an append into an empty store is never overlooked")
    func appendIntoEmpty() async throws {
        let accepted = AsyncStream.makeStream(of: Int.self)
        struct Telling: Transport {
            let continuation: AsyncStream<Int>.Continuation

            func send(_ batch: Batch) async throws -> Verdicts {
                continuation.yield(batch.events.count)
                return .all(.accepted)
            }
        }
        let pipeline = try Pipeline(delivery: DeliveryPolicy(flushCount: 1, flushInterval: .seconds(80_000))) {
            MemoryStore()
            Telling(continuation: accepted.continuation)
        }
        var arrivals = accepted.stream.makeAsyncIterator()
        for _ in 0..<20_000 {
            pipeline.track("Event")
            #expect(await arrivals.next() == 1)
        }
        await pipeline.shutdown(deadline: .seconds(600))
    }

    /// Pipelines that end in the middle of everything: no flush and no shutdown may be left behind.
    @Test("pipelines that end while they are used leave nobody waiting")
    func pipelinesEndWhile() async throws {
        for seed in 0..<400 as Range<UInt64> {
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
                        // No deadline at all, or more than enough.
                        await pipeline.shutdown(deadline: seed % 2 == 0 ? .zero : .seconds(80_000))
                    }
                }
            }
            #expect(pipeline.ledger.isBalanced, "seed \(seed)")
            #expect(store.isClosed)
            #expect(store.offences.isEmpty, "seed \(seed): \(store.offences)")
        }
    }
}
