import Sluice
import SluiceTesting
import Testing

/// Failures and their waits, to the millisecond of virtual time.
@Suite struct RetryTests {
    @Test(
        "the wait grows with each failure, up to five minutes",
        arguments: [
            ScriptedTransport.Step.retry, .failure(SluiceError(.inputOutput, "no connection")), .answer(.each([])),
            // A time in the past does not count.
            .answer(.all(.retry(after: .seconds(-1_000)))),
        ])
    func waitGrowsWithEachFailure(step: ScriptedTransport.Step) async throws {
        let bench = try Bench(ScriptedTransport(Array(repeating: step, count: 24)))
        bench.track(1)
        var at = 15.0
        await bench.sends(at: at)
        for tries in 1...24 {
            at += Bench.wait(tries)
            await bench.sends(at: at)
        }
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 0)
        #expect(bench.ledger.delivered == 1)
        #expect(bench.ledger.attempts.failed == 24)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("Retry-After is a floor, and nothing ends it early")
    func retryAfterIsFloor() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.retry(after: .seconds(60))))]))
        bench.track(1)
        await bench.sends(at: 15)
        // 60 s, and the first pause.
        await bench.sleeps(until: 76)
        bench.pipeline.signal(.connectivity(.available))
        bench.pipeline.signal(.didEnterBackground)
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 0)
        #expect(report.waiting == 1)
        bench.track(10)
        // The event that failed alone has its own time, too.
        await bench.sends(at: 76)
        await bench.pipeline.flush()
        #expect(bench.ledger.delivered == 11)
    }

    /// Each report ends a wait in App Center's SDK. Without a limit, this server gets 101 requests.
    @Test("a network that comes and goes ends three waits for a failing server", arguments: [true, false])
    func flappingNetworkEndsThreeWaits(isHold: Bool) async throws {
        let answer = isHold ? Verdicts.all(.hold(reason: "HTTP 403")) : .all(.retry(after: nil, reason: "HTTP 503"))
        let bench = try Bench(ScriptedTransport(then: .answer(answer)))
        bench.track(1)
        await bench.sleeps(until: 15)
        await bench.pipeline.flush()
        for flap in 1...100 {
            let before = bench.ledger.attempts.total
            bench.pipeline.signal(.connectivity(.unavailable))
            bench.pipeline.signal(.connectivity(.available))
            guard flap <= 3 else {
                for _ in 0..<10 { await Task.yield() }
                continue
            }
            await bench.transport.waitForSends(before + 1)
            while bench.ledger.attempts.total == before { await Task.yield() }
        }
        for _ in 0..<10 { await Task.yield() }
        #expect(bench.transport.batches.count == 4)
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("delivered events of a batch are not sent again with the rest")
    func deliveredEventsAreNotSentAgain() async throws {
        let bench = try Bench(
            ScriptedTransport([.answer(.each([.accepted, .retry(after: nil), .duplicate, .rejected(reason: "bad")]))]))
        bench.track(4)
        await bench.pipeline.flush()
        #expect(bench.pipeline.ledger.isBalanced)
        bench.time.advance(by: .seconds(2))
        await bench.pipeline.flush()
        #expect(
            try bench.transport.batches.map { try $0.events.map { try $0.event().name } }
                == [["Event 0", "Event 1", "Event 2", "Event 3"], ["Event 1"]])
        #expect(bench.ledger.delivered == 3)
        #expect(bench.ledger.duplicates == 1)
        #expect(bench.ledger.rejected == 1)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test(
        "a hold without a status makes no dead letter: the transport itself says that no event is at fault",
        arguments: [false, true])
    func heldEventsAreNoDeadLetters(isOfEach: Bool) async throws {
        let bench = try Bench(
            ScriptedTransport { _, batch in
                let list = batch.events.map { line -> Verdict in
                    let isLarge = String(decoding: line.bytes, as: UTF8.self).contains("Event 7")
                    return isLarge ? .hold(reason: "the disk is full") : .accepted
                }
                return .answer(isOfEach ? .each(list) : .all(list.first { !$0.isAccepted } ?? .accepted))
            })
        bench.trackWhilePaused(25)
        for _ in 0..<40 {
            await bench.pipeline.flush()
            bench.time.advance(by: .seconds(60))
            bench.track(1)
        }
        await bench.pipeline.flush()
        #expect(bench.ledger.rejected == 0 && bench.ledger.delivered > 50)
    }

    @Test("one bad event blocks no other, is set aside, and is the only one rejected when more are accepted")
    func onlyBadEventIsRejected() async throws {
        let store = FaultyStore(WatchedStore())
        let bench = try Bench(
            ScriptedTransport { _, batch in
                let isBad = batch.events.contains { String(decoding: $0.bytes, as: UTF8.self).contains("Event 7") }
                return .answer(.all(isBad ? .split(reason: "HTTP 400") : .accepted))
            }, store: store)
        bench.trackWhilePaused(25)
        await bench.pipeline.flush()
        #expect(bench.ledger.delivered == 24)
        #expect(bench.ledger.waiting == 1)
        for _ in 0..<20 where bench.ledger.waiting > 0 {
            bench.time.advance(by: .seconds(60))
            bench.track(1)
            await bench.pipeline.flush()
        }
        #expect(bench.ledger.waiting == 0)
        #expect(bench.ledger.rejected == 1)
        #expect(try store.rejected.flatMap(\.self).map { try $0.line.event().name } == ["Event 7"])
        let letters = try await bench.pipeline.deadLetters()
        #expect(letters.map(\.reason) == ["the receiver accepts others: HTTP 400"])
        #expect(bench.diagnostics.map(\.kind) == [.searching, .rejected], "\(bench.sizes)")
        #expect(bench.diagnostics.last?.message.hasSuffix("HTTP 400 (the last one: Event 7)") == true)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    /// Hosts that track 20 events a second.
    struct BusyHost: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var eventsOfFlush = 20
        let isBad: @Sendable (_ number: Int) -> Bool
    }

    static let busyHosts = [
        BusyHost(testDescription: "one event in 23") { $0.isMultiple(of: 23) },
        BusyHost(testDescription: "13 in a row") { 100..<113 ~= $0 % 300 },
        BusyHost(testDescription: "one event in 23, each flushed", eventsOfFlush: 1) { $0.isMultiple(of: 23) },
        BusyHost(testDescription: "13 in a row, each flushed", eventsOfFlush: 1) { 100..<113 ~= $0 % 300 },
        BusyHost(testDescription: "one in seven, at first", eventsOfFlush: 5) { $0 < 91 && $0.isMultiple(of: 7) },
    ]

    @Test(
        "a busy host gets at most four diagnostics in 15 s if 13 of 300 events are bad",
        arguments: [400, 403, 429, 500],
        busyHosts)
    func badEventsCauseFewDiagnostics(status: Int, host: BusyHost) async throws {
        let bench = try Bench(
            ScriptedTransport { _, batch in
                let isBad = batch.events.contains { String(decoding: $0.bytes, as: UTF8.self).contains("Bad") }
                return .answer(isBad ? RuleWorld.verdicts(status) : .all(.accepted, status: 200))
            })
        var counts: [Int] = []
        for number in stride(from: 0, to: 1_200, by: host.eventsOfFlush) {
            // Otherwise a worker could take some of the events before all are tracked.
            bench.pipeline.pauseDelivery()
            for number in number..<number + host.eventsOfFlush {
                bench.pipeline.track(host.isBad(number) ? "Bad" : "Good")
            }
            bench.time.advance(by: .milliseconds(50 * host.eventsOfFlush))
            bench.pipeline.resumeDelivery()
            await bench.pipeline.flush()
            counts.append(bench.diagnostics.count)
        }
        let most = zip(counts, counts.dropFirst(300 / host.eventsOfFlush)).map { $1 - $0 }.max()
        #expect(
            max(try #require(most), counts[300 / host.eventsOfFlush - 1]) <= 4,
            "\(bench.diagnostics.map(\.description))")
        #expect(bench.ledger.delivered > 1_000 && !bench.diagnostics.isEmpty)
    }

    @Test("a receiver that refuses everything it gets makes no dead letter")
    func refusedEventsAreNoDeadLetters() async throws {
        for verdict in [Verdict.split(reason: "no"), .rejected(reason: "no"), .hold(reason: "no")] {
            let bench = try Bench(ScriptedTransport(then: .answer(.all(verdict, status: 400))))
            for _ in 0..<50 {
                bench.track(3)
                bench.time.advance(by: .seconds(600))
                await bench.pipeline.flush()
            }
            #expect(bench.ledger.rejected == 0)
            #expect(bench.ledger.waiting == 150)
            #expect(bench.diagnostics.map(\.kind) == [.paused])
            #expect(bench.pipeline.ledger.isBalanced)
        }
    }
}
