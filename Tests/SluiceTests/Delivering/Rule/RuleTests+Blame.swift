import SluiceEvents
import Testing

@testable import SluiceDelivery

/// Whom the rule blames, and what becomes of them.
extension RuleTests {
    @Test("A long row of failures blames no event")
    func outage() {
        var bench = Bench((0..<30).map { ["\($0)", "\($0) b"] })
        for _ in 0..<16 {
            bench.send(RuleWorld.verdicts(500))
            bench.now += .seconds(1_000)
        }
        bench.send(Self.accepted)
        #expect(bench.rule.setAside == 0 && !bench.rule.blame.isSearching)
        #expect(bench.send(Self.accepted) == ["0", "0 b"])
    }

    @Test("An event that waited alone through an outage is sent directly after it")
    func aloneInOutage() {
        var bench = Bench([["old"]])
        for _ in 0..<20 {
            #expect(bench.send(RuleWorld.verdicts(503)) == ["old"])
            bench.now += .seconds(10_000)
        }
        bench.store.append(["new"])
        #expect(bench.send(Self.accepted) == ["new"])
        #expect(bench.send(Self.accepted) == ["old"])
    }

    @Test("One failure between acceptances sets its events aside, and half of the blame goes together between others")
    func turns() {
        var bench = Bench([["a", "b", "c", "d"]] + (0..<9).map { ["\($0)"] })
        bench.send(RuleWorld.verdicts(500))
        bench.send(Self.accepted)
        #expect(bench.rule.setAside == 4 && bench.rule.blame.isSearching)
        var parts: [[String]] = []
        while bench.rule.setAside > 0 {
            bench.bits = parts.count % 2 == 0 ? Bench.turn : .max
            parts.append(bench.send(Self.accepted))
        }
        #expect(parts == [["a", "b"], ["1"], ["c"], ["2"], ["d"]])
    }

    @Test("A flush ends an event's own long wait, but not the short time that the receiver named for it")
    func namedTimeOfEvent() {
        var bench = Bench([["0"], ["a"]] + (1..<20).map { ["\($0)"] })
        bench.send(Self.accepted)
        for _ in 0..<3 {
            bench.bits = Bench.turn
            #expect(bench.send(RuleWorld.verdicts(429, after: .seconds(0.2))) == ["a"])
            bench.bits = .max
            bench.send(Self.accepted)
            bench.now += .seconds(5)
            bench.send(Self.accepted)
        }
        bench.bits = Bench.turn
        #expect(bench.send(RuleWorld.verdicts(429, after: .seconds(0.2))) == ["a"])
        bench.send(Self.accepted)
        bench.rule.endWaits()
        #expect(bench.send(Self.accepted) != ["a"])
        bench.now += .seconds(1.3)
        #expect(bench.send(Self.accepted) == ["a"])
    }

    @Test(
        "A time beside accepted events is for the others of the answer", arguments: [1, 2, 5],
        [Verdict.hold(reason: "no", after: .seconds(600)), .retry(after: .seconds(600))])
    func timeBesideAccepted(count: Int, late: Verdict) {
        let others = (1...count).map { "late \($0)" }
        var bench = Bench([["a"] + others, ["b"], ["c"]])
        bench.send(.each([.accepted] + others.map { _ in late }, status: 403))
        #expect(bench.pause == 0 && bench.rule.setAside == count)
        #expect(bench.send(Self.accepted) == ["b"] && bench.send(Self.accepted) == ["c"])
        bench.rule.endWaits()
        #expect(bench.next() == nil)
        bench.now += .seconds(602)
        for _ in 0..<count where bench.rule.waiting > 0 {
            #expect(others.contains(bench.send(Self.accepted).first ?? ""))
        }
    }

    @Test("An event that fails directly after each acceptance is sent once more at once, to a balancer's other server")
    func sameSituation() {
        for isBroken in [true, false] {
            var bench = Bench((0..<3).map { ["\($0)"] } + [["odd"]] + (4..<60).map { ["\($0)"] })
            bench.bits = .max
            for _ in 0..<3 { bench.send(Self.accepted) }
            bench.bits = Bench.turn
            for _ in 0..<4 {
                #expect(bench.send(RuleWorld.verdicts(500)) == ["odd"])
                bench.send(Self.accepted)
                bench.now += .seconds(10)
            }
            #expect(bench.send(RuleWorld.verdicts(500)) == ["odd"])
            // Of two servers, the broken one has had each second request. Or the event is bad.
            #expect(bench.send(isBroken ? Self.accepted : RuleWorld.verdicts(500)) == ["odd"])
            if isBroken {
                #expect(bench.rule.setAside == 0)
            } else {
                bench.now += .seconds(10)
                bench.send(Self.accepted)
                #expect(bench.rule.blame.of(bench.rule.blame[EventKey(batch: 4, place: 0)]) == 5)
            }
        }
    }

    @Test("Beside a failing event that has failed before, one new event's failure delays no other, and two do")
    func pauseOfSetAside() {
        var bench = Bench((0..<30).map { ["\($0)"] } + [["bad"], ["a"], ["b"], ["c"]])
        bench.bits = .max
        for _ in 0..<30 { bench.send(Self.accepted) }
        #expect(bench.send(RuleWorld.verdicts(403)) == ["bad"])
        bench.store = [["a"]]
        #expect(bench.send(Self.accepted) == ["a"])
        bench.store = []
        bench.now += .seconds(5_000)
        #expect(bench.send(RuleWorld.verdicts(403)) == ["bad"])
        for _ in 0..<20 {
            bench.now += .seconds(5_000)
            #expect(bench.send(RuleWorld.verdicts(403)) == ["bad"])
            #expect(bench.pause == 0 && bench.next() == nil)
        }
        bench.store = [["new"], ["newer"], ["last"]]
        var sent = bench.send(RuleWorld.verdicts(403))
        #expect(bench.pause == 0)
        sent += bench.send(RuleWorld.verdicts(403))
        #expect(bench.pause > 30)
        bench.now += .seconds(5_000)
        sent += bench.send(Self.accepted)
        #expect(sent.sorted() == ["last", "new", "newer"] && bench.pause == 0)
    }

    @Test(
        "A part that is too large halves the next ones, unless some of its events are blamed", arguments: [false, true])
    func sizeOfBlamedPart(isBlamed: Bool) {
        var sizes = BatchSizes(.standard, maximum: .unlimited)
        var (tooLarge, accepted) = (Answer(), Answer())
        tooLarge.failure = Answer.Failure(kind: .refused, reason: "", isTooLarge: true)
        accepted.accepted = [0]
        sizes.record(tooLarge, events: 100, isBlamed: isBlamed)
        sizes.record(accepted, events: 1)
        #expect(sizes.part(of: BatchSize(events: 100, bytes: .max)).events == (isBlamed ? 100 : 50))
    }

    @Test("An event that is erased blames none of its neighbours any more")
    func erasedEventBlamesNone() {
        var bench = Bench([["0"], ["a", "b"], ["1"], ["2"]])
        for isAccepted in [true, false, true] { bench.send(isAccepted ? Self.accepted : RuleWorld.verdicts(403)) }
        #expect(bench.rule.setAside == 2)
        let isEmpty = bench.rule.erase([0], of: 2)
        #expect(!isEmpty)
        #expect(bench.rule.setAside == 0 && bench.send(Self.accepted) == ["b"])
    }

    @Test("The steps of a policy are those of a search, too, and an outage in a search pauses as long as any other")
    func pausesWithoutSearch() {
        var policy = DeliveryPolicy.standard
        policy.backOffSteps = [.seconds(5) ... .seconds(5), .seconds(60) ... .seconds(60)]
        for policy in [policy, .standard] {
            var bench = Bench((0..<40).map { ["\($0)"] })
            bench.rule = DeliveryRule(policy)
            for isAccepted in [true, false, true] { bench.send(isAccepted ? Self.accepted : RuleWorld.verdicts(503)) }
            #expect(bench.rule.blame.isSearching)
            for row in 1...14 {
                bench.now += .seconds(100)
                bench.send(RuleWorld.verdicts(503))
                if !policy.backOffSteps.isEmpty, row > 1 { #expect(bench.pause == (row == 2 ? 5 : 60)) }
                if policy.backOffSteps.isEmpty, row == 11 { #expect(bench.pause < 0.5) }
                if policy.backOffSteps.isEmpty, row == 12 { #expect(bench.pause > 3) }
            }
        }
    }

    @Test("The more failures were chance, the less a failure counts, and the more events go together")
    func weights() {
        var bench = Bench((0..<40).map { ["\($0)"] } + [["a", "b", "c", "d"]] + (50..<60).map { ["\($0)"] })
        // Every event fails once.
        var failed: Set<String> = []
        var parts: [[String]] = []
        while let part = bench.next() {
            bench.bits = parts.count % 4 < 2 ? Bench.turn : .max
            parts.append(Bench.names(part))
            let mustFail = bench.rule.row.count == 0 && failed.isDisjoint(with: parts[parts.count - 1])
            if mustFail { failed.formUnion(parts[parts.count - 1]) }
            bench.apply(mustFail ? RuleWorld.verdicts(500) : Self.accepted, to: part)
            bench.now += .seconds(10)
        }
        #expect(bench.rule.waiting == 0 && parts.count { $0 == ["a", "b", "c", "d"] } == 2)
    }

    @Test("An event that the receiver names explains the failures it was in")
    func explained() {
        var bench = Bench([["bad", "a", "b", "c"], ["d"], ["e"], ["f"]])
        bench.send(RuleWorld.verdicts(400))
        bench.send(Self.accepted)
        #expect(bench.rule.setAside == 4)
        while let part = bench.next() {
            let names = Bench.names(part)
            guard names == ["bad", "a"] else {
                bench.apply(Self.accepted, to: part)
                continue
            }
            #expect(bench.apply(.each([.rejected(reason: "no"), .accepted]), to: part).count == 1)
            break
        }
        #expect(bench.rule.setAside == 0 && !bench.rule.blame.isSearching && bench.rule.resolved == 2)
    }

    @Test(
        "An event that never gets an answer becomes a dead letter only if many such events take the store's room",
        // Five of the large ones have room.
        arguments: [(1_000, Int.max, 0...0), (200_000, .max, 44...50), (1_000, 200_000, 44...50)])
    func noRoom(size: Int, capacity: Int, found: ClosedRange<Int>) {
        let arrivals = (1...200).map { (time: Duration.seconds(60 * $0), count: 1) }
        let world = RuleWorld(100, bad: stride(from: 0, to: 100, by: 2), 0, seed: 0, arrivals: arrivals)
        world.bytes = { _ in size }
        world.capacity = capacity
        world.run(until: .seconds(86_400))
        #expect(world.fault == nil && world.missing == 0 && world.goodDead == 0)
        #expect(found.contains(world.found), "\(world.found)")
    }

    @Test("A dead letter has the last failure that counts, and failures of one event are counted to a limit")
    func countedFailures() {
        var blame = Blame()
        let key = EventKey(batch: 1, place: 0)
        for _ in 0..<60 { blame.countAcceptance() }
        for number in 0..<300 {
            let failure = Answer.Failure(kind: number < 5 ? .broken : .passing, reason: "\(number)")
            blame.add([key], failure, hasWitnesses: true)
        }
        blame.weigh()
        #expect(blame.guilt(of: key, isCrowded: false)?.reason == "4")
        #expect(blame.guilt(of: key, isCrowded: true)?.reason == "255")
        #expect(blame.of(blame[key]) == 256)
    }

    @Test(
        "A bad event is found after an outage, while some others arrive",
        arguments: [(503, 400, 2.0, 4.0), (0, 500, 5, 60), (403, 422, 15, 30)])
    func badAfterOutage(outage: Int, bad: Int, gap: Double, end: Double) {
        for seed in 0..<10 {
            let others = (0..<100).map { (time: Duration.seconds(end + gap * Double($0)), count: 1) }
            let world = RuleWorld(1, bad: [1], bad, seed: seed, arrivals: [(.seconds(2), 1)] + others)
            world.receiver = { world, _ in .status(world.now < .seconds(end) ? outage : 200) }
            world.run(until: .seconds(end + gap * 100))
            #expect(world.fault == nil && world.missing == 0 && world.found == 1, "\(seed)")
        }
    }

    @Test("A search opens at most 8 MiB, and half of the store", arguments: [(Int.max, 8 << 20), (2 << 20, 1 << 20)])
    func searchIsBounded(capacity: Int, most: Int) {
        let world = RuleWorld(20_000, bad: 0..<20_000, 403, seed: 0)
        world.bytes = { _ in 1_000 }
        world.capacity = capacity
        world.run(until: .seconds(3_600))
        #expect(world.fault == nil)
        #expect((most..<most + 262_144).contains(world.openBytes), "\(world.openBytes)")
    }

    /// How often a bad event is sent until it is a dead letter, after failures of others that have the same end.
    private func attempts(afterFailures count: Int, _ end: (inout Bench) -> Void = { _ in }) -> Int {
        var bench = Bench((0..<30).map { ["other\($0)"] } + [["bad"]] + (0..<200).map { ["a\($0)"] })
        bench.bits = Bench.turn
        for _ in 0..<count {
            bench.send(RuleWorld.verdicts(403))
            end(&bench)
            bench.now += .seconds(10_000)
            bench.send(Self.accepted)
        }
        var attempts = 0
        while let part = bench.next() {
            let isBad = Bench.names(part) == ["bad"]
            attempts += isBad ? 1 : 0
            if !bench.apply(isBad ? RuleWorld.verdicts(403) : Self.accepted, to: part).isEmpty { break }
            bench.now += .seconds(10_000)
        }
        return attempts
    }

    @Test("A failure was chance if its events are accepted, not if the host deletes them")
    func deletedEventsAreNoChance() {
        let erased = attempts(afterFailures: 10) { bench in
            for batch in bench.rule.open { _ = bench.rule.erase(batch.rest, of: batch.id) }
        }
        let accepted = attempts(afterFailures: 10)
        #expect(erased == attempts(afterFailures: 0) && erased < accepted, "\(erased) \(accepted)")
    }

    @Test("A store that can't return a batch doesn't block the events that are open")
    func storeFails() {
        var bench = Bench([["a", "b"], ["c"]])
        bench.send(RuleWorld.verdicts(503))
        bench.rule.storeFailed(at: bench.now) { 0 }
        bench.now += .seconds(10)
        #expect(bench.next().map { Bench.names($0).contains("c") } == false)
    }

    @Test(
        "A part that is too large for the transport costs no pause, and an event that is too large is a dead letter",
        arguments: [false, true])
    func oversized(isList: Bool) {
        func tooLarge(_ count: Int) -> Verdicts {
            isList ? .each(Array(repeating: .tooLarge(), count: count)) : .all(.tooLarge())
        }
        var bench = Bench([["a", "b"], ["c"]])
        #expect(bench.send(tooLarge(2)) == ["a", "b"])
        #expect(bench.rule.row.count == 0 && bench.pause == 0)
        bench = Bench([["a"], ["b"]])
        guard let part = bench.next() else { return #expect(Bool(false)) }
        #expect(bench.apply(tooLarge(1), to: part).count == 1 && bench.rule.waiting == 0)
    }

    @Test(
        "A retry of an event that is named is a failure of the moment, unless its own status says otherwise",
        arguments: [(nil, 200), (nil, 429), (nil, 503), (429, 200), (429, 500), (500, 200), (503, 429)])
    func moments(own: Int?, status: Int) {
        var verdict = Verdict.retry()
        verdict.status = own
        func isPassing(_ verdicts: Verdicts) -> Bool { Answer(verdicts, count: 2).failure?.kind == .passing }
        #expect(isPassing(.each([verdict, verdict], status: status)) == [nil, 429].contains(own))
        #expect(isPassing(.all(verdict, status: status)) == ((own ?? status) == 429))
    }
}
