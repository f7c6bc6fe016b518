import Sluice
import SluiceTesting
import Testing

/// Failures and their waits, to the millisecond of virtual time.
@Suite struct RetryTests {
    @Test(
        "the wait grows with each failure, up to five minutes, even if the transport cancels its own task",
        arguments: [
            ScriptedTransport.Step.retry, .failure(SluiceError(.inputOutput, "no connection")), .answer(.each([])),
            // A time in the past does not count.
            .answer(.all(.retry(after: .seconds(-1_000)))),
        ], [false, true])
    func waitGrowsWithEachFailure(step: ScriptedTransport.Step, cancelsOwnTask: Bool) async throws {
        let bench = try Bench(
            ScriptedTransport { number, _ in
                if cancelsOwnTask { withUnsafeCurrentTask { $0?.cancel() } }
                return number < 24 ? step : .answer(.all(.accepted))
            })
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
}
