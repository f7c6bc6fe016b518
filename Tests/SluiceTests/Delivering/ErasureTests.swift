import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// `Pipeline.erase(where:)`.
@Suite struct ErasureTests {
    private static let isErased: @Sendable (EventLine) -> Bool = { $0.distinctID == "42" }

    /// Tracks events. Every second one is about the user 42.
    private func track(_ bench: Bench, _ numbers: Range<Int>, priority: Event.Priority = .normal) {
        for number in numbers {
            bench.pipeline.track("\(number)", priority: priority) { $0.distinctID = number % 2 == 0 ? "42" : "7" }
        }
    }

    private func names(_ bench: Bench, after sends: Int = 0) throws -> [String] {
        try bench.transport.batches.dropFirst(sends).flatMap(\.events).map { try $0.event().name }
    }

    @Test("waiting events of one user are erased, counted and never sent; the others are sent in order")
    func erasesWaitingEvents() async throws {
        let bench = try Bench()
        bench.pipeline.pauseDelivery()
        track(bench, 0..<20)
        track(bench, 20..<24, priority: .critical)
        let report = await bench.pipeline.erase(where: Self.isErased)
        #expect(report == ErasureReport(events: 12))
        #expect(bench.ledger.dropped == [.deleted: 12])
        #expect(bench.ledger.waiting == 12)
        #expect(bench.pipeline.ledger.isBalanced)
        bench.pipeline.resumeDelivery()
        await bench.drained()
        #expect(try names(bench) == ["21", "23"] + stride(from: 1, to: 20, by: 2).map { "\($0)" })
        #expect(await bench.pipeline.erase(where: Self.isErased) == ErasureReport())
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("an erasure waits for the send in flight; what has to be sent again has no erased event", arguments: [1, 3])
    func erasesInRetriedBatch(inFlight: Int) async throws {
        var policy = Bench.policy
        policy.maximumBatchesInFlight = inFlight
        let bench = try Bench(ScriptedTransport(.init(repeating: .hang, count: inFlight)), delivery: policy)
        bench.pipeline.pauseDelivery()
        track(bench, 0..<35)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(inFlight)
        let erasure = Task { await bench.pipeline.erase(where: Self.isErased) }
        for _ in 0..<inFlight { bench.transport.release(.all(.retry(after: .seconds(60), reason: "busy"))) }
        #expect(await erasure.value == ErasureReport(events: 18))
        #expect(bench.ledger.dropped == [.deleted: 18])
        let sends = bench.transport.batches.count
        bench.time.advance(by: .seconds(70))
        await bench.drained()
        #expect(try names(bench, after: sends).sorted() == (0..<35).filter { $0 % 2 == 1 }.map { "\($0)" }.sorted())
        #expect(bench.ledger.waiting == 0)
        #expect(bench.pipeline.ledger.isBalanced)
        #expect(bench.store.backlog.isEmpty)
    }

    @Test("deferred events and dead letters are erased")
    func erasesDeferredEventsAndDeadLetters() async throws {
        let bench = try Bench(
            ScriptedTransport([
                .answer(
                    .each([
                        .rejected(reason: "no"), .rejected(reason: "no"), .retry(after: .seconds(60), reason: "later"),
                        .retry(after: .seconds(60), reason: "later"), .accepted,
                    ]))
            ]))
        track(bench, 0..<5)
        await bench.pipeline.flush()
        let report = await bench.pipeline.erase(where: Self.isErased)
        #expect(report == ErasureReport(events: 1, deadLetters: 1))
        #expect(bench.ledger.deadLetters == 1)
        #expect(bench.ledger.droppedDeadLetters == [.deleted: 1])
        #expect(bench.ledger.waiting == 1)
        bench.time.advance(by: .seconds(62))
        await bench.drained()
        #expect(try names(bench, after: 1) == ["3"])
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a batch of which only deferred events are left is not sent without events")
    func keepsDeferral() async throws {
        let bench = try Bench(
            ScriptedTransport([
                .answer(.each([.retry(after: .zero, reason: "again"), .retry(after: .seconds(60), reason: "later")])),
                .answer(.each([.retry(after: .zero, reason: "again")])),
            ]))
        track(bench, 0..<2)
        await bench.pipeline.flush()
        #expect(await bench.pipeline.erase(where: Self.isErased) == ErasureReport(events: 1))
        #expect(bench.ledger.waiting == 1)
        bench.time.advance(by: .seconds(120))
        await bench.drained()
        #expect(bench.transport.batches.allSatisfy { !$0.events.isEmpty })
        #expect(try names(bench).last == "1")
        #expect(bench.ledger.delivered == 1)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("several erasures and a deletion at the same time account for every event")
    func erasesTogether() async throws {
        let bench = try Bench(ScriptedTransport([.hang]))
        track(bench, 0..<30)
        await bench.transport.waitForSends(1)
        let erasures = (0..<4).map { rest in
            Task { await bench.pipeline.erase { $0.name.flatMap { Int($0) }.map { $0 % 5 == rest } ?? false } }
        }
        let deletion = Task { await bench.pipeline.deleteWaitingEvents() }
        bench.transport.release(.all(.retry(after: .seconds(60), reason: "busy")))
        for erasure in erasures { #expect(await erasure.value.isComplete) }
        #expect(await deletion.value)
        #expect(bench.ledger.dropped == [.deleted: 30])
        #expect(bench.pipeline.ledger.isBalanced)
        track(bench, 30..<32)
        bench.time.advance(by: .seconds(70))
        #expect(await bench.pipeline.flush().delivered == 2)
    }

    /// A route that waits for the response to its first ten events.
    private func sending() async throws -> Bench {
        let bench = try Bench(ScriptedTransport([.hang]))
        bench.pipeline.pauseDelivery()
        track(bench, 0..<10)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(1)
        return bench
    }

    @Test("a flush that waits for erased events returns, and doesn't count them")
    func flushIgnoresErasedEvents() async throws {
        let bench = try await sending()
        let flush = Task { await bench.pipeline.flush() }
        let erasure = Task { await bench.pipeline.erase(where: Self.isErased) }
        bench.transport.release(.all(.retry(after: nil, reason: "again")))
        #expect(await erasure.value.isComplete)
        let report = await flush.value
        #expect(report.delivered + report.waiting <= 10)
        await bench.drained()
        #expect(bench.ledger.waiting == 0)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a flush whose critical events are erased has nothing left to wait for")
    func flushForgetsErasedCriticalEvents() async throws {
        let bench = try await sending()
        for number in 0..<3 { bench.pipeline.track("\(number)", priority: .critical) { $0.distinctID = "42" } }
        let flush = Task { await bench.pipeline.flush() }
        let erasure = Task { await bench.pipeline.erase(where: Self.isErased) }
        bench.transport.release(.all(.accepted))
        #expect(await erasure.value.isComplete)
        #expect(await flush.value.waiting == 0)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("events that a processor holds are named")
    func namesHeldEvents() async throws {
        let holder = PluginContextTests.Holder()
        let bench = try Bench(processor: holder)
        track(bench, 0..<1)
        let report = await bench.pipeline.erase(where: Self.isErased)
        #expect(
            report.left == [
                "a processor holds 1 event, which may belong to any person: repeat the erasure when none is held"
            ])
        holder.release()
        #expect(await bench.pipeline.erase(where: Self.isErased).isComplete)
        await bench.pipeline.shutdown()
    }

    /// A store that can't erase single events.
    private final class PlainStore: Store {
        private let base = MemoryStore()
        func append(_ line: EventLine) throws(SluiceError) { try base.append(line) }
        func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? { try base.nextBatch(size) }
        func settle(_ batch: Batch.ID) throws(SluiceError) { try base.settle(batch) }
        var backlog: Backlog { base.backlog }
    }

    @Test("a store that can't erase is named, and so are a pipeline that was shut down and the transport's own send")
    func namesReasons() async throws {
        let bench = try Bench(store: PlainStore())
        bench.pipeline.pauseDelivery()
        track(bench, 0..<4)
        let report = await bench.pipeline.erase(where: Self.isErased)
        #expect(report.left.count == 1)
        #expect(report.left.first?.contains("PlainStore can't erase single events") == true)
        #expect(bench.ledger.waiting == 4)
        await bench.pipeline.shutdown(timeout: .zero)
        #expect(await bench.pipeline.erase(where: Self.isErased).left.first?.contains("shut down") == true)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("ids are compared by bytes, and each of the three counts")
    func findsUser() throws {
        func line(_ change: (inout Event) -> Void) throws -> EventLine {
            var event = Event(name: "E", properties: ["distinct_id": "42"])
            change(&event)
            return try EventLine(event)
        }
        #expect(try line { $0.distinctID = "42" }.belongs(to: "42"))
        #expect(try line { $0.anonymousID = "42" }.belongs(to: "42"))
        #expect(try line { $0.loginID = "42" }.belongs(to: "42"))
        #expect(try !line { $0.distinctID = "421" }.belongs(to: "42"))
        #expect(try !line { _ in }.belongs(to: "42"))
        #expect(try line { $0.distinctID = "caf\u{E9}\"" }.belongs(to: "caf\u{E9}\""))
        #expect(try !line { $0.distinctID = "caf\u{E9}" }.belongs(to: "cafe\u{301}"))
        #expect(!EventLine(bytes: Array(#"{"distinct_id":"42"}"#.utf8)[...], priority: .normal).belongs(to: "42"))
    }
}
