import Sluice
import SluiceTesting
import Testing

@testable import SluiceDelivery

/// Large batches while a backlog drains, and what happens if they fail.
@Suite struct BatchSizesTests {
    private static let policy = DeliveryPolicy.standard

    /// The sizes of an unlimited receiver.
    private static func sizes() -> BatchSizes {
        BatchSizes(policy, maximum: .unlimited)
    }

    /// Records the answer of a receiver that accepts as many events as the sizes allow.
    private static func accept(_ sizes: inout BatchSizes) {
        let events = sizes.part(of: policy.backlogBatch).events
        sizes.record(Answer(.all(.accepted), count: events), events: events)
    }

    @Test("large batches are taken while more events wait than fit into one")
    func backlogTakesLargeBatches() {
        #expect(Self.sizes().next(takeable: 500) == Self.policy.batch)
        #expect(Self.sizes().next(takeable: 501) == Self.policy.backlogBatch)
    }

    @Test(
        "sizes that the receiver finds too large are halved when it accepts others, and doubled after twenty parts",
        arguments: [
            ([Verdicts.all(.tooLarge(), status: 413)], 1), ([.all(.retry(), status: nil), .all(.retry())], 1),
            ([.all(.tooLarge())], 1), ([.all(.retry(), status: nil)], 0), ([.all(.retry(), status: 503)], 0),
            ([.all(.hold(reason: "no"), status: 401)], 0), ([.all(.split(reason: "no"), status: 400)], 0),
        ] as [([Verdicts], Int)])
    func refusedSizesAreHalved(failures: [Verdicts], halvings: Int) {
        var sizes = Self.sizes()
        for _ in 0..<3 {
            for failure in failures { sizes.record(Answer(failure, count: 500), events: 500) }
            sizes.record(Answer(.all(.accepted), count: 1), events: 1)
            // One of its own size has no acceptance to wait for.
            let accepted = failures == [.all(.tooLarge())] ? 1 : 0
            for _ in accepted..<20 where halvings > 0 {
                #expect(sizes.part(of: Self.policy.backlogBatch).events == 250)
                Self.accept(&sizes)
            }
            #expect(sizes.part(of: Self.policy.backlogBatch) == Self.policy.backlogBatch)
        }
    }

    @Test("a limit that is far lower is found in a few steps, and a single event has no smaller part")
    func smallLimitIsFound() {
        var sizes = Self.sizes()
        var refused = 0
        for _ in 0..<40 {
            let events = sizes.part(of: Self.policy.backlogBatch).events
            let isTooLarge = events > 7
            refused += isTooLarge ? 1 : 0
            sizes.record(Answer(.all(isTooLarge ? .tooLarge() : .accepted, status: 413), count: events), events: events)
            sizes.record(Answer(.all(.accepted), count: 1), events: 1)
        }
        #expect(refused <= 10)
        for _ in 0..<100 { sizes.record(Answer(.all(.tooLarge()), count: 2), events: 2) }
        #expect(sizes.part(of: Self.policy.backlogBatch).events == 1)
    }
}
