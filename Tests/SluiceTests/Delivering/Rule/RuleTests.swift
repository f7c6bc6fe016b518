import SluiceEvents
import Testing

@testable import SluiceDelivery

/// Single rows of the rule's table.
@Suite struct RuleTests {
    /// A rule with batches of events that it has taken, a time, and random bits that stay the same.
    struct Bench {
        var rule: DeliveryRule
        var now = Duration.zero
        var bits: UInt64 = .max
        /// Lets events that are set aside go first.
        static let turn: UInt64 = .max / 3
        var store: [[String]]
        private var taken: [[String]] = []

        init(_ store: [[String]], capacity: Int = .max, inFlight: Int = 1) {
            self.store = store
            rule = DeliveryRule(DeliveryPolicy(maximumBatchesInFlight: inFlight), capacity: capacity)
        }

        /// The events of the next part, or nil if nothing can be sent now.
        mutating func next() -> Part? {
            while true {
                let count = store.reduce(0) { $0 + $1.count }
                switch rule.offer(takeable: count, at: now, random: { [bits] in bits }) {
                case .send(let part): return part
                case .take:
                    let lines = store[0].map { EventLine(bytes: Array($0.utf8)[...], priority: .normal) }
                    taken.append(store.removeFirst())
                    rule.took(
                        Batch(id: UInt64(taken.count), events: lines), size: BatchSize(events: 500, bytes: 262_144))
                case .wait: return nil
                }
            }
        }

        /// Sends the next part, and applies the answer.
        ///
        /// - Returns: its events; empty if nothing could be sent.
        @discardableResult
        mutating func send(_ verdicts: Verdicts) -> [String] {
            guard let part = next() else { return [] }
            apply(verdicts, to: part)
            return Self.names(part)
        }

        static func names(_ part: Part) -> [String] {
            part.batch.events.map { String(decoding: $0.bytes, as: UTF8.self) }
        }

        @discardableResult
        mutating func apply(_ verdicts: Verdicts, to part: Part) -> [DeliveryRule.Rejected] {
            let actions = rule.apply(
                Answer(verdicts, count: part.places.count), to: part, at: now, random: { [bits] in bits })
            rule.settled(part, actions)
            return actions.flatMap { action -> [DeliveryRule.Rejected] in
                if case .reject(let letters, _) = action { letters } else { [] }
            }
        }

        /// The pause, in seconds, rounded to hundredths.
        var pause: Double {
            let seconds = rule.pauseEnd(at: now).map { ($0 - now) / .seconds(1) } ?? 0
            return (seconds * 100).rounded() / 100
        }
    }

    static let accepted = RuleWorld.verdicts(200)

    @Test("One or two failures in a row blame their events, and a longer row does not", arguments: [1, 2, 3])
    func shortRows(failures: Int) {
        var bench = Bench([["a", "b", "c", "d"], ["e"], ["f"], ["g"], ["h"], ["i"]])
        for _ in 0..<failures {
            bench.send(RuleWorld.verdicts(500))
            bench.now += .seconds(10)
        }
        bench.send(Self.accepted)
        #expect(bench.rule.setAside == [4, 5, 0][failures - 1])
    }

    @Test("After a failure, one event of the next batch follows immediately, and after the second a pause")
    func probes() {
        var bench = Bench([["a", "b"], ["c", "d"], ["e"]])
        #expect(bench.send(RuleWorld.verdicts(403)) == ["a", "b"])
        #expect(bench.pause == 0)
        #expect(bench.send(RuleWorld.verdicts(403)) == ["d"])
        #expect(bench.pause == 1)
        #expect(bench.next() == nil && bench.rule.row.count == 2)
        bench.now += .seconds(2)
        bench.send(Self.accepted)
        #expect(bench.rule.row.count == 0 && bench.pause == 0 && !bench.rule.isInDoubt)
    }

    @Test("Each batch is asked once before any is asked twice", arguments: [Bench.turn, .max / 2, .max])
    func batchesAreAskedOnce(bits: UInt64) {
        var bench = Bench([["a", "A"], ["b", "B"], ["c", "C"], ["d", "D"], ["e", "E"]])
        bench.bits = bits
        var asked: [String] = []
        for _ in 0..<40 where asked.count < 5 {
            let part = bench.send(RuleWorld.verdicts(403))
            if part.count == 1 { asked.append(part[0].lowercased()) }
            bench.now += .seconds(3_600)
        }
        #expect(asked.sorted() == ["a", "b", "c", "d", "e"], "\(asked)")
    }

    @Test(
        "Pauses grow by 30 %, longer for refusals than for other failures",
        arguments: [(403, 4_800.0, 0.5), (302, 4_800, 0.5), (503, 300, 0.1), (429, 300, 0.1), (0, 300, 0.1)])
    func pauses(status: Int, longest: Double, least: Double) {
        for bits in [0, UInt64.max] {
            var bench = Bench([["a", "A"], ["b"], ["c"]])
            bench.bits = bits
            bench.send(RuleWorld.verdicts(status))
            var expected = 1.0
            for _ in 0..<40 {
                bench.now += .seconds(5_000)
                bench.send(RuleWorld.verdicts(status))
                let pause = min(expected, longest) * (bits == 0 ? least : 1)
                #expect(abs(bench.pause - pause) < 0.01 * pause + 0.01, "\(bench.pause) instead of \(pause)")
                expected *= 1.3
            }
        }
    }

    @Test("In a search, a pause begins at a tenth of its length, and grows half as fast")
    func pausesOfSearch() {
        var bench = Bench((0..<20).map { ["\($0)"] })
        bench.send(Self.accepted)
        bench.send(RuleWorld.verdicts(503))
        bench.send(Self.accepted)
        #expect(bench.rule.blame.isSearching)
        bench.bits = .max
        bench.send(RuleWorld.verdicts(503))
        var expected = 0.094
        for _ in 0..<10 {
            bench.now += .seconds(10)
            bench.send(RuleWorld.verdicts(503))
            #expect(abs(bench.pause - expected) < 0.01 * expected + 0.01, "\(bench.pause) instead of \(expected)")
            expected *= 1.3.squareRoot()
        }
    }

    @Test("One refusal after an outage pauses no longer than the outage did, and ten acceptances forget a long outage")
    func refusalAfterOutage() {
        var bench = Bench((0..<40).map { ["\($0)"] })
        for _ in 0..<500 {
            bench.send(RuleWorld.verdicts(503))
            bench.now += .seconds(300)
        }
        bench.send(RuleWorld.verdicts(404))
        #expect(bench.pause == 300)
        for _ in 0..<10 {
            bench.now += .seconds(300)
            bench.send(Self.accepted)
        }
        bench.send(RuleWorld.verdicts(503))
        #expect(bench.pause == 0 && bench.rule.row.count == 1)
    }

    @Test("A flush ends the pause, and an acceptance takes back four steps of its growth")
    func exponents() {
        var bench = Bench([Array("abcdefghij").map(String.init), ["k", "l"], ["m", "n"], ["o", "p"]])
        for _ in 0..<9 {
            bench.now += .seconds(100)
            bench.send(RuleWorld.verdicts(503))
        }
        #expect(bench.pause == 6.27)
        bench.rule.endWaits()
        #expect(bench.pause == 0)
        bench.send(Self.accepted)
        // The receiver has just recovered.
        bench.send(RuleWorld.verdicts(503))
        #expect(bench.rule.row.count == 1 && bench.pause > 2.8 && bench.pause < 2.9)
    }

    @Test("Probes jump over batches, and the first one of an only batch is its newest event")
    func jumps() {
        var bench = Bench((0..<20).map { ["\($0)"] })
        var names: [String] = []
        for _ in 0..<5 {
            names += bench.send(RuleWorld.verdicts(503))
            bench.now += .seconds(100)
        }
        #expect((names.compactMap { Int($0) }.max() ?? 0) >= 6)
        bench = Bench([["a", "b", "c"]])
        bench.bits = .max / 10 * 3
        bench.send(RuleWorld.verdicts(503))
        #expect(bench.next().map(Bench.names) == ["c"])
    }

    @Test("A probe has at most twice as many events as were accepted")
    func probesGrow() {
        var bench = Bench([["a", "b", "c", "d"], ["e"], (0..<20).map { "\($0)" }])
        bench.send(Self.accepted)
        #expect(bench.send(RuleWorld.verdicts(503)) == ["e"])
        #expect(bench.next()?.places.count == 8)
    }

    @Test("A network that comes and goes ends few pauses until an acceptance")
    func networks() {
        var bench = Bench([["a"], ["b"], ["c"]])
        for _ in 0..<2 {
            for number in 0..<6 {
                bench.send(RuleWorld.verdicts(503))
                bench.rule.endWaits(byNetwork: true)
                #expect((bench.pause == 0) == (number < 3), "\(number)")
            }
            bench.now += .seconds(1_000)
            bench.send(Self.accepted)
            bench.store.append(["d"])
            bench.now += .seconds(1_000)
        }
    }

    @Test("A time that the receiver names is kept, with a pause on top and an hour at most")
    func retryAfter() {
        for (after, kept) in [(Duration.seconds(60), 60.0), (.seconds(Int64.max), 3_600)] {
            var bench = Bench([["a"], ["b"]])
            bench.send(RuleWorld.verdicts(503, after: after))
            #expect(bench.pause == kept + 1)
            bench.rule.endWaits()
            #expect(bench.pause == kept + 1 && bench.next() == nil)
            bench.now += .seconds(kept + 1)
            #expect(bench.next() != nil)
        }
    }

    @Test(
        "A time in the past for an event is no time: it has pauses, which grow",
        arguments: [Duration.milliseconds(-1), .seconds(-301), .seconds(-86_400), .seconds(Int64.min)], [0, 1, 40])
    func timesInThePast(after: Duration, others: Int) {
        var bench = Bench([["bad"] + (0..<others).map { "good \($0)" }])
        let late = Verdict.retry(after: after)
        bench.send(.each([late] + (0..<others).map { _ in .accepted }))
        var times = [bench.now]
        for _ in 0..<8 {
            while bench.next() == nil { bench.now += .milliseconds(100) }
            times.append(bench.now)
            bench.rule.settled(Part(bench.rule.open[0], [0]))
            #expect(bench.send(.each([late])) == ["bad"])
        }
        let waits = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(waits.allSatisfy { $0 > .milliseconds(900) } && (waits.last ?? .zero) > .seconds(4), "\(waits)")
    }

    @Test(
        "An event that fails after six acceptances, in the end twice, is a dead letter, except for a passing failure",
        arguments: [
            (403, nil, 8), (500, nil, 8), (503, 1, 0), (403, 1, 0), (408, nil, 0), (429, nil, 0), (0, nil, 0),
        ])
    func guilt(status: Int, after: Int?, attempts: Int) {
        var bench = Bench([["bad"]] + (0..<40).map { ["good \($0)"] })
        var (failures, letters) = (0, [DeliveryRule.Rejected]())
        for _ in 0..<99 where letters.isEmpty {
            bench.now += .seconds(10_000)
            // In turn, the bad event and a good one directly after an acceptance.
            bench.bits = bench.store.count % 4 < 2 ? Bench.turn : .max
            guard let part = bench.next() else { break }
            let isBad = Bench.names(part) == ["bad"]
            failures += isBad ? 1 : 0
            letters += bench.apply(
                isBad ? RuleWorld.verdicts(status, after: after.map { .seconds($0) }) : Self.accepted, to: part)
        }
        #expect(letters.map(\.failure.status) == (attempts > 0 ? [status] : []))
        #expect(attempts == 0 || failures == attempts, "\(failures)")
        #expect(letters.allSatisfy { $0.failure.reason == "the receiver accepts others: HTTP \(status)" })
    }

    @Test("Batches that are accepted take no room", arguments: [429, 0])
    func acceptedBatches(status: Int) {
        let arrivals = [(time: Duration.zero, count: 1)] + (1...200).map { (.seconds(60 * $0), 100) }
        let world = RuleWorld(0, bad: [0], status, seed: 0, arrivals: arrivals)
        world.bytes = { _ in 1_500 }
        world.capacity = 1_000_000
        world.run(until: .seconds(86_400))
        #expect(world.fault == nil && world.missing == 0 && world.deadLetters.isEmpty)
        #expect(world.requests > 250, "\(world.requests)")
    }

    @Test(
        "In a crowded store, half of the turns of blamed events are the most blamed one's, after its own wait",
        arguments: [(0, 8, 1 << 20), (10_000, 8, 1 << 20), (10_000, 3, 1 << 20), (10_000, 8, 1)])
    func turnsOfMostBlamed(wait: Int, share: UInt64, size: Int) {
        let large = String(repeating: "a", count: size)
        var bench = Bench([["0"], [large], ["1"], ["2"], ["b", "c", "d", "e"], ["3"], ["4"]])
        bench.send(Self.accepted)
        for _ in 0..<2 {
            #expect(bench.send(RuleWorld.verdicts(500)) == [large])
            bench.send(Self.accepted)
            (bench.now, bench.bits) = (bench.now + .seconds(10_000), Bench.turn)
        }
        bench.bits = .max
        #expect(bench.send(RuleWorld.verdicts(500)) == ["b", "c", "d", "e"])
        bench.send(Self.accepted)
        let isMost = share == 8 && size > 1
        bench.bits = isMost ? .max / share : .max
        #expect(bench.send(isMost ? RuleWorld.verdicts(500) : Self.accepted) == [isMost ? large : "4"])
        if isMost { bench.send(Self.accepted) }
        (bench.now, bench.bits) = (bench.now + .seconds(wait), .max / share)
        #expect(bench.send(Self.accepted) == (isMost && wait > 0 ? [large] : ["b", "c"]))
    }

    @Test(
        "After a wait, an event with two failures of its own often goes before others, and its failure counts for no pause",
        arguments: [(1, UInt64.max / 4), (2, UInt64.max / 4), (2, Bench.turn)])
    func controlOfBlamed(failures: Int, bits: UInt64) {
        var bench = Bench([["0"], ["1"], ["odd"], ["2"], ["3"]])
        // A failure by chance: the receiver isn't well, so events that fail again would pause the route.
        for status in [500, 200, 200] {
            bench.send(RuleWorld.verdicts(status))
            bench.now += .seconds(10)
            bench.bits = bench.rule.blame.isSearching ? Bench.turn : .max
        }
        for _ in 0..<failures {
            #expect(bench.send(RuleWorld.verdicts(500)) == ["odd"])
            bench.send(Self.accepted)
            (bench.now, bench.bits) = (bench.now + .seconds(10), Bench.turn)
        }
        bench.store = []
        #expect(bench.send(RuleWorld.verdicts(500)) == ["odd"] && bench.next() == nil)
        (bench.store, bench.bits) = ([["new"]], bits)
        let isControl = failures == 2 && bits < Bench.turn
        if isControl { #expect(bench.send(RuleWorld.verdicts(500)) == ["odd"] && bench.pause == 0) }
        #expect(bench.rule.row.count == 1)
        bench.bits = Bench.turn
        #expect(bench.send(RuleWorld.verdicts(500)) == ["new"] && bench.pause > 0 && bench.next() == nil)
        (bench.now, bench.bits, bench.store) = (bench.now + .seconds(10_000), bits, [["last"]])
        if isControl { #expect(bench.send(RuleWorld.verdicts(500)) == ["odd"] && bench.pause == 0) }
        #expect(bench.rule.row.count == 2)
    }

    @Test("The failure of a blamed event that goes alone after a quiet time is the first of a row")
    func firstAfterQuiet() {
        var bench = Bench([["0"], ["a"], ["1"], ["2"]])
        bench.send(Self.accepted)
        for _ in 0..<2 {
            #expect(bench.send(RuleWorld.verdicts(500)) == ["a"])
            bench.send(Self.accepted)
            (bench.now, bench.bits) = (bench.now + (bench.store.isEmpty ? .zero : .seconds(10_000)), Bench.turn)
        }
        #expect(bench.next() == nil)
        bench.now += .seconds(10_000)
        #expect(bench.send(RuleWorld.verdicts(500)) == ["a"] && bench.rule.row.count == 1)
    }
}
