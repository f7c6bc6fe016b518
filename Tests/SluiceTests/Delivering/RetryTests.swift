import Sluice
import SluiceTesting
import Testing

/// Failures and their waits, to the millisecond of virtual time.
@Suite struct RetryTests {
    static let retry = ScriptedTransport.Step.answer(.all(.retry(after: nil)))

    @Test(
        "the wait doubles with each failure",
        arguments: [
            retry, .failure(SluiceError(.inputOutput, "no connection")), .answer(.each([])),
        ])
    func waitDoublesWithEachFailure(step: ScriptedTransport.Step) async throws {
        let bench = try Bench(ScriptedTransport(Array(repeating: step, count: 10)))
        bench.track(1)
        // A back-off of 2 s / 1.1, with a jitter of 55 %, doubles up to 55 % of 300 s.
        var at = 15.0
        await bench.sends(at: at)
        for wait in [1.0, 2, 4, 8, 16, 32, 64, 128, 165, 165] {
            at += wait
            await bench.sends(at: at)
        }
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 0)
        #expect(bench.ledger.delivered == 1)
        #expect(bench.ledger.attempts.failed == 10)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a success halves the next wait instead of resetting it")
    func successHalvesNextWait() async throws {
        let bench = try Bench(
            ScriptedTransport([Self.retry, Self.retry, .answer(.all(.accepted)), Self.retry]))
        bench.track(1)
        await bench.sends(at: 15)
        await bench.sends(at: 16)
        await bench.sends(at: 18)
        await bench.drained()
        bench.track(1)
        await bench.sends(at: 33)
        await bench.sends(at: 35)
        #expect(bench.sizes == [1, 1, 1, 1, 1])
    }

    @Test("Retry-After is a floor, and nothing ends it early")
    func retryAfterIsFloor() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.retry(after: .seconds(60))))]))
        bench.track(1)
        await bench.sends(at: 15)
        // 60 s, and half of the first back-off of 2 s.
        await bench.sleeps(until: 76)
        bench.pipeline.signal(.connectivity(.available))
        bench.pipeline.signal(.didEnterBackground)
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 0)
        #expect(report.waiting == 1)
        bench.track(10)
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
        // The alarm of the interval stays, because the hold lasts longer.
        await bench.sleeps(until: isHold ? 15 : 1)
        #expect(bench.transport.batches.count == 4)
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("a success lets the network end three waits once more")
    func successLetsNetworkEndWaits() async throws {
        var answers = Array(repeating: Self.retry, count: 4)
        answers += [.answer(.all(.accepted)), Self.retry]
        let bench = try Bench(ScriptedTransport(answers))
        bench.track(1)
        await bench.pipeline.flush()
        for sends in 2...4 {
            bench.pipeline.signal(.connectivity(.available))
            await bench.transport.waitForSends(sends)
            while bench.ledger.attempts.total < sends { await Task.yield() }
        }
        // The fourth wait takes its time.
        bench.pipeline.signal(.connectivity(.available))
        await bench.sends(at: 1)
        await bench.drained()
        bench.track(1)
        await bench.pipeline.flush()
        bench.pipeline.signal(.connectivity(.available))
        await bench.transport.waitForSends(7)
        #expect(bench.time.continuousTime() < .seconds(1.1))
    }

    @Test("a Retry-After in the past still waits for the back-off")
    func pastRetryAfterStillWaits() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.retry(after: .seconds(-1_000))))]))
        bench.track(1)
        await bench.sends(at: 15)
        await bench.sends(at: 16)
    }

    @Test("Retry-After is limited to an hour")
    func retryAfterIsLimitedToAnHour() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.retry(after: .seconds(Int64.max))))]))
        bench.track(1)
        await bench.sends(at: 15)
        await bench.sends(at: 15 + 3_600 + 1)
    }

    @Test("a route on hold keeps everything and probes at its interval")
    func heldRouteKeepsEventsAndProbes() async throws {
        let hold = ScriptedTransport.Step.answer(.all(.hold(reason: "HTTP 401")))
        let bench = try Bench(ScriptedTransport([hold, hold]))
        bench.track(1)
        await bench.sends(at: 15)
        // Half of the interval of 100 s, and half of the other half.
        await bench.sleeps(until: 90)
        bench.track(20)
        bench.pipeline.signal(.connectivity(.available))
        #expect(bench.ledger.waiting == 21)
        await bench.sends(at: 90)
        await bench.sends(at: 240)
        await bench.pipeline.flush()
        #expect(bench.ledger.delivered == 21)
        #expect(bench.diagnostics.filter { $0.kind == .held }.map(\.message) == ["HTTP 401", "HTTP 401"])
    }

    @Test("the diagnostic of a hold has its reason, even among other verdicts")
    func holdDiagnosticHasReason() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.each([.accepted, .hold(reason: "quota")]))]))
        bench.track(2)
        await bench.pipeline.flush()
        #expect(bench.diagnostics.map(\.message) == ["quota"])
        #expect(bench.ledger.delivered == 1)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("delivered events of a batch are not sent again with the rest")
    func deliveredEventsAreNotSentAgain() async throws {
        let bench = try Bench(
            ScriptedTransport([.answer(.each([.accepted, .retry(after: nil), .duplicate, .rejected(reason: "bad")]))]))
        bench.track(4)
        await bench.pipeline.flush()
        #expect(bench.pipeline.ledger.isBalanced)
        await bench.sends(at: 1)
        await bench.pipeline.flush()
        #expect(
            try bench.transport.batches.map { try $0.events.map { try $0.event().name } }
                == [["Event 0", "Event 1", "Event 2", "Event 3"], ["Event 1"]])
        #expect(bench.ledger.delivered == 3)
        #expect(bench.ledger.duplicates == 1)
        #expect(bench.ledger.rejected == 1)
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("one bad event blocks no other and is the only one rejected")
    func onlyBadEventIsRejected() async throws {
        let store = FaultyStore(WatchedStore())
        let bench = try Bench(
            ScriptedTransport { _, batch in
                let isBad = batch.events.contains { String(decoding: $0.bytes, as: UTF8.self).contains("Event 7") }
                return .answer(.all(isBad ? .split(reason: "HTTP 400") : .accepted))
            }, store: store)
        bench.track(25)
        await bench.pipeline.flush()
        #expect(bench.ledger.delivered == 24)
        #expect(bench.ledger.rejected == 1)
        #expect(try store.rejected.flatMap(\.self).map { try $0.line.event().name } == ["Event 7"])
        #expect(bench.pipeline.ledger.isBalanced)
    }

    @Test("a bad event that is alone becomes a dead letter immediately")
    func loneBadEventIsRejected() async throws {
        let store = FaultyStore(WatchedStore())
        let bench = try Bench(ScriptedTransport([.answer(.all(.split(reason: "HTTP 400")))]), store: store)
        bench.track(1)
        await bench.pipeline.flush()
        #expect(bench.ledger.waiting == 0)
        #expect(bench.ledger.rejected == 1)
        #expect(bench.ledger.deadLetters == 1)
        #expect(try store.rejected.flatMap(\.self).map { try $0.line.event().name } == ["Event 0"])
        #expect(bench.pipeline.ledger.isBalanced)
    }
}
