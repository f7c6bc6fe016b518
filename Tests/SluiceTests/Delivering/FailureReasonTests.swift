import Sluice
import SluiceTesting
import Testing

@Suite("Why a send failed")
struct FailureReasonTests {
    static let table: [(ScriptedTransport.Step, Diagnostic.Kind, String)] = [
        (.answer(.all(.retry(after: nil, reason: "HTTP 503"))), .retrying, "HTTP 503"),
        (.answer(.each([.retry(after: nil), .retry(after: nil, reason: "HTTP 429")])), .retrying, "HTTP 429"),
        (.answer(.all(.retry(after: .seconds(1)))), .retrying, "the receiver asked for a retry"),
        (
            .answer(.each([.accepted])), .retrying,
            "the transport must return one verdict for each event; verdicts: 1, events: 2"
        ),
        (.failure(SluiceError(.inputOutput, "no connection")), .retrying, "no connection"),
        (.answer(.all(.hold(reason: "closed on Sundays"))), .held, "closed on Sundays"),
    ]

    @Test("the reason is in the diagnostics immediately, and in the ledger until a send succeeds", arguments: table)
    func reasonIsReportedUntilSuccess(step: ScriptedTransport.Step, kind: Diagnostic.Kind, reason: String) async throws
    {
        let bench = try Bench(ScriptedTransport([step]))
        bench.track(2)
        await bench.pipeline.flush()
        #expect(bench.diagnostics == [Diagnostic(kind: kind, route: "main", message: reason)])
        #expect(bench.ledger.attempts.lastFailure == reason)
        #expect(bench.ledger.attempts.total == 1)
        #expect(bench.ledger.attempts.failed == 1)
        #expect(bench.ledger.attempts.held == (kind == .held ? 1 : 0))

        // The end of each back-off and hold.
        bench.time.advance(by: .seconds(100))
        await bench.drained()
        #expect(bench.ledger.attempts.lastFailure == nil)
        // After a hold, the first event is a probe.
        #expect(bench.ledger.attempts.total == (kind == .held ? 3 : 2))
        #expect(bench.ledger.attempts.failed == 1)
    }

    @Test("a batch that is sent in parts counts as split, not as failed")
    func splitBatchHasNotFailed() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.tooLarge()))]))
        bench.track(4)
        await bench.drained()
        #expect(bench.sizes == [4, 2, 2])
        #expect(bench.ledger.attempts.total == 3)
        #expect(bench.ledger.attempts.split == 1)
        #expect(bench.ledger.attempts.failed == 0)
        #expect(bench.ledger.attempts.lastFailure == nil)
    }
}
