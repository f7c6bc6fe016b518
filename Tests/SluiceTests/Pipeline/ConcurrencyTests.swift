import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// The ledger under eight threads, with random calls of all other methods.
@Suite struct ConcurrencyTests {
    static let events = 10_000
    static let threads = 8

    /// Responses of every kind, some after a yield.
    struct Moody: Transport {
        let random: @Sendable () -> UInt64

        func send(_ batch: Batch) async throws -> Verdicts {
            if random() % 2 == 0 { await Task.yield() }
            switch random() % 12 {
            case 0: throw SluiceError(.inputOutput, "a bad moment")
            case 1: return .all(.retry(after: .milliseconds(1)))
            case 2: return .all(.tooLarge())
            case 3: return .all(.hold(reason: "not now"))
            case 4:
                let verdicts: [Verdict] = [.accepted, .duplicate, .rejected(reason: "bad"), .retry(after: nil)]
                return .each(batch.events.map { _ in verdicts[Int(random() % 4)] })
            case 5: return .each([])
            default: return .all(.accepted)
            }
        }
    }

    static func random(_ seed: UInt64) -> @Sendable () -> UInt64 {
        let random = Locked(SeededRandom(seed: seed))
        return { random.withLock { $0.next() } }
    }

    static func pipeline(_ seed: UInt64, _ stores: [WatchedStore]) throws -> Pipeline {
        let policy = DeliveryPolicy(
            flushCount: 20, backOff: .milliseconds(1), maximumBackOff: .milliseconds(2))
        // Some events are dropped above the routes, and some in one, for the ledger to count.
        let sieve = Filter(droppingAs: DropReason(rawValue: "seventh")) { $0.id.low % 7 != 0 }
        return try Pipeline(delivery: policy) {
            Filter { $0.id.low % 50 != 0 }
            Route("sieved", sieve, in: stores[0], to: Moody(random: random(seed)))
            Route("small", in: MemoryStore(capacity: 20_000), to: Moody(random: random(seed &+ 1)))
            Route("plain", in: stores[1], to: Moody(random: random(seed &+ 2)))
        }
    }

    static func track(_ pipeline: Pipeline, in group: inout TaskGroup<Void>) {
        for thread in 0..<threads {
            group.addTask {
                for number in 0..<events {
                    let priority: Event.Priority = number % 100 == 0 ? .critical : .normal
                    pipeline.track("Thread \(thread)", ["number": .int(number)], priority: priority)
                    if number % 500 == 0 { await Task.yield() }
                }
            }
        }
    }

    /// Calls random methods of the pipeline `count` times.
    static func disturb(_ pipeline: Pipeline, _ count: Int, _ random: () -> UInt64) async {
        for _ in 0..<count {
            switch random() % 8 {
            case 0: pipeline.pauseDelivery()
            case 1, 2: pipeline.resumeDelivery()
            case 3: pipeline.signal(.connectivity(.available))
            case 4: pipeline.signal(.didEnterBackground)
            case 5: _ = pipeline.ledger
            default: await pipeline.flush()
            }
        }
    }

    /// The shutdown comes after all calls of `track`, or among them.
    @Test("every event is accounted for", arguments: [1, 2] as [UInt64], [true, false])
    func everyEventIsAccountedFor(seed: UInt64, endsInTheMiddle: Bool) async throws {
        let stores = [WatchedStore(), WatchedStore()]
        let pipeline = try Self.pipeline(seed, stores)
        await withTaskGroup(of: Void.self) { group in
            Self.track(pipeline, in: &group)
            for task in 0..<3 as Range<UInt64> {
                group.addTask { await Self.disturb(pipeline, 150, Self.random(seed &* 31 &+ task)) }
            }
            if endsInTheMiddle {
                group.addTask {
                    while pipeline.ledger.tracked < Self.events * Self.threads / 3, !Task.isCancelled {
                        await Task.yield()
                    }
                    await pipeline.shutdown(timeout: .zero)
                    // The other threads may have been faster.
                    pipeline.track("Late")
                }
            }
        }
        let ledger = await pipeline.shutdown(timeout: .zero)
        #expect(ledger.tracked == Self.events * Self.threads + (endsInTheMiddle ? 1 : 0))
        #expect(ledger.isBalanced, "seed \(seed): \(ledger)")
        #expect((ledger.dropped[.shutDown, default: 0] > 0) == endsInTheMiddle)
        #expect(ledger.dropped[.filtered, default: 0] > 0)
        #expect(endsInTheMiddle || ledger.routes.contains { $0.delivered > 0 })
        for store in stores { #expect(store.offences.isEmpty, "seed \(seed): \(store.offences)") }
    }
}
