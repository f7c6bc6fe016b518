import Dispatch
import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// The end of a pipeline.
@Suite struct ShutdownTests {
    /// A transport that responds only when the test lets it, and ignores cancellation.
    private struct Deaf: Transport {
        let hasBegun = Gate()
        let answer = Gate()

        func send(_ batch: Batch) async throws -> Verdicts {
            hasBegun.open()
            await answer.wait()
            return .all(.accepted)
        }
    }

    @Test("a shutdown synchronizes the store before it sends")
    func shutdownSynchronizesBeforeSending() async throws {
        let store = RecordingStore(WatchedStore())
        let bench = try Bench(
            ScriptedTransport { _, _ in
                .answer(.all(store.count(of: .synchronize) == 1 ? .accepted : .hold(reason: "early")))
            },
            store: store)
        bench.track(1)
        await bench.pipeline.shutdown()
        #expect(bench.ledger.delivered == 1)
    }

    @Test(
        "a hanging transport does not delay the shutdown beyond its deadline",
        arguments: [(true, 0, 0), (false, 0, 0), (false, 2, 0), (false, 0, 1), (false, 1, 2)])
    func hangingTransportEndsAtDeadline(isDeaf: Bool, before: Int, during: Int) async throws {
        let time = VirtualTime()
        let deaf = Deaf()
        let hanging = ScriptedTransport(
            Array(repeating: .answer(.all(.accepted)), count: before + during), then: .hang)
        let store = WatchedStore()
        let diagnosed = Locked<[Diagnostic]>([])
        let pipeline = try Pipeline(
            delivery: DeliveryPolicy(batch: BatchSize(events: 1, bytes: 1_000)), environment: Bench.environment(time),
            onDiagnostic: { line in diagnosed.withLock { $0.append(line) } }
        ) {
            store
            if isDeaf { deaf } else { hanging }
        }
        for _ in 0..<before { pipeline.track("Event") }
        if before > 0 { await pipeline.flush() }
        for _ in 0..<3 { pipeline.track("Event") }
        let end = Task { await pipeline.shutdown(timeout: .seconds(5)) }
        if isDeaf { await deaf.hasBegun.wait() } else { await hanging.waitForSends(before + during + 1) }
        await time.waitForSleeper(within: .seconds(5)...(.seconds(5)))
        time.advance(by: .milliseconds(4_999))
        #expect(time.deadlines.first == .seconds(5))
        #expect(!store.isClosed)
        time.advance(by: .milliseconds(1))
        let ledger = await end.value
        // The alarm for the interval would keep the route alive.
        #expect(!time.deadlines.contains(.seconds(15)))
        #expect(ledger.routes[0].waiting == 3 - during)
        #expect(ledger.isBalanced)
        #expect(store.isClosed)

        // The response is too late to be used, and the events stay.
        deaf.answer.open()
        let later = await pipeline.shutdown()
        #expect(later == ledger)
        #expect(store.backlog.events == 3 - during)
        #expect(store.offences.isEmpty)
        // A cancelled send is not a failed one, but it is all that tells why the events wait, unless the
        // receiver has answered others in the time of the shutdown.
        #expect(ledger.routes[0].attempts.failed == 0)
        let failure = during > 0 ? nil : "no response before delivery ended"
        #expect(ledger.routes[0].attempts.lastFailure == failure)
        #expect(diagnosed.withLock(\.self).isEmpty)
    }

    /// Blocks threads until the test lets them continue.
    private final class Barrier: Sendable {
        private let entered = DispatchSemaphore(value: 0)
        private let permitted = DispatchSemaphore(value: 0)

        func block() {
            entered.signal()
            permitted.wait()
        }

        func waitForBlock() async {
            await withCheckedContinuation { continuation in
                DispatchQueue(label: "barrier").async { [entered] in
                    entered.wait()
                    continuation.resume()
                }
            }
        }

        func permit() { permitted.signal() }
    }

    private struct BlockingTransport: Transport {
        let barrier = Barrier()

        func send(_ batch: Batch) async throws -> Verdicts {
            barrier.block()
            return .all(.accepted)
        }
    }

    private struct BlockingStore: StoreWrapper {
        let base = MemoryStore()
        let barrier = Barrier()
        let isClosed = Gate()

        func synchronize(while mayContinue: () -> Bool) throws(SluiceError) { barrier.block() }
        func close() {
            base.close()
            isClosed.open()
        }
    }

    @Test("transports that block their threads delay neither the host's tasks nor the shutdown beyond its deadline")
    func blockingTransportsDelayNoTask() async throws {
        let time = VirtualTime()
        let transports = (0..<64).map { _ in BlockingTransport() }
        let pipelines = try transports.map { transport in
            try Pipeline.with(to: transport, environment: Bench.environment(time))
        }
        for pipeline in pipelines { pipeline.track("Event", priority: .critical) }
        let ends = pipelines.map { pipeline in Task { await pipeline.shutdown(timeout: .seconds(5)) } }
        for transport in transports { await transport.barrier.waitForBlock() }
        time.advance(by: .seconds(5))
        for end in ends { #expect(await end.value.routes[0].waiting == 1) }
        for transport in transports { transport.barrier.permit() }
    }

    /// A store with files that each take a second to synchronize.
    private struct SlowStore: StoreWrapper {
        let base = MemoryStore()
        let time: VirtualTime
        let synchronized = Locked(0)

        func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {
            while mayContinue() {
                synchronized.withLock { $0 += 1 }
                time.advance(by: .seconds(1))
            }
        }
    }

    @Test("synchronizing takes at most half of a shutdown's time, and the rest is for sending")
    func slowDiskLeavesTimeForSending() async throws {
        let time = VirtualTime()
        let store = SlowStore(time: time)
        let transport = ScriptedTransport()
        let pipeline = try Pipeline.with(in: store, to: transport, environment: Bench.environment(time))
        for _ in 0..<3 { pipeline.track("Event") }
        let ledger = await pipeline.shutdown(timeout: .seconds(10))
        #expect(store.synchronized.withLock(\.self) == 5)
        #expect(ledger.routes[0].delivered == 3)
    }

    @Test("a disk that hangs delays the shutdown by a tenth of a second, and the store is closed later")
    func hangingDiskDelaysByGrace() async throws {
        let store = BlockingStore()
        let bench = try Bench(store: store)
        let end = Task { await bench.pipeline.shutdown(timeout: .seconds(5)) }
        await store.barrier.waitForBlock()
        await bench.sleeps(until: 5)
        bench.time.advance(by: .seconds(5))
        _ = await passGrace(bench, until: end)
        #expect(bench.diagnostics.map(\.kind) == [.store])
        #expect(throws: Never.self) { try store.base.append(EventLine(bytes: [0x7B, 0x7D], priority: .normal)) }
        store.barrier.permit()
        await store.isClosed.wait()
    }

    /// Passes the tenth of a second after the deadline of 5 s, and a second one if the thread that closes the store starts late.
    private func passGrace(_ bench: Bench, until end: Task<Ledger, Never>) async -> Ledger {
        await bench.sleeps(until: 5.1)
        bench.time.advance(by: .milliseconds(100))
        let second = Task {
            await bench.sleeps(until: 5.2)
            bench.time.advance(by: .milliseconds(100))
        }
        let ledger = await end.value
        // If the route never slept until then, the task `second` still waits for a sleeper.
        let sleeper = Task { try await bench.time.sleep(until: .milliseconds(5_200)) }
        await second.value
        _ = await sleeper.result
        return ledger
    }

    /// A store whose lock is held while it writes, as that of `JSONLStore` is.
    private final class LockingStore: StoreWrapper {
        let base = MemoryStore()
        let barrier = Barrier()
        private let lock: Locked<MemoryStore>

        init() { lock = Locked(base) }

        func append(_ line: EventLine) throws(SluiceError) {
            try lock.withLock { store throws(SluiceError) in
                barrier.block()
                try store.append(line)
            }
        }

        var backlog: Backlog { lock.withLock { $0.backlog } }
        func deadLetters() throws(SluiceError) -> [DeadLetter] {
            try lock.withLock { store throws(SluiceError) in try store.deadLetters() }
        }
        func close() { lock.withLock { $0.close() } }
    }

    @Test("a disk that hangs while an event is written delays the shutdown by a tenth of a second")
    func hangingAppendDelaysByGrace() async throws {
        let store = LockingStore()
        let bench = try Bench(store: store)
        let pipeline = bench.pipeline
        DispatchQueue(label: "track").async { pipeline.track("Event") }
        await store.barrier.waitForBlock()
        let end = Task { await pipeline.shutdown(timeout: .seconds(5)) }
        await bench.sleeps(until: 5)
        bench.time.advance(by: .seconds(5))
        let ledger = await passGrace(bench, until: end)
        #expect(ledger.tracked == 1)
        #expect(ledger.routes[0].stored == ledger.routes[0].waiting)
        store.barrier.permit()
    }

    @Test("while a disk hangs in a write, calls of flush, ledger and deadLetters stop no other task")
    func hangingWriteStopsNoTask() async throws {
        let store = LockingStore()
        let bench = try Bench(store: store)
        let pipeline = bench.pipeline
        let (track, hasTracked) = (DispatchQueue(label: "track"), Locked(false))
        track.async {
            pipeline.track("Event")
            hasTracked.withLock { $0 = true }
        }
        await store.barrier.waitForBlock()
        // If the shared threads are blocked, this test can't go on either.
        DispatchQueue(label: "watchdog").asyncAfter(deadline: .now() + 600) { store.barrier.permit() }
        let calls = (0..<64).map { _ in
            Task {
                _ = pipeline.ledger
                await pipeline.flush()
                return try await pipeline.deadLetters().count
            }
        }
        for other in (0..<64).map({ number in Task { number } }) { _ = await other.value }
        #expect(pipeline.ledger.routes[0].waiting == 0)
        #expect(hasTracked.withLock { !$0 })
        store.barrier.permit()
        for call in calls { #expect(try await call.value == 0) }
    }

    @Test(
        "a shutdown waits for pauses that end before its timeout; without one, it ends with the second failure to respond",
        // Attempts at 0, 1, 2.3 and 4 s. The next one would be at 6.2 s, after the deadline.
        arguments: [(nil, nil, [1]), (.seconds(5), nil, [1, 2.3, 3.99]), (.seconds(5), 429, [1, 2.3, 3.99])]
            as [(Duration?, Int?, [Double])])
    func shutdownWaitsForPausesWithinDeadline(timeout: Duration?, status: Int?, retries: [Double]) async throws {
        let bench = try Bench(ScriptedTransport(then: .answer(.all(.retry(after: nil), status: status))))
        bench.track(1)
        let end = Task { await bench.pipeline.shutdown(timeout: timeout) }
        for second in retries { await bench.sends(at: second) }
        let ledger = await end.value
        #expect(bench.time.continuousTime() < .milliseconds(3_991))
        #expect(ledger.routes[0].waiting == 1)
        #expect(bench.transport.batches.count == 1 + retries.count)
    }

    @Test(
        "a shutdown after its deadline or during a pause sends nothing, and keeps all events",
        arguments: [Duration.zero, .seconds(-5), .seconds(Int64.min), nil])
    func passedDeadlineSendsNothing(deadline: Duration?) async throws {
        let bench = try Bench()
        if deadline == nil { bench.pipeline.pauseDelivery() }
        bench.track(4)
        let ledger = await bench.pipeline.shutdown(timeout: deadline)
        #expect(ledger.routes[0].waiting == 4)
        #expect(bench.transport.batches.isEmpty)
    }

    /// The clocks of the system trap on the sum of now and the longest duration.
    @Test("the longest deadline does not trap, and delivers")
    func longestDeadlineDoesNotTrap() async throws {
        let transport = ScriptedTransport([.hang])
        let pipeline = try Pipeline.with(to: transport)
        pipeline.track("Event")
        let end = Task { await pipeline.shutdown(timeout: .seconds(Int64.max)) }
        await transport.waitForSends(1)
        transport.release(.all(.accepted))
        #expect(await end.value.routes[0].delivered == 1)
    }

    @Test("concurrent shutdowns all return at the nearest deadline")
    func nearestDeadlineEndsConcurrentShutdowns() async throws {
        let bench = try Bench(ScriptedTransport(then: .hang))
        bench.track(1)
        let ends = [5, 60, 3_600].map { deadline in
            Task { await bench.pipeline.shutdown(timeout: .seconds(deadline)) }
        }
        await bench.transport.waitForSends(1)
        for deadline in [5.0, 60, 3_600] { await bench.sleeps(until: deadline) }
        bench.time.advance(by: .seconds(5))
        for end in ends { #expect(await end.value.routes[0].waiting == 1) }
        #expect((bench.store as? WatchedStore)?.offences == [])
    }

    @Test("after the shutdown, events are counted and reach no stage, and signals, pauses and flushes are safe")
    func callsAfterShutdownAreSafe() async throws {
        let (store, book) = (WatchedStore(), OrderTests.Book())
        let bench = try Bench(store: store, processor: OrderTests.Scribe(name: "p", book: book))
        await bench.pipeline.shutdown()
        bench.track(7)
        for signal in [Signal.didEnterBackground, .connectivity(.available), .willTerminate] {
            bench.pipeline.signal(signal)
        }
        bench.pipeline.pauseDelivery()
        bench.pipeline.resumeDelivery()
        await bench.pipeline.flush()
        #expect(book.all == ["p prepared"])
        #expect(bench.pipeline.ledger.tracked == 7)
        #expect(bench.pipeline.ledger.dropped == [.shutDown: 7])
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(store.offences.isEmpty)
        #expect(bench.transport.batches.isEmpty)
    }
}
