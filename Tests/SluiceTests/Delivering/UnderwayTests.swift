import Testing

@testable import Sluice

/// Whose fault a refusal is, told by two batches.
@Suite struct UnderwayTests {
    typealias Answer = (Batch) -> Verdicts

    static let refusal = Verdicts.all(.split(.refused("no")))

    /// A store of batches, one number for each event.
    struct Bench {
        var underway = Underway()
        var store: [Batch]
        private var handedOut: [Batch.ID: Batch] = [:]
        var delivered = 0
        var rejected: [Int] = []
        var settled: [UInt64] = []

        init(_ sizes: [Int]) {
            var first = 0
            store = sizes.enumerated().map { index, size in
                defer { first += size }
                let events = (first..<first + size).map { BatchProgressTests.line($0) }
                return Batch(id: Batch.ID(rawValue: UInt64(index)), events: events)
            }
        }

        /// Sends until the route is on hold or nothing waits.
        ///
        /// - Returns: the sends.
        mutating func drive(_ receiver: Answer) -> Int {
            var sends = 0
            while sends < 1_000 {
                guard let before = underway.next() ?? takeNew() else { return sends }
                var after = before
                let part = before.nextPart(BatchProgressTests.unlimited)
                sends += 1
                let outcome = after.apply(receiver(part), toFirst: part.events.count)
                let result = underway.answered(outcome, before: before, after: after)
                delivered += after.delivered - before.delivered
                rejected += BatchProgressTests.numbers(result.rejected.map(\.line))
                settled += result.settled.map(\.id.rawValue)
                if let batch = result.released.flatMap({ handedOut[$0] }) { store.insert(batch, at: 0) }
                if result.outcome == .held { return sends }
            }
            Issue.record("it goes on for ever")
            return sends
        }

        private mutating func takeNew() -> BatchProgress? {
            guard let batch = store.first else {
                _ = underway.hasNoOther()
                return nil
            }
            store.removeFirst()
            handedOut[batch.id] = batch
            return underway.begin(batch)
        }
    }

    static func refusing(_ bad: Set<Int>) -> Answer {
        { batch in bad.isDisjoint(with: BatchProgressTests.numbers(batch.events)) ? .all(.accepted) : refusal }
    }

    @Test("a bad event that is all of its batch is rejected when the next batch is accepted")
    func badEventAll() {
        var bench = Bench([1, 3])
        _ = bench.drive(Self.refusing([0]))
        #expect(bench.delivered == 3)
        #expect(bench.rejected == [0])
        #expect(bench.settled.sorted() == [0, 1])
        #expect(bench.underway.isEmpty)
    }

    @Test("alone in the store it waits")
    func aloneStoreWaits() {
        var bench = Bench([1])
        #expect(bench.drive(Self.refusing([0])) == 1)
        #expect(bench.rejected.isEmpty)
        #expect(!bench.underway.isEmpty)
        bench.store = Bench([1, 1]).store.suffix(1)
        _ = bench.drive(Self.refusing([0]))
        #expect(bench.rejected == [0])
        #expect(bench.underway.isEmpty)
    }

    @Test("a receiver that refuses all gets few probes and empties nothing, and all arrives when it takes again")
    func receiverRefusesAll() {
        var bench = Bench([50, 50, 50])
        #expect(bench.drive { _ in Self.refusal } <= 30)
        for _ in 0..<10 { #expect(bench.drive { _ in Self.refusal } <= 120) }
        #expect(bench.rejected.isEmpty && bench.delivered == 0)
        _ = bench.drive { _ in .all(.accepted) }
        #expect(bench.rejected.isEmpty)
        #expect(bench.delivered == 150)
        #expect(bench.underway.isEmpty)
    }

    @Test("any number of bad events in front hides no good one for ever", arguments: [1, 2, 7, 8, 9, 20, 60])
    func anyNumberBad(
        count: Int
    ) {
        var bench = Bench([50, 50, 50])
        let bad = Set(0..<count)
        for _ in 0..<12 where bench.delivered < 150 - count { _ = bench.drive(Self.refusing(bad)) }
        _ = bench.drive(Self.refusing(bad))
        #expect(bench.delivered == 150 - count)
        // The rest of the bad ones wait for later events to be accepted.
        for number in UInt64(3)..<12 {
            bench.store.append(Batch(id: Batch.ID(rawValue: number), events: [BatchProgressTests.line(200)]))
            _ = bench.drive(Self.refusing(bad))
        }
        #expect(Set(bench.rejected) == bad)
        #expect(bench.underway.isEmpty)
    }

    @Test("every second event is bad")
    func everySecondEvent() {
        var bench = Bench([1, 1, 1, 1, 1, 1, 4, 4])
        let bad: Set<Int> = [0, 2, 4, 6, 8, 10, 12]
        for _ in 0..<6 { _ = bench.drive(Self.refusing(bad)) }
        #expect(bench.delivered == 7)
        #expect(Set(bench.rejected) == bad)
    }
}
