import Sluice
import SluiceMemory
import SluiceSystem
import SluiceTesting
import Testing

@testable import SluiceDelivery

@Suite("Ledgers, reports and messages are plain sentences")
struct ReadableTextTests {
    private let messages = Locked<[String]>([])

    private func pipeline(rejecting verdicts: [Verdicts]) throws -> Pipeline {
        try Pipeline(onDiagnostic: { [messages] diagnostic in messages.withLock { $0.append("\(diagnostic)") } }) {
            MemoryStore()
            ScriptedTransport(verdicts.map { .answer($0) })
        }
    }

    @Test("one event is in the singular", arguments: [1, 2])
    func countsHaveNumber(count: Int) async throws {
        let rejected = Array(repeating: Verdict.rejected(reason: "no name"), count: count)
        let pipeline = try pipeline(rejecting: [.each(rejected + [.accepted])])
        pipeline.pauseDelivery()
        // A line break of a name doesn't begin a line of the host's log.
        for _ in 0...count { pipeline.track("Purchase\nnow") }
        pipeline.resumeDelivery()
        let report = await pipeline.flush()
        let expected =
            count == 1
            ? "rejected [main]: 1 event became a dead letter: no name (the last one: Purchase now)"
            : "rejected [main]: 2 events became dead letters: no name (the last one: Purchase now)"
        #expect(messages.withLock(\.self) == [expected])
        #expect("\(report)" == "1 delivered, \(count) rejected, 0 waiting")
        let letters = count == 1 ? "1 dead letter" : "2 dead letters"
        let counts = "1 delivered, 0 waiting, \(count) rejected, \(letters)"
        #expect("\(pipeline.ledger)" == "\(count + 1) tracked\nmain: \(counts)")
    }

    @Test("a ledger shows every count that isn't zero")
    func ledgerShowsCounts() throws {
        var ledger = Ledger()
        ledger.tracked = 5
        ledger.sanitized = [.truncatedString: 2]
        var route = RouteLedger(name: "main")
        (route.unreadBytes, route.inserted, route.duplicates) = (900, 1, 2)
        route.droppedDeadLetters = [.evicted: 3]
        ledger.routes = [route]
        let counts =
            "at least 0 waiting, 900 bytes unread, 1 inserted, 2 duplicates, 3 dead letters dropped (evicted: 3)"
        #expect("\(ledger)" == "5 tracked, 2 sanitized (truncatedString: 2)\nmain: 0 delivered, \(counts)")
    }

    @Test(
        "a report of a flush says that more events can wait than were counted",
        arguments: [(0, ""), (3_232, "at least ")])
    func flushReportShowsUnreadBytes(bytes: Int, start: String) {
        var report = FlushReport()
        (report.delivered, report.rejected, report.waiting, report.unreadBytes) = (1, 2, 4, bytes)
        let end = bytes == 0 ? "" : ", \(bytes) bytes unread"
        #expect("\(report)" == "1 delivered, 2 rejected, \(start)4 waiting\(end)")
    }

    @Test("a report of an erasure says how much is erased")
    func erasureIsReadable() async throws {
        let pipeline = try pipeline(rejecting: [])
        pipeline.pauseDelivery()
        pipeline.track("Purchase")
        #expect("\(await pipeline.eraseEverything())" == "erased events: 1, dead letters: 0, states: 0")
        await pipeline.shutdown()
        let incomplete = "erased events: 0, dead letters: 0, states: 0; something is left, see the diagnostics"
        #expect("\(await pipeline.eraseEverything())" == incomplete)
    }

    @Test("reasons print as the ledger names them")
    func reasonsAreReadable() {
        #expect("\([DropReason.filtered: 1])" == "[filtered: 1]")
        #expect("\([Sanitization.truncatedString: 2])" == "[truncatedString: 2]")
    }
}
