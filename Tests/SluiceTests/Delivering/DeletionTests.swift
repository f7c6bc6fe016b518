import Sluice
import SluiceTesting
import Testing

/// `deleteAll()`.
@Suite struct DeletionTests {
    @Test("waiting events are deleted, counted and never sent; later events are sent", arguments: [false, true])
    func deletesWaitingEventsOnly(isPaused: Bool) async throws {
        let bench = try Bench()
        if isPaused { bench.pipeline.pauseDelivery() }
        bench.track(3)
        bench.track(1, priority: .critical)
        #expect(await bench.pipeline.deleteWaitingEvents())
        #expect(bench.ledger.dropped == [.deleted: 4])
        #expect(bench.ledger.waiting == 0)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
        bench.pipeline.resumeDelivery()
        // Until the route has seen that nothing waits, the deleted events count towards the next trigger.
        await bench.drained()
        bench.track(2)
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 2)
        #expect(bench.sizes == [2])
    }

    @Test("deferred events of a batch are deleted, and its delivered events and dead letters are not")
    func deletesDeferredEventsAndNoDeadLetters() async throws {
        let bench = try Bench(
            ScriptedTransport([.answer(.each([.rejected(reason: "no"), .retry(after: nil), .accepted]))]))
        bench.track(3)
        await bench.pipeline.flush()
        await bench.pipeline.deleteWaitingEvents()
        #expect(bench.ledger.dropped == [.deleted: 1])
        #expect(bench.ledger.delivered == 1)
        #expect(bench.ledger.deadLetters == 1)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
        await bench.pipeline.flush()
        #expect(bench.sizes == [3])
    }

    @Test("an unreadable store keeps its events, and the deletion returns false")
    func unreadableStoreDeletesNothing() async throws {
        let store = RecordingStore(WatchedStore()) { operation, _ in
            operation == .nextBatch ? SluiceError(.inputOutput, "unreadable") : nil
        }
        let bench = try Bench(store: store)
        bench.pipeline.pauseDelivery()
        bench.track(2)
        #expect(!(await bench.pipeline.deleteWaitingEvents()))
        #expect(bench.ledger.dropped == [:])
        #expect(bench.ledger.waiting == 2)
        #expect(bench.diagnostics.contains { $0.kind == .store })
    }

    @Test(
        "events that can't be removed from the store count as deleted, and the deletion returns false",
        arguments: [true, false])
    func unremovableEventsCountAsDeleted(isUnderway: Bool) async throws {
        let store = RecordingStore(WatchedStore()) { operation, _ in
            operation == .settle ? SluiceError(.inputOutput, "read-only") : nil
        }
        let bench = try Bench(ScriptedTransport(then: .retry), store: store)
        if isUnderway {
            bench.track(2)
            await bench.pipeline.flush()
        } else {
            bench.pipeline.pauseDelivery()
            bench.track(2)
        }
        #expect(!(await bench.pipeline.deleteWaitingEvents()))
        #expect(bench.ledger.dropped == [.deleted: 2])
        #expect(bench.diagnostics.last?.kind == .store)
    }

    @Test("a deletion that a shutdown ends returns false, and so does one after it")
    func shutdownEndsDeletion() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(5)
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteWaitingEvents() }
        await bench.pipeline.shutdown(timeout: .zero)
        #expect(!(await deletion.value))
        #expect(!(await bench.pipeline.deleteWaitingEvents()))
        #expect(bench.ledger.waiting == 5)
    }

    @Test("a deletion by an idle worker waits for the batch in flight, which is not sent again")
    func idleWorkerWaitsForInFlightBatch() async throws {
        var policy = Bench.policy
        policy.maximumBatchesInFlight = 3
        let bench = try Bench(ScriptedTransport([.hang]), delivery: policy)
        bench.track(5)
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteWaitingEvents() }
        // The idle workers get the time to delete too early.
        for _ in 0..<1_000 { await Task.yield() }
        bench.transport.release(.all(.retry(after: nil)))
        #expect(await deletion.value)
        await bench.pipeline.flush()
        #expect(bench.sizes == [5])
        #expect(bench.ledger.dropped == [.deleted: 5])
        #expect(bench.pipeline.ledger.isBalanced)
    }
}
