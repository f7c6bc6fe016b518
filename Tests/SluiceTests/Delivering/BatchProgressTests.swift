import SluiceTesting
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The events of one batch, verdict by verdict.
@Suite struct BatchProgressTests {
    typealias Effect = SendResult.Effect

    static func line(_ number: Int, bytes: Int = 10) -> EventLine {
        EventLine(bytes: ArraySlice(repeating: UInt8(number), count: bytes), priority: .normal)
    }

    static func progress(_ count: Int) -> BatchProgress {
        BatchProgress(Batch(id: 1, events: (0..<count).map { line($0) }))
    }

    static let unlimited = BatchSize(events: .max, bytes: .max)

    /// Sends parts until the batch is resolved or an effect is not progress. Returns the events of the parts.
    static func drive(
        _ progress: inout BatchProgress, limit: BatchSize = unlimited, _ receiver: (Batch) -> Verdicts
    ) -> (parts: [[Int]], effect: Effect) {
        var parts: [[Int]] = []
        while true {
            let part = progress.nextPart(limit)
            parts.append(numbers(part.events))
            let effect = progress.apply(receiver(part), toFirst: part.events.count).effect
            if effect != .progress || progress.isResolved { return (parts, effect) }
            // Otherwise a receiver that always asks for parts would hang the test.
            if parts.count > 500 { return (parts, effect) }
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
    func partHasFirstEvents(limit: BatchSize, count: Int) {
        let part = BatchProgressTests.progress(5).nextPart(limit)
        #expect(BatchProgressTests.numbers(part.events) == Array(0..<count))
        #expect(part.id == 1)
    }

    @Test("a large batch goes in parts, in order")
    func largeBatchGoesInParts() {
        var progress = BatchProgressTests.progress(5)
        let sent = BatchProgressTests.drive(&progress, limit: BatchSize(events: 2, bytes: .max)) { _ in .all(.accepted)
        }
        #expect(sent.parts == [[0, 1], [2, 3], [4]])
        #expect(progress.isResolved)
        #expect(progress.resolved == 5)
    }

    // MARK: Final verdicts

    @Test("duplicates count as accepted")
    func duplicatesAreAccepted() {
        var progress = BatchProgressTests.progress(3)
        let result = progress.apply(.each([.accepted, .duplicate, .duplicate]), toFirst: 3)
        #expect(result.effect == .progress)
        #expect((result.accepted, result.duplicates) == (3, 2))
        #expect(progress.isResolved)
    }

    @Test("a rejected and an unsendable event leave the batch, and only the first is a refusal")
    func rejectedAndUnsendableLeave() {
        var progress = BatchProgressTests.progress(3)
        let result = progress.apply(
            .each([.rejected(reason: "bad"), .unsendable(reason: "large"), .accepted]), toFirst: 3)
        #expect(result.rejected.map(\.reason) == ["bad", "large"])
        #expect(result.rejected.map(\.isRefusal) == [true, false])
        #expect(progress.isResolved)
    }

    // MARK: Retries

    @Test("a retry of the whole request keeps all events")
    func wholeRetryKeepsEvents() {
        var progress = BatchProgressTests.progress(3)
        let result = progress.apply(.all(.retry(after: .seconds(2), reason: "busy")), toFirst: 3)
        #expect(result.effect == .retry(after: .seconds(2)))
        #expect(result.reason == "busy")
        #expect(progress.unresolved == [0, 1, 2])
    }

    @Test("the answer to a request is that to all of its events, also beside events that were not sent")
    func unsendableEventsNameNoOther() {
        let busy = Verdict.retry(after: .seconds(120), reason: "busy")
        var progress = BatchProgressTests.progress(3)
        let result = progress.apply(.each([busy, .unsendable(reason: "large"), busy]), toFirst: 3)
        #expect(result.effect == .retry(after: .seconds(120)))
        #expect(result.rejected.map(\.reason) == ["large"])
        #expect(progress.unresolved == [0, 2] && progress.deferred == [])
        // The receiver has named an event if it has answered others in another way.
        var other = BatchProgressTests.progress(3)
        _ = other.apply(.each([busy, .unsendable(reason: "large"), .accepted]), toFirst: 3)
        #expect(other.deferred == [0])
    }

    @Test("named retries beside an acceptance are deferred, and the other events go on")
    func namedRetriesAreDeferred() {
        var progress = BatchProgressTests.progress(5)
        let result = progress.apply(
            .each([.accepted, .retry(after: .seconds(2)), .rejected(reason: "bad"), .retry(after: .seconds(7))]),
            toFirst: 4)
        #expect(result.effect == .progress)
        #expect(result.reason == nil)
        #expect(progress.unresolved == [4])
        #expect(progress.deferred == [1, 3])
        #expect(progress.deferral == .seconds(7))
        #expect(!progress.isDeferred)
        _ = progress.apply(.all(.accepted), toFirst: 1)
        #expect(progress.isDeferred)
        #expect(!progress.isResolved)
        progress.resume()
        #expect(progress.unresolved == [1, 3])
        #expect(progress.deferral == .zero)
        #expect(progress.deferrals == 1)
    }

    @Test("named retries without an acceptance pause the route")
    func namedRetriesAlonePause() {
        var progress = BatchProgressTests.progress(2)
        let result = progress.apply(.each([.retry(after: nil), .retry(after: nil, reason: "busy")]), toFirst: 2)
        #expect(result.effect == .deferred)
        #expect(result.reason == "busy")
        #expect(progress.isDeferred)
    }

    @Test("a named retry after zero is sent again without a pause, as long as something else changes")
    func retryAfterZeroIsSentAgain() {
        var progress = BatchProgressTests.progress(3)
        let result = progress.apply(
            .each([.retry(after: .zero), .retry(after: .seconds(30)), .retry(after: .zero)]), toFirst: 3)
        #expect(result.effect == .progress)
        #expect(progress.unresolved == [0, 2])
        #expect(
            progress.apply(.each([.retry(after: .zero), .retry(after: .zero)]), toFirst: 2).effect == .retry(after: nil)
        )
    }

    @Test("a hold is stronger than a retry")
    func holdIsStrongerThanRetry() {
        for verdicts in [
            [Verdict.retry(after: .seconds(9)), .hold(reason: "closed")],
            [.hold(reason: "closed"), .retry(after: nil)],
        ] {
            var progress = BatchProgressTests.progress(2)
            let result = progress.apply(.each(verdicts), toFirst: 2)
            #expect(result.effect == .hold)
            #expect(result.reason == "closed")
        }
    }

    @Test("a wrong number of verdicts is a retry of all events", arguments: [0, 1, 2, 4])
    func wrongNumberOfVerdicts(count: Int) {
        var progress = BatchProgressTests.progress(3)
        let result = progress.apply(.each(Array(repeating: .accepted, count: count)), toFirst: 3)
        #expect(result.effect == .retry(after: nil))
        #expect(progress.unresolved.count == 3)
        #expect(result.accepted == 0)
    }

    // MARK: Parts in search of an event

    @Test("a batch that is too large is halved until its parts fit")
    func largeBatchIsHalved() {
        var progress = BatchProgressTests.progress(8)
        let sent = BatchProgressTests.drive(&progress) {
            $0.events.count > 2 ? .all(.tooLarge()) : .all(.accepted)
        }
        #expect(sent.parts == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [0, 1], [2, 3], [4, 5], [6, 7]])
    }

    @Test("parts don't grow again if the receiver limits their size")
    func limitedPartsStaySmall() {
        var progress = BatchProgressTests.progress(50)
        let sent = BatchProgressTests.drive(&progress) { batch in
            batch.events.count > 10 ? .all(.tooLarge()) : .all(.accepted)
        }
        #expect(sent.parts.map(\.count) == [50, 25, 12] + Array(repeating: 6, count: 8) + [2])
    }

    @Test(
        "a refused event is found in few attempts wherever it stands, and parts grow again", arguments: 0..<50,
        [Verdict.tooLarge(), .split(reason: "no")])
    func refusedEventIsFound(bad: Int, verdict: Verdict) {
        var progress = BatchProgressTests.progress(50)
        var rejected: [Int] = []
        var attempts = 0
        while !progress.isResolved, attempts < 100 {
            let part = progress.nextPart(BatchProgressTests.unlimited)
            let isBad = BatchProgressTests.numbers(part.events).contains(bad)
            let result = progress.apply(.all(isBad ? verdict : .accepted), toFirst: part.events.count)
            rejected += BatchProgressTests.numbers(result.rejected.map(\.line))
            attempts += 1
        }
        #expect(rejected == [bad])
        #expect(attempts <= 30, "\(attempts) attempts")
    }

    // MARK: Any verdicts

    @Test("no event is lost or resolved twice", arguments: 0..<200)
    func eventsAreResolvedOnce(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        var progress = BatchProgressTests.progress(12)
        var rejected: [Int] = []
        var accepted = 0
        func check(_ result: SendResult) {
            accepted += result.accepted
            rejected += BatchProgressTests.numbers(result.rejected.map(\.line))
            let lines = rejected + progress.unresolved + progress.deferred
            #expect(Set(lines).count == lines.count)
            #expect(accepted + lines.count == 12)
            #expect(progress.resolved == accepted + rejected.count)
        }
        for _ in 0..<100 where !progress.isResolved {
            if progress.isDeferred { progress.resume() }
            let part = progress.nextPart(BatchSize(events: below(6), bytes: .max))
            #expect(!part.events.isEmpty)
            let verdicts: [Verdict] = [
                .accepted, .duplicate, .retry(after: nil), .retry(after: .zero), .rejected(reason: "r"),
                .unsendable(reason: "u"),
                .tooLarge(), .split(reason: "s"), .hold(reason: "h"),
            ]
            let each = part.events.map { _ in verdicts[below(verdicts.count)] }
            check(progress.apply(below(3) == 0 ? .all(each[0]) : .each(each), toFirst: part.events.count))
        }
        if progress.isDeferred { progress.resume() }
        while !progress.isResolved {
            check(
                progress.apply(.all(.accepted), toFirst: progress.nextPart(BatchProgressTests.unlimited).events.count))
            if progress.isDeferred { progress.resume() }
        }
        #expect(accepted + rejected.count == 12)
    }

    @Test("a part knows how often its events were sent without a result")
    func partKnowsRetries() {
        func counts(_ verdicts: Verdicts...) -> [Int] {
            var progress = BatchProgressTests.progress(4)
            return verdicts.map { verdicts in
                if progress.isDeferred { progress.resume() }
                let part = progress.nextPart(BatchProgressTests.unlimited)
                _ = progress.apply(verdicts, toFirst: part.events.count)
                return part.retryCount
            }
        }
        let retry = Verdicts.all(.retry(after: nil))
        #expect(counts(retry, retry, retry) == [0, 1, 2])
        #expect(counts(retry, .all(.hold(reason: "")), retry) == [0, 1, 2])
        // Smaller parts and the rest of a part are other requests.
        #expect(counts(retry, .all(.tooLarge()), retry, retry) == [0, 1, 0, 1])
        let again = Verdict.retry(after: .zero)
        #expect(counts(retry, .each([.rejected(reason: ""), again, again, again]), retry) == [0, 1, 0])
        let later = Verdict.retry(after: .seconds(1))
        #expect(counts(.each([.accepted, .accepted, later, later]), .each([later, later]), retry) == [0, 1, 2])
        #expect(
            counts(.each([.accepted, later, later, later]), retry, .each([.accepted, later, later]), retry)
                == [0, 1, 2, 3])
    }
}
