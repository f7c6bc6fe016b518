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

    @Test("a deletion waits for the send in flight and does not count its events")
    func deletionWaitsForSend() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.pipeline.pauseDelivery()
        bench.track(13)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteWaitingEvents() }
        bench.transport.release(.all(.accepted))
        _ = await deletion.value
        // The rest may have been sent before the deletion began.
        #expect(bench.ledger.delivered + bench.ledger.dropped[.deleted, default: 0] == 13)
        #expect(bench.ledger.delivered >= 10)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
    }

    @Test("a batch that was delivered in part loses only its other events")
    func deletesUndeliveredRest() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.each([.accepted, .retry(after: nil), .accepted]))]))
        bench.track(3)
        await bench.pipeline.flush()
        await bench.pipeline.deleteWaitingEvents()
        #expect(bench.ledger.delivered == 2)
        #expect(bench.ledger.dropped == [.deleted: 1])
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
        await bench.pipeline.flush()
        #expect(bench.sizes == [3])
    }

    @Test("deferred events are deleted with the waiting events, dead letters are not")
    func deletesDeferredEventsAndNoDeadLetters() async throws {
        let bench = try Bench(
            ScriptedTransport([.answer(.each([.rejected(reason: "no"), .retry(after: nil), .accepted]))]))
        bench.track(3)
        await bench.pipeline.flush()
        await bench.pipeline.deleteWaitingEvents()
        #expect(bench.ledger.dropped == [.deleted: 1])
        #expect(bench.ledger.deadLetters == 1)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
    }

    @Test("a deletion waits for all batches in flight")
    func deletionWaitsForAllBatchesInFlight() async throws {
        var policy = Bench.policy
        policy.maximumBatchesInFlight = 3
        let bench = try Bench(ScriptedTransport([.hang, .hang, .hang]), delivery: policy)
        bench.pipeline.pauseDelivery()
        bench.track(35)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(3)
        let deletion = Task { await bench.pipeline.deleteWaitingEvents() }
        for _ in 0..<3 { bench.transport.release(.all(.accepted)) }
        _ = await deletion.value
        #expect(bench.ledger.delivered + bench.ledger.dropped[.deleted, default: 0] == 35)
        #expect(bench.ledger.delivered >= 30)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a flush does not wait for deleted events")
    func deletionEndsFlushes() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(3)
        let flush = Task { await bench.pipeline.flush() }
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteWaitingEvents() }
        bench.transport.release(.all(.retry(after: .seconds(60))))
        _ = await deletion.value
        _ = await flush.value
        #expect(bench.ledger.dropped == [.deleted: 3])
    }

    @Test("an unreadable store keeps its events, and the deletion returns false")
    func unreadableStoreDeletesNothing() async throws {
        let store = FaultyStore(WatchedStore()) { operation, _ in
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
        let store = FaultyStore(WatchedStore()) { operation, _ in
            operation == .settle ? SluiceError(.inputOutput, "read-only") : nil
        }
        let bench = try Bench(ScriptedTransport(then: .answer(.all(.retry(after: nil)))), store: store)
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

    @Test("each of several deletions covers the events that were tracked before it")
    func concurrentDeletionsCoverTheirEvents() async throws {
        for _ in 0..<30 {
            let bench = try Bench()
            bench.pipeline.pauseDelivery()
            bench.track(200)
            let first = Task { await bench.pipeline.deleteWaitingEvents() }
            bench.track(200)
            #expect(await bench.pipeline.deleteWaitingEvents())
            #expect(bench.ledger.waiting == 0)
            #expect(await first.value)
        }
    }

    @Test("a deletion that a shutdown ends returns false")
    func shutdownEndsDeletion() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(5)
        await bench.transport.waitForSends(1)
        let deletion = Task { await bench.pipeline.deleteWaitingEvents() }
        await bench.pipeline.shutdown(timeout: .zero)
        #expect(!(await deletion.value))
        #expect(bench.ledger.waiting == 5)
    }

    @Test("a deletion after the shutdown returns false immediately")
    func deletionAfterShutdownReturnsFalse() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.track(5)
        await bench.transport.waitForSends(1)
        await bench.pipeline.shutdown(timeout: .zero)
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
