import Sluice
import SluiceTesting
import Testing

/// `deleteAll()`.
@Suite(.timeLimit(.minutes(10))) struct DeletionTests {
    @Test("all that waits is deleted, counted, and never sent; what comes later is", arguments: [false, true])
    func deletesAll(isPaused: Bool) async throws {
        let bench = try Bench()
        if isPaused { bench.pipeline.pauseDelivery() }
        bench.track(3)
        bench.track(1, priority: .critical)
        #expect(await bench.pipeline.deleteAll())
        #expect(bench.ledger.dropped == [.deleted: 4])
        #expect(bench.ledger.waiting == 0)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
        bench.pipeline.resumeDelivery()
        bench.track(2)
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 2)
        #expect(bench.sizes == [2])
    }

    @Test("what is being sent is waited for, and not counted as deleted")
    func waitsForSend() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(13)
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteAll() }
        bench.transport.release(.all(.accepted))
        _ = await deletion.value
        // The rest may have left before the deletion was asked for.
        #expect(bench.ledger.delivered + bench.ledger.dropped[.deleted, default: 0] == 13)
        #expect(bench.ledger.delivered >= 10)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
    }

    @Test("of a batch in parts only what is not delivered is deleted")
    func deletesRest() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.each([.accepted, .retry(after: nil), .accepted]))]))
        bench.track(3)
        await bench.pipeline.flush()
        await bench.pipeline.deleteAll()
        #expect(bench.ledger.delivered == 2)
        #expect(bench.ledger.dropped == [.deleted: 1])
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
        await bench.pipeline.flush()
        #expect(bench.sizes == [3])
    }

    @Test("dead letters are not deleted with the waiting events, and deferred events are")
    func deletesDeferredEventsOnly() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.each([.rejected("no"), .retry(after: nil), .accepted]))]))
        bench.track(3)
        await bench.pipeline.flush()
        await bench.pipeline.deleteAll()
        #expect(bench.ledger.dropped == [.deleted: 1])
        #expect(bench.ledger.deadLetters == 1)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
    }

    @Test("with several batches in flight all of them are waited for")
    func severalInFlight() async throws {
        var policy = Bench.policy
        policy.maximumBatchesInFlight = 3
        let bench = try Bench(ScriptedTransport([.hang, .hang, .hang]), delivery: policy)
        bench.pipeline.pauseDelivery()
        bench.track(35)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(3)
        let deletion = Task { await bench.pipeline.deleteAll() }
        for _ in 0..<3 { bench.transport.release(.all(.accepted)) }
        _ = await deletion.value
        #expect(bench.ledger.delivered + bench.ledger.dropped[.deleted, default: 0] == 35)
        #expect(bench.ledger.delivered >= 30)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("those who wait for a flush do not wait for what was deleted")
    func endsFlushes() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(3)
        let flush = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteAll() }
        bench.transport.release(.all(.retry(after: nil)))
        _ = await deletion.value
        _ = await flush.value
        #expect(bench.ledger.dropped == [.deleted: 3])
    }

    @Test("a store that cannot be read keeps what it has, and says so")
    func unreadableStore() async throws {
        let store = FaultyStore(WatchedStore()) { operation, _ in
            operation == .nextBatch ? SluiceError(.inputOutput, "unreadable") : nil
        }
        let bench = try Bench(store: store)
        bench.pipeline.pauseDelivery()
        bench.track(2)
        #expect(!(await bench.pipeline.deleteAll()))
        #expect(bench.ledger.dropped == [:])
        #expect(bench.ledger.waiting == 2)
        #expect(bench.diagnostics.contains { $0.kind == .store })
    }

    @Test("what a later life may come upon is not deleted, though it no longer waits", arguments: [true, false])
    func unremovable(isUnderway: Bool) async throws {
        let store = FaultyStore(WatchedStore()) { operation, _ in
            operation == .settle ? SluiceError(.inputOutput, "read-only") : nil
        }
        let bench = try Bench(ScriptedTransport([.answer(.all(.retry(after: nil)))]), store: store)
        if isUnderway {
            bench.track(2)
            await bench.pipeline.flush()
        } else {
            bench.pipeline.pauseDelivery()
            bench.track(2)
        }
        #expect(!(await bench.pipeline.deleteAll()))
        #expect(bench.ledger.dropped == [.deleted: 2])
        #expect(bench.diagnostics.last?.kind == .store)
    }

    @Test("each call counts for what was tracked before it, whatever another is just doing")
    func eachCall() async throws {
        for _ in 0..<30 {
            let bench = try Bench()
            bench.pipeline.pauseDelivery()
            bench.track(200)
            let first = Task { await bench.pipeline.deleteAll() }
            bench.track(200)
            #expect(await bench.pipeline.deleteAll())
            #expect(bench.ledger.waiting == 0)
            #expect(await first.value)
        }
    }

    @Test("cut off by the end it says that it is not done")
    func cutOff() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(5)
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteAll() }
        await bench.pipeline.shutdown(deadline: .zero)
        #expect(!(await deletion.value))
        #expect(bench.ledger.waiting == 5)
    }

    @Test("after the end it says at once that it is not done")
    func afterShutdown() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(5)
        await bench.transport.waitForSends(1)
        await bench.pipeline.shutdown(deadline: .zero)
        #expect(!(await bench.pipeline.deleteAll()))
        #expect(bench.ledger.waiting == 5)
    }
}
