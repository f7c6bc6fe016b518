import Sluice
import SluiceTesting
import Testing

@testable import SluiceDelivery

@Suite("Why a send failed")
struct FailureReasonTests {
    static let table: [(ScriptedTransport.Step, Diagnostic.Kind, String)] = [
        (.answer(.all(.retry(after: nil, reason: "HTTP 503"))), .retrying, "HTTP 503"),
        (.answer(.each([.retry(after: nil, reason: "HTTP 429")])), .retrying, "HTTP 429"),
        (.answer(.all(.retry(after: .seconds(1)))), .retrying, "the receiver gave no reason"),
        (.failure(SluiceError(.inputOutput, "")), .retrying, "the receiver gave no reason"),
        (.answer(.each([.rejected(reason: " \r\n")])), .paused, "the receiver gave no reason"),
        (.answer(.all(.hold(reason: "\u{200B}\n\u{FEFF}"))), .paused, "the receiver gave no reason"),
        (
            .answer(.all(.split(reason: String(repeating: "é\u{2029}", count: 99_999)), status: 400)), .paused,
            String(repeating: "é ", count: 204) + "é"
        ),
        (
            .answer(.each([])), .retrying,
            "the transport must return one verdict for each event; verdicts: 0, events: 1"
        ),
        (.failure(SluiceError(.inputOutput, "no connection")), .retrying, "no connection"),
        (.answer(.all(.hold(reason: "closed on Sundays"))), .paused, "closed on Sundays"),
        // A line break would let a receiver write lines of its own into the host's log.
        (.answer(.all(.hold(reason: "closed\non\u{2028}Sun\u{9b}days\u{0}"))), .paused, "closed on Sun days"),
    ]

    @Test("the reason is in the diagnostics immediately, and in the ledger until a send succeeds", arguments: table)
    func reasonIsReportedUntilSuccess(step: ScriptedTransport.Step, kind: Diagnostic.Kind, reason: String) async throws
    {
        let bench = try Bench(ScriptedTransport([step]))
        bench.track(1)
        await bench.pipeline.flush()
        #expect(bench.diagnostics == [Diagnostic(kind: kind, route: "main", message: reason)])
        #expect(bench.ledger.attempts.lastFailure == reason)
        #expect(bench.ledger.attempts.total == 1)
        #expect(bench.ledger.attempts.failed == 1)

        // The end of each pause.
        bench.time.advance(by: .seconds(100))
        await bench.drained()
        #expect(bench.ledger.attempts.lastFailure == nil)
        #expect(bench.ledger.attempts.total == 2)
        #expect(bench.ledger.attempts.failed == 1)
        #expect(
            bench.diagnostics.last
                == Diagnostic(kind: .resumed, route: "main", message: "the receiver accepts events; 1 event had waited")
        )
    }

    @Test(
        "the end of an outage is told once, and no event is suspected",
        arguments: [500, 503, 429, 403], [(1, 1, 3), (3, 1, 3), (3, 2, 1), (3, 12, 40)])
    func outageIsNoSearch(status: Int, counts: (inFlight: Int, before: Int, later: Int)) async throws {
        var policy = Bench.policy
        policy.maximumBatchesInFlight = counts.inFlight
        let isOut = Locked(true)
        let bench = try Bench(
            ScriptedTransport { _, _ in
                .answer(isOut.withLock(\.self) ? RuleWorld.verdicts(status) : .all(.accepted, status: 200))
            }, delivery: policy)
        bench.trackWhilePaused(counts.before)
        await bench.pipeline.flush()
        bench.trackWhilePaused(counts.later)
        isOut.withLock { $0 = false }
        bench.time.advance(by: .seconds(100))
        await bench.drained()
        #expect(bench.ledger.delivered == counts.before + counts.later)
        #expect(bench.diagnostics.map(\.kind) == [status == 403 ? .paused : .retrying, .resumed])
    }

    @Test("a refusal is told although an outage was, and a short outage with the same reason only once")
    func refusalIsToldAfterOutage() async throws {
        let (status, busy) = (Locked(0), Locked(false))
        let bench = try Bench(
            ScriptedTransport { _, _ in
                let after: Duration? = busy.withLock(\.self) ? .seconds(3_600) : nil
                return .answer(RuleWorld.verdicts(after == nil ? status.withLock(\.self) : 503, after: after))
            })
        for (next, kinds) in [
            (0, [.retrying]), (401, [.paused]), (0, []), (200, [.resumed]), (0, []), (200, []), (401, []), (200, []),
        ] as [(Int, [Diagnostic.Kind])] {
            status.withLock { $0 = next }
            let before = bench.diagnostics.count
            bench.track(1)
            for _ in 0..<3 { await bench.pipeline.flush() }
            #expect(bench.diagnostics[before...].map(\.kind) == kinds, "\(next)")
        }
        // One with a long pause, too.
        for _ in 0..<2 {
            let before = bench.diagnostics.count
            busy.withLock { $0 = true }
            bench.track(1)
            await bench.pipeline.flush()
            busy.withLock { $0 = false }
            bench.time.advance(by: .seconds(3_610))
            await bench.drained()
            #expect(bench.diagnostics[before...].map(\.kind) == [.retrying, .resumed])
        }
        // A long outage is told each time, and some failures in a row are not: in a quiet route, each bad event causes them.
        for (failures, kinds) in [(10, []), (70, [.retrying, .resumed]), (70, [.retrying, .resumed])]
            as [(Int, [Diagnostic.Kind])]
        {
            status.withLock { $0 = 0 }
            let before = bench.diagnostics.count
            bench.track(1)
            for _ in 0..<failures { await bench.pipeline.flush() }
            status.withLock { $0 = 200 }
            await bench.pipeline.flush()
            #expect(bench.diagnostics[before...].map(\.kind) == kinds)
        }
    }

    @Test("a receiver that accepts others is not in doubt, however often blamed events fail", arguments: [0, 429])
    func searchIsNoOutage(status: Int) async throws {
        let bench = try Bench(
            ScriptedTransport { _, batch in
                let isBad = batch.events.contains { String(decoding: $0.bytes, as: UTF8.self).contains("Event 1") }
                return .answer(isBad ? RuleWorld.verdicts(status) : .all(.accepted, status: 200))
            })
        for number in 0..<60 {
            if number == 40 { bench.trackWhilePaused(20) }
            for _ in 0..<12 { await bench.pipeline.flush() }
            bench.pipeline.track("Good")
        }
        #expect(bench.ledger.delivered == 68 && bench.ledger.setAside == 11)
        // The first rows, of events that are not blamed yet, are doubts.
        #expect(bench.diagnostics.count { $0.kind == .retrying } <= 2, "\(bench.diagnostics.map(\.kind))")
    }

    @Test(
        "in a search, only a long row or a long pause is a doubt", arguments: [true, false])
    func doubtsOfSearchAreFew(isRefused: Bool) {
        for (row, isSearching, pause, count) in [
            (9, false, Duration.seconds(1), 1), (9, true, .seconds(1), 0), (40, true, .seconds(20), 0),
            (9, true, .seconds(61), 1), (64, true, .seconds(1), 1), (400, true, .zero, 0),
        ] {
            var journal = RouteJournal(name: "main")
            let failure = Answer.Failure(kind: isRefused ? .refused : .broken, reason: "HTTP")
            for _ in 0..<2 { journal.reportDoubt(failure, row: row, isSearching: isSearching, pause: pause) }
            #expect(journal.diagnostics.count == count, "\(row), \(isSearching), \(pause)")
        }
    }

    @Test("a batch that the transport finds too large is sent in parts, and has not failed")
    func oversizedBatchHasNotFailed() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.tooLarge()))]))
        bench.track(4)
        await bench.drained()
        #expect(bench.sizes == [4, 2, 2])
        #expect(bench.ledger.attempts.total == 3)
        #expect(bench.ledger.attempts.failed == 0)
        #expect(bench.ledger.attempts.lastFailure == nil)
    }
}
