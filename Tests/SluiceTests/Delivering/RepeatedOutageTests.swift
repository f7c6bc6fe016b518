import SluiceMemory
import SluiceTesting
import Testing

@testable import Sluice

/// Outages that look like answers to single events.
@Suite struct RepeatedOutageTests {
    /// Refuses some requests, whatever they have, and counts them from 1.
    private final class Receiver: Transport {
        let accepted = Locked<Set<String>>([])
        private let requests = Locked(0)
        private let refuses: @Sendable (_ request: Int) -> Bool

        init(refusing refuses: @escaping @Sendable (_ request: Int) -> Bool) {
            self.refuses = refuses
        }

        func send(_ batch: Batch) async throws -> Verdicts {
            let request = requests.withLock { requests in
                requests += 1
                return requests
            }
            if refuses(request) { return .all(.hold(reason: "the key is wrong"), status: 403) }
            accepted.withLock { $0.formUnion(batch.events.compactMap(\.distinctID)) }
            return .all(.accepted)
        }
    }

    /// The answer of the first outage doesn't count: no acceptance came before it.
    @Test("an event that two outages have hit alone is delivered", arguments: 1...10, 1...4)
    func eventOfTwoOutagesIsDelivered(first: Int, second: Int) async throws {
        for pause in 1...20 {
            let time = VirtualTime()
            let receiver = Receiver { $0 <= first || (1...second).contains($0 - first - pause) }
            let pipeline = try Pipeline(isDeliveryPaused: true, environment: PipelineEnvironment(time: time)) {
                MemoryStore()
                receiver
            }
            let users = Set((0..<8).map { "user \($0)" })
            for user in users.sorted() { pipeline.track("Event") { $0.distinctID = user } }
            pipeline.resumeDelivery()
            for _ in 0..<60 where pipeline.ledger.routes[0].waiting > 0 {
                await pipeline.flush()
                time.advance(by: .seconds(3_600))
            }
            #expect(receiver.accepted.withLock(\.self) == users, "\(pause) requests between the outages")
            #expect(try await pipeline.deadLetters().isEmpty)
            #expect(await pipeline.shutdown(timeout: .zero).isBalanced)
        }
    }
}
