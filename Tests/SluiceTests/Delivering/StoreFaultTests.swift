import SluiceMemory
import SluiceTesting
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// Stores that fail, and the end of their use.
@Suite struct StoreFaultTests {
    static let broken = SluiceError(.inputOutput, "the disk is gone")

    @Test("an unreadable batch is requested again, with back-off")
    func unreadableBatchIsRequestedAgain() async throws {
        let store = RecordingStore(WatchedStore()) { operation, number in
            operation == .nextBatch && number < 3 ? Self.broken : nil
        }
        let bench = try Bench(store: store)
        bench.track(4)
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 4)
        await bench.sleeps(until: 1)
        bench.time.advance(by: .seconds(1))
        await bench.sleeps(until: 2.3)
        bench.time.advance(by: .seconds(1.3))
        await bench.sends(at: 3.99)
        // The route asks until the store returns nothing. The thread that asks can be slower than this one.
        await bench.pipeline.flush()
        #expect((4...6).contains(store.count(of: .nextBatch)))
        #expect(bench.ledger.delivered == 4)
        #expect(bench.diagnostics.filter { $0.kind == .store }.count == 1)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    /// Such a store doesn't return the batch again. It must not be sent twice, and the route must not spin.
    @Test("a batch that can't be settled is counted once, and the next one is sent")
    func unsettledBatchCountsOnce() async throws {
        let store = RecordingStore(WatchedStore()) { operation, number in
            operation == .settle && number == 0 ? Self.broken : nil
        }
        let bench = try Bench(store: store)
        bench.track(3)
        await bench.pipeline.flush()
        bench.track(2)
        while bench.ledger.delivered < 5 { await bench.pipeline.flush() }
        #expect(bench.sizes == [3, 2])
        #expect(bench.ledger.waiting == 0)
        #expect(store.backlog.events == 3)
        #expect(bench.diagnostics.contains { $0.kind == .store })
        let asked = store.count(of: .nextBatch)
        await bench.pipeline.flush()
        #expect(store.count(of: .nextBatch) <= asked + 2)
    }

    @Test("a failure that comes with each batch is reported for the first and the 100th one")
    func repeatedFailureIsReportedRarely() async throws {
        let store = RecordingStore(WatchedStore()) { operation, _ in operation == .settle ? Self.broken : nil }
        let bench = try Bench(store: store)
        for number in 1...120 {
            bench.track(1)
            while bench.ledger.delivered < number { await bench.pipeline.flush() }
        }
        #expect(bench.diagnostics.map(\.kind) == [.store, .store])
    }

    @Test("an event that is not stored is counted by its reason, and each reason is reported once")
    func unstoredEventCountsByReason() async throws {
        let codes: [SluiceError.Code] = [.storageFull, .eventTooLarge, .inputOutput, .inputOutput]
        let store = RecordingStore(WatchedStore()) { operation, number in
            operation == .append && number < 4 ? SluiceError(codes[number], "no") : nil
        }
        let bench = try Bench(store: store)
        bench.track(6)
        await bench.pipeline.shutdown()
        #expect(bench.ledger.dropped == [.storeFull: 1, .tooLarge: 1, .storeFailed: 2])
        #expect(bench.ledger.delivered == 2)
        #expect(bench.diagnostics.filter { $0.kind == .dropped }.count == 3)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a failed synchronization does not stop a shutdown")
    func failedSynchronizationDoesNotStopShutdown() async throws {
        let store = RecordingStore(WatchedStore()) { operation, _ in operation == .synchronize ? Self.broken : nil }
        let bench = try Bench(store: store)
        bench.track(1)
        bench.pipeline.signal(.willTerminate)
        await bench.pipeline.shutdown()
        #expect(bench.ledger.delivered == 1)
        #expect(bench.diagnostics.filter { $0.kind == .store }.count == 2)
    }

    /// A store that discards one dead letter of several, and fails.
    struct HalfDiscardingStore: StoreWrapper {
        let base = MemoryStore(capacity: 1_000_000)
        func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int {
            _ = try base.discardDeadLetters(Set(ids.prefix(1)))
            throw StoreFaultTests.broken
        }
    }

    @Test("dead letters that are discarded before the store fails are counted")
    func discardedBeforeFailureIsCounted() async throws {
        let transport = ScriptedTransport([
            .answer(.each([.rejected(reason: "no"), .rejected(reason: "no"), .accepted]))
        ])
        let bench = try Bench(transport, store: HalfDiscardingStore())
        bench.track(3)
        await bench.pipeline.flush()
        await #expect(throws: SluiceError.self) { try await bench.pipeline.discardDeadLetters { _ in true } }
        #expect(bench.ledger.deadLetters == 1)
        #expect(bench.ledger.droppedDeadLetters == [.deleted: 1])
        await bench.pipeline.shutdown()
    }

    // MARK: Closing a store

    /// A route without a pipeline, and a store that runs code of the test during a call.
    final class Rig: Sendable {
        let store: WatchedStore
        let transport = ScriptedTransport()
        let time = VirtualTime()
        let route: RouteRuntime

        struct Weak {
            weak var rig: Rig?
        }

        enum Moment { case nextBatch, settle }

        init(at moment: Moment, _ action: @escaping @Sendable (Rig) -> Void) throws {
            let holder = Locked(Weak())
            let act: @Sendable () -> Void = {
                if let rig = holder.withLock(\.rig) { action(rig) }
            }
            let store =
                switch moment {
                case .nextBatch: WatchedStore(duringNextBatch: act)
                case .settle: WatchedStore(duringSettle: act)
                }
            let transport = transport
            self.store = store
            route = try RouteRuntime(
                named: "main", store, transport, policy: .standard, environment: Bench.environment(time)
            ) { _ in }
            try route.open()
            holder.withLock { $0.rig = self }
        }

        func append(_ priority: Event.Priority = .normal) throws(SluiceError) {
            let event = Event(
                id: EventID(high: 0, low: 1), name: "Event", time: Timestamp(milliseconds: 0), priority: priority)
            if let error = route.append(try EventLine(event)) { throw error }
        }

        func run() async throws {
            try append()
            route.start()
            await route.flush()
            await route.shutdown(until: .zero)
        }
    }

    @Test("a store is not closed while a worker uses it", arguments: [Rig.Moment.nextBatch, .settle])
    func storeStaysOpenWhileUsed(moment: Rig.Moment) async throws {
        let rig = try Rig(at: moment) { rig in rig.route.close() }
        try await rig.run()
        #expect(rig.store.isClosed)
        #expect(rig.store.offences.isEmpty)
        // A batch that was just taken is not sent. A batch with a response is settled.
        #expect(rig.transport.batches.count == (moment == .settle ? 1 : 0))
        #expect(rig.store.backlog.events == (moment == .settle ? 0 : 1))
    }

    @Test("a batch that is read when the background time ends is sent after the suspension")
    func batchOfSuspensionIsSentLater() async throws {
        let rig = try Rig(at: .nextBatch) { rig in
            rig.route.cancelSends()
        }
        try rig.append()
        rig.route.start()
        rig.route.receive(.didEnterBackground)
        // The new worker sleeps until the process was surely resumed.
        await rig.time.waitForSleeper(within: .seconds(10)...(.seconds(10)))
        #expect(rig.transport.batches.isEmpty)
        rig.time.advance(by: .seconds(10))
        await rig.transport.waitForSends(1)
        await rig.route.shutdown(until: .seconds(5))
    }

    @Test("a deletion that a shutdown cuts off isn't reported as complete")
    func cutDeletionIsIncomplete() async throws {
        let rig = try Rig(at: .nextBatch) { rig in rig.route.close() }
        try rig.append()
        rig.route.setPaused(true)
        rig.route.start()
        #expect(await rig.route.deleteAll() == false)
        #expect(rig.store.backlog.events == 1)
        await rig.route.shutdown(until: .zero)
    }

    @Test("unread bytes that contain no event are not a failure: the next event is sent at its time")
    func unreadBytesWithoutEventsAreNoFailure() async throws {
        let store = HollowStore()
        var policy = Bench.policy
        policy.backOff = .seconds(300)
        let bench = try Bench(store: store, delivery: policy)
        await bench.pipeline.flush()
        #expect(store.backlog.isEmpty)
        bench.track(1)
        await bench.sends(at: 15)
    }

    @Test("a store that returns a batch without events is asked again after a pause")
    func emptyBatchCausesNoLoop() async throws {
        let store = EmptyBatchStore()
        let bench = try Bench(store: store)
        bench.track(1)
        await bench.pipeline.flush()
        #expect(bench.ledger.waiting == 1)
        store.isBroken.withLock { $0 = false }
        await bench.pipeline.flush()
        #expect(bench.ledger.delivered == 1)
    }

    @Test("a flush reports the bytes of earlier processes that were not read")
    func flushReportsUnreadBytes() async throws {
        let store = HollowStore(isReadable: false)
        let bench = try Bench(store: store)
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 0)
        #expect(report.unreadBytes == 100)
        #expect(!report.isComplete)
        store.makeReadable()
        #expect(await bench.pipeline.flush().isComplete)
    }
}

/// Returns batches without events while it is broken.
private final class EmptyBatchStore: StoreWrapper {
    let base = WatchedStore()
    let isBroken = Locked(true)

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        isBroken.withLock(\.self) ? Batch(id: 1, events: []) : try base.nextBatch(size)
    }
}

/// Has unread bytes of an earlier process that contain no event.
private final class HollowStore: StoreWrapper {
    let base = WatchedStore()
    private let unreadBytes = Locked(100)
    private let observer = Locked<StoreObserver?>(nil)
    private let isReadable: Locked<Bool>

    init(isReadable: Bool = true) {
        self.isReadable = Locked(isReadable)
    }

    func makeReadable() { isReadable.withLock { $0 = true } }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try base.open(observer, in: environment)
        observer.unread(unreadBytes.withLock(\.self))
        self.observer.withLock { $0 = observer }
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        guard isReadable.withLock(\.self) else { throw SluiceError(.inputOutput, "unreadable") }
        unreadBytes.withLock { $0 = 0 }
        observer.withLock(\.self)?.unread(0)
        return try base.nextBatch(size)
    }

    var backlog: Backlog {
        let (backlog, unreadBytes) = (base.backlog, unreadBytes.withLock { $0 })
        return Backlog(events: backlog.events, bytes: backlog.bytes + unreadBytes)
    }
}
