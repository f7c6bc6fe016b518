import SluiceTesting
import Testing

@testable import Sluice

/// What becomes of the events of one batch, verdict by verdict.
@Suite struct BatchProgressTests {
    typealias Outcome = BatchProgress.Outcome

    static func line(_ number: Int, bytes: Int = 10) -> EventLine {
        EventLine(bytes: ArraySlice(repeating: UInt8(number), count: bytes), priority: .normal)
    }

    static func progress(_ count: Int) -> BatchProgress {
        BatchProgress(Batch(id: Batch.ID(rawValue: 1), events: (0..<count).map { line($0) }))
    }

    static let unlimited = BatchSize(events: .max, bytes: .max)

    /// Sends parts until the batch is resolved or an outcome is not progress. Returns the sizes of the parts.
    static func drive(
        _ progress: inout BatchProgress, limit: BatchSize = unlimited, _ receiver: (Batch) -> Verdicts
    ) -> (parts: [[Int]], outcome: Outcome) {
        var parts: [[Int]] = []
        while true {
            let part = progress.nextPart(limit)
            parts.append(numbers(part.events))
            let outcome = progress.apply(receiver(part), toFirst: part.events.count)
            if outcome != .progress || progress.isResolved { return (parts, outcome) }
            // A receiver that asks for parts for ever would else hang the test.
            if parts.count > 500 { return (parts, outcome) }
        }
    }

    static func numbers(_ lines: [EventLine]) -> [Int] { lines.map { Int($0.bytes.first ?? 255) } }

    // MARK: Parts

    @Test(
        "a part has the first events that fit, and at least one",
        arguments: [
            (BatchSize(events: .max, bytes: .max), 5), (BatchSize(events: 2, bytes: .max), 2),
            (BatchSize(events: .max, bytes: 30), 3), (BatchSize(events: .max, bytes: 39), 3),
            (BatchSize(events: 2, bytes: 30), 2), (BatchSize(events: .max, bytes: 1), 1),
        ])
    func partFirstEvents(limit: BatchSize, count: Int) {
        let part = BatchProgressTests.progress(5).nextPart(limit)
        #expect(BatchProgressTests.numbers(part.events) == Array(0..<count))
        #expect(part.id == Batch.ID(rawValue: 1))
    }

    @Test("a large batch goes in parts, in order")
    func largeBatchGoes() {
        var progress = BatchProgressTests.progress(5)
        let sent = BatchProgressTests.drive(&progress, limit: BatchSize(events: 2, bytes: .max)) { _ in .all(.accepted)
        }
        #expect(sent.parts == [[0, 1], [2, 3], [4]])
        #expect(progress.isResolved)
        #expect(progress.delivered == 5)
    }

    // MARK: Verdicts that end an event

    @Test("duplicates are delivered")
    func duplicatesDelivered() {
        var progress = BatchProgressTests.progress(3)
        let outcome = progress.apply(.each([.accepted, .duplicate, .duplicate]), toFirst: 3)
        #expect(outcome == .progress)
        #expect(progress.isResolved)
        #expect(progress.delivered == 3)
        #expect(progress.duplicates == 2)
    }

    @Test("verdicts per event are obeyed per event")
    func verdictsPerEvent() {
        var progress = BatchProgressTests.progress(4)
        let outcome = progress.apply(
            .each([.accepted, .retry(after: .seconds(2)), .rejected("bad"), .retry(after: .seconds(7))]), toFirst: 4)
        #expect(outcome == .failed(retryAfter: .seconds(7)))
        #expect(BatchProgressTests.numbers(progress.unresolved) == [1, 3])
        #expect(progress.delivered == 1)
        #expect(progress.rejected.map(\.reason) == ["bad"])
        #expect(BatchProgressTests.numbers(progress.rejected.map(\.line)) == [2])
    }

    @Test("an event that waits keeps its place before the later parts")
    func eventWaitsKeeps() {
        var progress = BatchProgressTests.progress(4)
        _ = progress.apply(.each([.retry(after: nil), .accepted]), toFirst: 2)
        #expect(BatchProgressTests.numbers(progress.unresolved) == [0, 2, 3])
    }

    @Test("a hold is stronger than a retry")
    func holdStrongerThan() {
        var progress = BatchProgressTests.progress(2)
        #expect(progress.apply(.each([.retry(after: .seconds(9)), .hold("closed")]), toFirst: 2) == .held)
        #expect(progress.unresolved.count == 2)
    }

    @Test("a wrong count of verdicts is a retry of all", arguments: [0, 1, 2, 4]) func wrongCountVerdicts(count: Int) {
        var progress = BatchProgressTests.progress(3)
        let outcome = progress.apply(.each(Array(repeating: .accepted, count: count)), toFirst: 3)
        #expect(outcome == .failed(retryAfter: nil))
        #expect(progress.unresolved.count == 3)
        #expect(progress.delivered == 0)
    }

    // MARK: Too large

    @Test("a batch that is too large is halved until its parts are not")
    func batchTooLarge() {
        var progress = BatchProgressTests.progress(8)
        let sent = BatchProgressTests.drive(&progress) {
            $0.events.count > 2 ? .all(.split(.tooLarge)) : .all(.accepted)
        }
        #expect(sent.parts == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [0, 1], [2, 3], [4, 5], [6, 7]])
        #expect(progress.delivered == 8)
        #expect(progress.rejected.isEmpty)
    }

    @Test("an event that is too large by itself is rejected")
    func eventTooLarge() {
        var progress = BatchProgressTests.progress(4)
        let sent = BatchProgressTests.drive(&progress) { batch in
            BatchProgressTests.numbers(batch.events).contains(2) ? .all(.split(.tooLarge)) : .all(.accepted)
        }
        #expect(sent.outcome == .progress)
        #expect(progress.isResolved)
        #expect(progress.delivered == 3)
        #expect(BatchProgressTests.numbers(progress.rejected.map(\.line)) == [2])
    }

    @Test("if every event is too large by itself, it is not the events")
    func ifEveryEvent() {
        var progress = BatchProgressTests.progress(3)
        let sent = BatchProgressTests.drive(&progress) { _ in .all(.split(.tooLarge)) }
        #expect(sent.outcome == .refused)
        #expect(progress.rejected.isEmpty)
    }

    @Test("if every event is rejected by name, it is not the events")
    func ifEveryEventRejected() {
        var progress = BatchProgressTests.progress(3)
        #expect(progress.apply(.all(.rejected("no such field")), toFirst: 3) == .refused)
        #expect(progress.rejected.isEmpty && progress.hasSuspects)
        progress.convict()
        #expect(progress.rejected.count == 3 && progress.isResolved)
    }

    // MARK: Refused

    @Test("the refused event is found wherever it stands", arguments: 0..<5) func refusedEventFound(bad: Int) {
        var progress = BatchProgressTests.progress(5)
        let sent = BatchProgressTests.drive(&progress) { batch in
            BatchProgressTests.numbers(batch.events).contains(bad) ? .all(.split(.refused("no"))) : .all(.accepted)
        }
        #expect(sent.outcome == .progress)
        #expect(progress.isResolved)
        #expect(progress.delivered == 4)
        #expect(BatchProgressTests.numbers(progress.rejected.map(\.line)) == [bad])
        #expect(progress.rejected.map(\.reason) == ["no"])
    }

    @Test("the search takes few sends, and the rest goes in growing parts", arguments: 0..<50) func searchTakesFew(
        bad: Int
    ) {
        var progress = BatchProgressTests.progress(50)
        let sent = BatchProgressTests.drive(&progress) { batch in
            BatchProgressTests.numbers(batch.events).contains(bad) ? .all(.split(.refused("no"))) : .all(.accepted)
        }
        #expect(sent.parts.count <= 24, "\(sent.parts.map(\.count))")
        #expect(progress.delivered == 49)
    }

    @Test("parts do not grow again where batches are too large")
    func partsDoNot() {
        var progress = BatchProgressTests.progress(50)
        let sent = BatchProgressTests.drive(&progress) { batch in
            batch.events.count > 10 ? .all(.split(.tooLarge)) : .all(.accepted)
        }
        #expect(sent.parts.map(\.count) == [50, 25, 12] + Array(repeating: 6, count: 8) + [2])
    }

    @Test("a refused event waits for its judgement until another is accepted")
    func refusedEventWaits() {
        var progress = BatchProgressTests.progress(2)
        _ = progress.apply(.all(.split(.refused("no"))), toFirst: 2)
        _ = progress.apply(.all(.split(.refused("no"))), toFirst: 1)
        #expect(progress.rejected.isEmpty)
        #expect(!progress.isResolved)
        #expect(progress.apply(.all(.accepted), toFirst: 1) == .progress)
        #expect(progress.rejected.count == 1)
        #expect(progress.isResolved)
    }

    @Test("a receiver that refuses everything gets nothing rejected")
    func receiverRefusesEverything() {
        var progress = BatchProgressTests.progress(5)
        let sent = BatchProgressTests.drive(&progress) { _ in .all(.split(.refused("no"))) }
        #expect(sent.outcome == .refused)
        #expect(progress.rejected.isEmpty)
        #expect(progress.delivered == 0)
        progress.acquit()
        #expect(BatchProgressTests.numbers(progress.unresolved) == [0, 1, 2, 3, 4])
        // The probe is one event.
        #expect(progress.nextPart(BatchProgressTests.unlimited).events.count == 1)
    }

    @Test("eight refused events are enough to think of the receiver, and twice as many at each attempt")
    func eightRefusedEvents() {
        var progress = BatchProgressTests.progress(100)
        for attempt in 0..<5 {
            let sent = BatchProgressTests.drive(&progress) { _ in .all(.split(.refused("no"))) }
            #expect(sent.outcome == .refused)
            #expect(sent.parts.filter { $0.count == 1 }.count == min(100, 8 << attempt))
            progress.acquit()
            #expect(BatchProgressTests.numbers(progress.unresolved) == Array(0..<100))
        }
    }

    @Test("a receiver that breaks in mid batch costs one event at most")
    func receiverBreaksMid() {
        var progress = BatchProgressTests.progress(50)
        var sends = 0
        let sent = BatchProgressTests.drive(&progress) { batch in
            sends += 1
            return sends == 2 ? .all(.accepted) : .all(.split(.refused("no")))
        }
        #expect(sent.outcome == .refused)
        #expect(progress.delivered == 25)
        #expect(progress.rejected.count == 1)
    }

    @Test("a suspect is not forgotten by a failure in between")
    func suspectNotForgotten() {
        var progress = BatchProgressTests.progress(3)
        _ = progress.apply(.all(.split(.refused("no"))), toFirst: 3)
        _ = progress.apply(.all(.split(.refused("no"))), toFirst: 1)
        #expect(progress.apply(.all(.retry(after: nil)), toFirst: 1) == .failed(retryAfter: nil))
        _ = progress.apply(.all(.accepted), toFirst: 1)
        #expect(BatchProgressTests.numbers(progress.rejected.map(\.line)) == [0])
        #expect(!progress.isResolved)
        _ = progress.apply(.all(.accepted), toFirst: 1)
        #expect(progress.isResolved)
        #expect(progress.delivered == 2)
    }

    // MARK: Any verdicts

    /// However a receiver answers, each event ends once, as delivered or as rejected, or still waits.
    @Test("no event is lost or ends twice", arguments: 0..<200) func noEventLost(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        var progress = BatchProgressTests.progress(12)
        for _ in 0..<100 where !progress.isResolved {
            let part = progress.nextPart(BatchSize(events: below(6), bytes: .max))
            guard !part.events.isEmpty else {
                Issue.record("a part without events")
                return
            }
            let verdicts: [Verdict] = [
                .accepted, .duplicate, .retry(after: nil), .rejected("r"), .split(.tooLarge), .split(.refused("s")),
                .hold("h"),
            ]
            let each = part.events.map { _ in verdicts[below(verdicts.count)] }
            let verdict: Verdicts = below(3) == 0 ? .all(each[0]) : .each(each)
            if progress.apply(verdict, toFirst: part.events.count) == .refused { progress.acquit() }
            let ended = progress.delivered + progress.rejected.count + progress.unresolved.count
            #expect(ended <= 12)
            let lines = BatchProgressTests.numbers(progress.rejected.map(\.line) + progress.unresolved)
            #expect(Set(lines).count == lines.count)
        }
        while !progress.isResolved {
            let part = progress.nextPart(BatchProgressTests.unlimited)
            guard !part.events.isEmpty else {
                Issue.record("suspects wait, and nothing is left to send")
                return
            }
            _ = progress.apply(.all(.accepted), toFirst: part.events.count)
        }
        #expect(progress.delivered + progress.rejected.count == 12)
    }
}
