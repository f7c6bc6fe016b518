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
        .status(500), .status(502), .status(408), .status(301, "Location: /\r\n"), .status(401), .status(404),
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

    /// Refusals that no event causes, for batches of more than one event.
    static let refusals: [TrialServer.Action] = [.status(413), .status(400)]

    @Test(
        "every event arrives, in order unless it was answered alone, if the server fails in 30 % of the requests",
        arguments: [1, 3])
    func randomFaultsLoseNothing(batchesInFlight: Int) async throws {
        let count = Trials.count(full: 100_000, few: 4_000)
        var policy = Self.policy
        policy.maximumBatchesInFlight = batchesInFlight
        let random = Locked(SeededRandom(seed: 1))
        let kept = Locked<Set<Int>>([])
        let failures = Locked(0)
        // An event that is answered alone can be the reason of the answer, so the next one is offered before it.
        let suspects = Locked<Set<Int>>([])
        let server = try TrialServer { _, numbers, _ in
            let action: TrialServer.Action? = random.withLock { random in
                guard Int.random(in: 0..<100, using: &random) < 30 else { return nil }
                let all = numbers.count > 1 ? Self.faults + Self.refusals : Self.faults
                return all.randomElement(using: &random)
            }
            if action != nil { failures.withLock { $0 += 1 } }
            if action != nil, numbers.count == 1 { suspects.withLock { $0.formUnion(numbers) } }
            if action?.keeps == true { kept.withLock { $0.formUnion(numbers) } }
            return action
        }
        let directory = try TemporaryDirectory()
        let draws = Locked(SeededRandom(seed: 2))
        let subject = try HostilePipeline(
            to: server.url, storingIn: directory.path,
            timeouts: HTTPTimeouts(connect: .seconds(20), total: .seconds(20)),
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
        let others = firsts.filter { [suspects = suspects.withLock(\.self)] in !suspects.contains($0) }
        if batchesInFlight == 1 { #expect(others == others.sorted()) }
        #expect(books.confirmed.count == count, "a confirmed event was sent again")
        var times: [Int: Int] = [:]
        for number in books.read { times[number, default: 0] += 1 }
        let again = times.filter { $0.value > 1 }
        #expect(again.keys.allSatisfy(kept.withLock { $0 }.contains))
        Trials.report(
            "hostile, 30 % faults, \(batchesInFlight) in flight: \(count) events in \(books.requests) requests, of which \(failures.withLock { $0 }) "
                + "failed; \(books.read.count - count) came again")
    }

    @Test("a server that responds with 400 to everything destroys no event, and gets all after its repair")
    func refusalOfAllDestroysNothing() async throws {
        let count = 10_000
        let isGood = Locked(false)
        let server = try TrialServer { _, _, _ in isGood.withLock { $0 } ? nil : .status(400) }
        let directory = try TemporaryDirectory()
        let subject = try HostilePipeline(to: server.url, storingIn: directory.path)
        subject.track(0..<count)
        let rounds = Trials.count(full: 50, few: 5)
        for _ in 0..<rounds {
            await subject.pipeline.flush()
            #expect(subject.ledger.waiting + subject.ledger.rejected == count)
            #expect(subject.ledger.delivered == 0)
            subject.time.advanceToNextSleeper()
        }
        #expect(subject.diagnostics.contains(.held))
        let probes = server.all.requests
        isGood.withLock { $0 = true }
        await subject.drain()
        #expect(await subject.pipeline.shutdown().isBalanced)
        #expect(server.all.confirmed.sorted() == Array(0..<count))
        Trials.report("hostile, 400 to all: \(count) events kept through \(rounds) rounds of \(probes) requests in all")
    }

    @Test("one invalid event among 10,000 is rejected, and no other")
    func invalidEventIsRejectedAlone() async throws {
        let count = 10_000
        let trials = Trials.count(full: 50, few: 1)
        var requests = 0
        for trial in 0..<trials {
            var random = SeededRandom(seed: UInt64(trial))
            let bad = Int.random(in: 0..<count, using: &random)
            let status = [400, 422].randomElement(using: &random) ?? 400
            let server = try TrialServer { _, numbers, _ in numbers.contains(bad) ? .status(status) : nil }
            let directory = try TemporaryDirectory()
            let subject = try HostilePipeline(to: server.url, storingIn: directory.path, policy: Self.policy)
            subject.track(0..<count)
            await subject.drain()
            let ledger = await subject.pipeline.shutdown()
            #expect(ledger.isBalanced)
            #expect(ledger.routes[0].rejected == 1)
            #expect(ledger.routes[0].delivered == count - 1)
            #expect(server.all.confirmed == (0..<count).filter { $0 != bad })
            #expect(server.all.read == server.all.confirmed)
            requests += server.all.requests
        }
        Trials.report("hostile, poison: \(trials) trials of \(count) events, \(requests) requests in all")
    }
}
