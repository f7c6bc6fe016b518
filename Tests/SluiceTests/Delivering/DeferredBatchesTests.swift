import SluiceMemory
import SluiceTesting
import Testing

@testable import Sluice

/// Receivers that defer single events, in many batches.
@Suite struct DeferredBatchesTests {
    /// Answers each event by its user.
    private final class Quota: Transport {
        let offered = Locked(0)
        private let answer: @Sendable (_ user: String) -> Verdict

        init(_ answer: @escaping @Sendable (_ user: String) -> Verdict) {
            self.answer = answer
        }

        func send(_ batch: Batch) async throws -> Verdicts {
            offered.withLock { $0 += batch.events.count }
            return .each(batch.events.map { answer($0.distinctID ?? "") })
        }
    }

    private static let policy = DeliveryPolicy(
        batch: BatchSize(events: 10, bytes: .max), flushCount: 10_000, flushInterval: .seconds(3_600),
        backOff: .milliseconds(1), maximumBackOff: .milliseconds(1))

    private static func pipeline(_ transport: Quota, capacity: Int) throws -> Pipeline {
        try Pipeline(delivery: policy) {
            MemoryStore(capacity: capacity)
            transport
        }
    }

    private static func track(_ user: String, _ pipeline: Pipeline) {
        pipeline.track("Event") { $0.distinctID = user }
    }

    @Test("a user over the quota, with an event in each batch, doesn't fill the store with delivered events")
    func deferredEventsDoNotFillTheStore() async throws {
        let isOver = Locked(false)
        let transport = Quota { user in
            user == "bot" && !isOver.withLock(\.self) ? .retry(after: .seconds(3_600)) : .accepted
        }
        let pipeline = try Self.pipeline(transport, capacity: 150_000)
        for _ in 0..<300 {
            for number in 0..<10 { Self.track(number == 4 ? "bot" : "\(number)", pipeline) }
            await pipeline.flush()
        }
        // The last one may have ended with a back-off.
        await pipeline.flush()
        let ledger = pipeline.ledger
        let route = ledger.routes[0]
        #expect(ledger.isBalanced)
        #expect(route.delivered == 2_700 && route.waiting == 300 && route.dropped.isEmpty, "\(ledger)")
        // The others have not waited for the 300, which were offered a few times.
        #expect(transport.offered.withLock(\.self) < 6_000)
        isOver.withLock { $0 = true }
        for _ in 0..<20 { Self.track("other", pipeline) }
        await pipeline.flush()
        let end = await pipeline.shutdown(timeout: .zero)
        #expect(end.isBalanced && end.routes[0].delivered >= 2_720, "\(end)")
    }

    @Test("if the store can't take deferred events back, their batch keeps them, and the pipeline ends")
    func refusedEventsStayInTheirBatch() async throws {
        let transport = Quota { $0 == "bot" ? .retry(after: .seconds(3_600)) : .accepted }
        let isFull = Locked(false)
        let store = FaultyStore(MemoryStore()) { operation, _ in
            operation == .append && isFull.withLock(\.self) ? SluiceError(.storageFull, "full") : nil
        }
        let pipeline = try Pipeline(delivery: Self.policy) {
            store
            transport
        }
        for round in 0..<30 {
            for number in 0..<10 { Self.track(number == 4 ? "bot" : "\(number)", pipeline) }
            isFull.withLock { $0 = round > 20 }
            await pipeline.flush()
            isFull.withLock { $0 = false }
        }
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.isBalanced && ledger.routes[0].delivered == 270 && ledger.routes[0].waiting == 30, "\(ledger)")
    }

    @Test("a receiver that defers everything doesn't get the whole backlog, so the store can still evict")
    func deferredBacklogStaysInTheStore() async throws {
        let transport = Quota { _ in .retry(after: .seconds(36_000)) }
        let time = VirtualTime()
        var policy = Self.policy
        policy.maximumBackOff = .seconds(3_000)
        let pipeline = try Pipeline(delivery: policy, environment: Bench.environment(time)) {
            MemoryStore(capacity: 600_000)
            transport
        }
        for _ in 0..<3_000 { Self.track("user", pipeline) }
        let report = await pipeline.flush()
        #expect(report.waiting == 3_000)
        for batch in 2...112 {
            // The back-off, not the flush interval.
            await time.waitForSleeper(within: time.continuousTime()...(.seconds(3_000)))
            time.advanceToNextSleeper()
            while transport.offered.withLock(\.self) < batch * 10 { await Task.yield() }
        }
        // After 1,000 deferred events, each back-off is twice as long as the one before.
        #expect(time.continuousTime() > .seconds(2))
        for _ in 0..<10_000 { Self.track("user", pipeline) }
        let ledger = pipeline.ledger
        #expect(ledger.isBalanced && ledger.routes[0].dropped.keys.map(\.rawValue) == ["evicted"], "\(ledger)")
        await pipeline.shutdown(timeout: .zero)
    }

    @Test("a shutdown doesn't wait for a deferral that ends after it")
    func shutdownDoesNotWaitInVain() async throws {
        let time = VirtualTime()
        let transport = Quota { $0 == "bot" ? .retry(after: .seconds(3_600)) : .accepted }
        let pipeline = try Pipeline(delivery: Self.policy, environment: Bench.environment(time)) {
            MemoryStore()
            transport
        }
        for user in ["bot", "other"] { Self.track(user, pipeline) }
        let ledger = await pipeline.shutdown(timeout: .seconds(60))
        #expect(ledger.isBalanced && ledger.routes[0].delivered == 1 && ledger.routes[0].waiting == 1)
        #expect(time.continuousTime() == .zero)
    }
}
