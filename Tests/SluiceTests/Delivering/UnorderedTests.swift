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

    static let retry = ScriptedTransport.Step.answer(.all(.retry(after: nil)))

    private func bench(_ transport: ScriptedTransport) throws -> Bench {
        try Bench(transport, delivery: Self.policy)
    }

    /// Tracks during a pause, so that batches are full.
    private func track(_ count: Int, _ bench: Bench) {
        bench.pipeline.pauseDelivery()
        bench.track(count)
        bench.pipeline.resumeDelivery()
    }

    @Test("three batches are sent before the first response, and no fourth")
    func atMostThreeBatchesInFlight() async throws {
        let bench = try bench(ScriptedTransport(then: .hang))
        track(45, bench)
        let flush = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(3)
        // The flush waits for the batches in flight. A fourth send would be seen by then.
        bench.transport.release(.all(.accepted))
        await bench.transport.waitForSends(5)
        #expect(bench.sizes.prefix(3) == [10, 10, 10])
        #expect(bench.sizes.sorted() == [5, 10, 10, 10, 10])
        bench.transport.release(.all(.accepted))
        #expect(await flush.value.waiting == 0)
        #expect(bench.ledger.delivered == 45)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("by default one batch is in flight")
    func oneBatchInFlightByDefault() async throws {
        let bench = try Bench(ScriptedTransport(then: .hang))
        track(45, bench)
        let flush = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        bench.pipeline.pauseDelivery()
        bench.transport.release(.all(.accepted))
        #expect(await flush.value.waiting == 35)
        #expect(bench.sizes == [10])
    }

    @Test("while the receiver fails, one request at a time is sent, until it accepts one")
    func probesOneAtATime() async throws {
        let bench = try bench(ScriptedTransport(then: .hang))
        track(45, bench)
        await bench.transport.waitForSends(3)
        bench.transport.release(.all(.retry(after: nil)))
        while bench.ledger.attempts.failed < 3 { await Task.yield() }
        let flush = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(4)
        for _ in 0..<1_000 { await Task.yield() }
        #expect(bench.sizes == [10, 10, 10, 1])
        while bench.ledger.delivered < 45 {
            bench.transport.release(.all(.accepted))
            await Task.yield()
        }
        _ = await flush.value
        #expect(bench.pipeline.ledger.isBalanced)
    }

    /// Keeps the first three attempts until the test answers them, and accepts later ones.
    private final class AnsweredByHand: Transport {
        private let attempts = Locked<[CheckedContinuation<Verdicts, Never>]>([])

        var count: Int { attempts.withLock(\.count) }

        func answer(_ index: Int, _ verdicts: Verdicts) { attempts.withLock { $0[index] }.resume(returning: verdicts) }

        func send(_ batch: Batch) async throws -> Verdicts {
            await withCheckedContinuation { continuation in
                let isLater = attempts.withLock { attempts in
                    attempts.append(continuation)
                    return attempts.count > 3
                }
                if isLater { continuation.resume(returning: .all(.accepted)) }
            }
        }
    }

    @Test("a success beside a throttled batch does not end the time that the receiver asked for")
    func successKeepsRetryAfter() async throws {
        let time = VirtualTime()
        let transport = AnsweredByHand()
        let pipeline = try Pipeline(delivery: Self.policy, environment: Bench.environment(time)) {
            WatchedStore()
            transport
        }
        pipeline.pauseDelivery()
        for number in 0..<40 { pipeline.track("Event \(number)") }
        pipeline.resumeDelivery()
        while transport.count < 3 { await Task.yield() }
        transport.answer(0, .all(.retry(after: .seconds(60))))
        while pipeline.ledger.routes[0].attempts.failed == 0 { await Task.yield() }
        transport.answer(1, .all(.accepted))
        transport.answer(2, .all(.accepted))
        // The back-off of 1 s is added.
        await time.waitForSleeper(within: .milliseconds(60_999)...(.milliseconds(61_001)))
        while pipeline.ledger.routes[0].attempts.total < 3 { await Task.yield() }
        await pipeline.flush()
        #expect(pipeline.ledger.routes[0].attempts.total == 3)
        #expect(pipeline.ledger.routes[0].delivered == 20)
        time.advance(by: .milliseconds(61_001))
        while pipeline.ledger.routes[0].waiting > 0 { await pipeline.flush() }
        #expect(pipeline.ledger.isBalanced)
    }

    @Test("an event that fails beside successful ones is set aside, and waits before it is sent again")
    func failedEventWaitsBesideSuccesses() async throws {
        let bench = try bench(
            ScriptedTransport { _, batch in
                let lines = batch.events.map { String(decoding: $0.bytes, as: UTF8.self) }
                return lines.contains { $0.contains("\"Event 0\"") } ? Self.retry : .answer(.all(.accepted))
            })
        track(2_000, bench)
        for _ in 0..<50 where bench.ledger.delivered < 1_999 {
            await bench.pipeline.flush()
            bench.time.advance(by: .seconds(1))
        }
        #expect(bench.ledger.delivered == 1_999)
        #expect(bench.ledger.setAside == 1)
        let failed = bench.ledger.attempts.failed
        // Time for a wrong attempt to be seen.
        for _ in 0..<1_000 { await Task.yield() }
        #expect(bench.ledger.attempts.failed == failed)
        await bench.pipeline.flush()
        #expect((failed + 1...failed + 2).contains(bench.ledger.attempts.failed))
    }

    @Test("a shutdown with three hanging sends ends at its deadline and keeps all events")
    func shutdownKeepsThreeHangingBatches() async throws {
        let bench = try bench(ScriptedTransport(then: .hang))
        track(45, bench)
        let flush = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(3)
        let ended = Task { await bench.pipeline.shutdown(timeout: .seconds(5)) }
        await bench.sleeps(until: 5)
        bench.time.advance(by: .seconds(5))
        let ledger = await ended.value
        #expect(ledger.routes[0].waiting == 45)
        #expect(ledger.isBalanced)
        _ = await flush.value
    }

    @Test(
        "only the bad events of concurrent batches are rejected",
        arguments: [[3], [3, 4], [3, 17], [0, 10, 20], [5, 15, 25, 35, 44]])
    func onlyBadEventsOfConcurrentBatchesAreRejected(bad: [Int]) async throws {
        let names = bad.map { "\"Event \($0)\"" }
        let bench = try bench(
            ScriptedTransport { _, batch in
                let lines = batch.events.map { String(decoding: $0.bytes, as: UTF8.self) }
                let isBad = lines.contains { line in names.contains { line.contains($0) } }
                return .answer(.all(isBad ? .split(reason: "no") : .accepted))
            })
        track(45, bench)
        var others = 0
        for _ in 0..<100 where bench.ledger.waiting > 0 {
            bench.time.advance(by: .seconds(60))
            bench.pipeline.track("Other")
            others += 1
            await bench.pipeline.flush()
        }
        #expect(bench.ledger.rejected == bad.count)
        #expect(bench.ledger.delivered == 45 + others - bad.count)
        let accepted = try bench.transport.accepted().map(\.name).filter { $0 != "Other" }
        #expect(Set(accepted).count == accepted.count)
        #expect(Set(accepted).isDisjoint(with: bad.map { "Event \($0)" }))
        #expect(bench.ledger.waiting == 0)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("each event arrives once, whatever the responses are", arguments: 0..<20) func eachEventArrivesOnce(seed: Int)
        async throws
    {
        let random = Locked(SeededRandom(seed: UInt64(seed)))
        let transport = ScriptedTransport { _, _ in
            let verdicts: [Verdict] = [
                .accepted, .accepted, .accepted, .duplicate, .retry(after: nil), .retry(after: .seconds(9)),
                .hold(reason: "no"),
                .tooLarge(),
            ]
            return .answer(.all(random.withLock { verdicts.randomElement(using: &$0) ?? .accepted }))
        }
        let bench = try bench(transport)
        for _ in 0..<20 {
            bench.track(17)
            await bench.pipeline.flush()
            bench.time.advanceToNextSleeper()
        }
        for _ in 0..<10_000 where bench.ledger.waiting > 0 {
            await bench.pipeline.flush()
            bench.time.advanceToNextSleeper()
        }
        #expect(bench.ledger.delivered + bench.ledger.rejected == 340)
        let ids = try transport.accepted().map(\.id)
        #expect(ids.count == Set(ids).count)
        #expect(await bench.pipeline.shutdown().isBalanced)
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
