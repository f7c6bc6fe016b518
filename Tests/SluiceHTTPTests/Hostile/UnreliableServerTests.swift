import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite("Unreliable servers", .serialized)
struct UnreliableServerTests {
    static let policy = DeliveryPolicy(batch: BatchSize(events: 200, bytes: 262_144))

    /// Failures. Some store the batch without confirming it.
    static let faults: [TrialServer.Action] = [
        .status(500), .status(502), .status(408), .status(400), .status(413),
        .status(301, "Location: /\r\n"), .status(401), .status(404),
        .status(429, "Retry-After: 20\r\n"), .status(503, "Retry-After: nonsense\r\n"),
        TrialServer.Action { $0.end() }, TrialServer.Action { try $0.reset() },
        TrialServer.Action { try $0.write("nonsense\r\n\r\n") },
        TrialServer.Action(keeps: true) { $0.end() }, TrialServer.Action(keeps: true) { try $0.reset() },
        TrialServer.Action(keeps: true) { connection in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1")
            connection.end()
        },
        // Until the client's timeout.
        TrialServer.Action(keeps: true) { try $0.waitForClose() },
    ]

    @Test(
        "every event arrives, and none is a dead letter, if the server fails in 30 % of the requests",
        arguments: [1, 3])
    func randomFaultsLoseNothing(batchesInFlight: Int) async throws {
        let count = Trials.count(full: 100_000, few: 4_000)
        var policy = Self.policy
        policy.maximumBatchesInFlight = batchesInFlight
        let random = Locked(SeededRandom(seed: 1))
        let kept = Locked<Set<Int>>([])
        let failures = Locked(0)
        let server = try TrialServer { numbers in
            let action: TrialServer.Action? = random.withLock { random in
                guard Int.random(in: 0..<100, using: &random) < 30 else { return nil }
                return Self.faults.randomElement(using: &random)
            }
            if action != nil { failures.withLock { $0 += 1 } }
            if action?.keeps == true { kept.withLock { $0.formUnion(numbers) } }
            return action
        }
        let directory = TemporaryDirectory()
        let draws = Locked(SeededRandom(seed: 2))
        let subject = try HostilePipeline(
            to: server.url, storingIn: directory.path,
            timeouts: HTTPTimeouts(connect: .seconds(2), total: .seconds(2)),
            policy: policy, random: { draws.withLock { $0.next() } })
        for start in stride(from: 0, to: count, by: 1_000) {
            subject.track(start..<min(count, start + 1_000))
            await subject.pipeline.flush()
            subject.time.advanceToNextSleeper()
        }
        await subject.drain()
        let ledger = await subject.pipeline.shutdown()
        #expect(ledger.isBalanced)
        #expect(ledger.routes[0].delivered == count)
        #expect(ledger.routes[0].rejected == 0)
        #expect(ledger.routes[0].dropped.isEmpty)

        let books = server.all
        var seen: Set<Int> = []
        let firsts = books.read.filter { seen.insert($0).inserted }
        #expect(firsts.sorted() == Array(0..<count))
        #expect(books.confirmed.count == count, "a confirmed event was sent again")
        var times: [Int: Int] = [:]
        for number in books.read { times[number, default: 0] += 1 }
        let again = times.filter { $0.value > 1 }
        #expect(again.keys.allSatisfy(kept.withLock { $0 }.contains))
        Trials.report(
            "hostile, 30 % faults, \(batchesInFlight) in flight: \(count) events in \(books.requests) requests, of which \(failures.withLock { $0 }) "
                + "failed; \(books.read.count - count) came again")
    }
}
