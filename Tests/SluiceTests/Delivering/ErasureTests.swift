import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
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

    @Test("events that a processor holds are named")
    func namesHeldEvents() async throws {
        let holder = Holder()
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
