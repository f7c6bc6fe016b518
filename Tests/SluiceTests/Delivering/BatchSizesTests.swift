import Sluice
import SluiceTesting
import Testing

@testable import SluiceDelivery

/// Large batches while a backlog drains, and what happens if they fail.
@Suite struct BatchSizesTests {
    private static let lost = SluiceError(.inputOutput, "no response")

    /// Pauses, tracks, and continues with this script.
    private func bench(_ count: Int, _ script: [ScriptedTransport.Step]) throws -> Bench {
        let bench = try Bench(ScriptedTransport(script), delivery: .standard)
        bench.pipeline.pauseDelivery()
        bench.track(count)
        bench.pipeline.resumeDelivery()
        return bench
    }

    private func ids(_ bench: Bench) -> [[EventID?]] { bench.transport.batches.map { $0.events.map(\.id) } }

    @Test("a repeated request has the same events, although fewer others wait now")
    func repetitionIsTheSame() async throws {
        let bench = try bench(900, [.failure(Self.lost)])
        await bench.drained()
        #expect(bench.sizes == [500, 500, 100, 100, 100, 100])
        #expect(ids(bench)[0] == ids(bench)[1])
    }

    @Test("a repeated request has the same events, although more others wait now")
    func repetitionIsTheSameInABacklog() async throws {
        let bench = try bench(300, [.hang, .hang])
        await bench.transport.waitForSends(1)
        bench.transport.release(.all(.retry(after: nil, reason: "no response")))
        await bench.time.waitForSleeper(within: .zero ... .seconds(2))
        bench.time.advance(by: .seconds(2))
        await bench.transport.waitForSends(2)
        bench.track(700)
        bench.transport.release(.all(.retry(after: nil, reason: "no response")))
        while bench.ledger.waiting > 0 {
            bench.time.advance(by: .seconds(400))
            await bench.pipeline.flush()
        }
        #expect(bench.sizes.prefix(3) == [100, 100, 100])
        #expect(ids(bench)[0] == ids(bench)[1])
        #expect(ids(bench)[1] == ids(bench)[2])
    }

    @Test("after two large requests without a response, small ones are sent until twenty are accepted")
    func largeBatchesShrink() async throws {
        let bench = try bench(6_000, [.failure(Self.lost), .failure(Self.lost)])
        for _ in 0..<2 {
            await bench.pipeline.flush()
            bench.time.advance(by: .seconds(400))
        }
        await bench.drained()
        #expect(bench.sizes.prefix(2) == [500, 500])
        #expect(bench.sizes[2..<22].allSatisfy { $0 == 100 })
        #expect(bench.sizes[22] == 500)
    }

    @Test("a receiver that takes fewer events at once is asked for more twice as seldom each time")
    func refusedSizesAreRemembered() {
        let policy = DeliveryPolicy.standard
        var sizes = BatchSizes(policy, maximum: BatchSize(events: .max, bytes: .max))
        for pause in [20, 40, 80] {
            #expect(sizes.next(takeable: 501) == policy.backlogBatch)
            var refusal = SendResult()
            (refusal.offered, refusal.splitReason) = (500, "too large")
            // Three batches can be in flight.
            for _ in 0..<3 { sizes.record(refusal) }
            var success = SendResult()
            (success.offered, success.acceptedPlaces) = (100, Array(0..<100))
            for _ in 0..<pause {
                #expect(sizes.next(takeable: 501) == policy.batch)
                #expect(sizes.part(of: policy.backlogBatch) == policy.batch)
                sizes.record(success)
            }
        }
        var success = SendResult()
        (success.offered, success.acceptedPlaces) = (500, Array(0..<500))
        sizes.record(success)
        #expect(sizes.next(takeable: 500) == policy.batch)
        #expect(sizes.next(takeable: 501) == policy.backlogBatch)
    }

    @Test("three large requests in flight without a response lead to small ones each time")
    func lostResponsesInFlightCount() {
        let policy = DeliveryPolicy.standard
        var sizes = BatchSizes(policy, maximum: BatchSize(events: .max, bytes: .max))
        var lost = SendResult()
        (lost.offered, lost.effect) = (500, .retry(after: nil))
        var success = SendResult()
        (success.offered, success.acceptedPlaces) = (100, Array(0..<100))
        for pause in [20, 40, 80, 160] {
            #expect(sizes.part(of: policy.backlogBatch) == policy.backlogBatch)
            for _ in 0..<3 { sizes.record(lost) }
            for _ in 0..<pause {
                #expect(sizes.part(of: policy.backlogBatch) == policy.batch)
                sizes.record(success)
            }
        }
    }

    @Test("refusals with a status, offline probes and small requests change no size")
    func otherFailuresChangeNothing() {
        let policy = DeliveryPolicy.standard
        var sizes = BatchSizes(policy, maximum: BatchSize(events: .max, bytes: .max))
        for (offered, status, effect) in [
            (500, 503, SendResult.Effect.retry(after: nil)), (500, 401, .hold), (100, nil, .retry(after: nil)),
        ] {
            var result = SendResult()
            (result.offered, result.status, result.effect) = (offered, status, effect)
            for _ in 0..<5 { sizes.record(result) }
            #expect(sizes.next(takeable: 501) == policy.backlogBatch)
        }
    }
}
