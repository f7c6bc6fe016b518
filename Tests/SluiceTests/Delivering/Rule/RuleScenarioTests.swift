import SluiceTesting
import TestSupport
import Testing

@testable import SluiceDelivery

/// The table of delivery.md: receivers, bad events and processes with the default policy, in virtual time and 0.02 s a
/// request. Seeds count from 0.
@Suite struct RuleScenarioTests {
    /// What must hold for every seed, or for the median.
    struct Limits {
        var first = 1e9, last = 1e9
        var requests = Int.max, median = Int.max
        var found: ClosedRange<Int> = 0...Int.max
        var outOfOrder = Int.max
        var missing = 0, dead = 0
    }

    struct Scenario: Sendable, CustomTestStringConvertible {
        let name: String
        var seeds = (full: 20, few: 1)
        let limits: Limits
        let make: @Sendable (Int) -> RuleWorld

        init(
            _ name: String, _ limits: Limits, seeds: (full: Int, few: Int) = (20, 1),
            _ make: @escaping @Sendable (Int) -> RuleWorld
        ) {
            (self.name, self.limits, self.seeds, self.make) = (name, limits, seeds, make)
        }

        var testDescription: String { name }

        var count: Int { Trials.count(full: seeds.full, few: seeds.few) }

        func check() {
            let worlds = (0..<count).map(make)
            for (seed, world) in worlds.enumerated() {
                let facts =
                    "\(name), seed \(seed): first \(world.firstGood), last \(world.lastGood), "
                    + "\(world.requests) requests, \(world.missing) missing, \(world.found) found, "
                    + "\(world.outOfOrder) out of order"
                #expect(world.fault == nil, "\(facts)")
                #expect(world.goodDead <= limits.dead, "\(facts), \(world.goodDead) good dead letters")
                #expect(world.missing <= limits.missing, "\(facts)")
                #expect(
                    world.firstGood <= .seconds(limits.first) && world.lastGood <= .seconds(limits.last), "\(facts)")
                #expect(world.requestsUntilLast <= limits.requests, "\(facts)")
                #expect(limits.found.contains(world.found), "\(facts)")
                if limits.outOfOrder < .max { #expect(world.outOfOrder <= limits.outOfOrder, "\(facts)") }
            }
            let median = Self.median(worlds.map(\.requestsUntilLast))
            #expect(median <= limits.median, "\(name): \(median) requests")
            Trials.report(
                "| \(name) | \(Self.text(worlds.map { $0.firstGood / .seconds(1) })) | "
                    + "\(Self.text(worlds.map { $0.lastGood / .seconds(1) })) | "
                    + "\(Self.text(worlds.map { Double($0.requestsUntilLast) })) | "
                    + "\(Self.text(worlds.map { Double($0.requests) })) | "
                    + "\(Self.text(worlds.map { Double($0.found) })) | "
                    + "\(worlds.reduce(0) { $0 + $1.missing }) | \(worlds.reduce(0) { $0 + $1.goodDead }) | "
                    + "\(Self.text(worlds.map { Double($0.outOfOrder) })) |")
        }

        static func median<Value: Comparable>(_ values: [Value]) -> Value { values.sorted()[values.count / 2] }

        private static func text(_ values: [Double]) -> String {
            let (median, most) = (median(values), values.max() ?? 0)
            func text(_ value: Double) -> String {
                value >= 1e9 ? "never" : value >= 10 ? "\(Int(value.rounded()))" : "\((value * 10).rounded() / 10)"
            }
            return median == most ? text(median) : "\(text(median)) / \(text(most))"
        }
    }

    /// The scenarios that run in this run.
    static func run(_ scenarios: [Scenario]) -> [Scenario] {
        scenarios.filter { scenario in
            scenario.count > 0 && Trials.scenarios.map { scenario.name.contains($0) } ?? true
        }
    }

    static let statuses = [302, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503, 0]
    static let classes = [403, 400, 500, 429, 0]
    static let day = Duration.seconds(86_400)

    /// One process, which ends when all good events have arrived, or at `end`.
    static func world(
        _ count: Int, _ seed: Int, bad: [Int] = [], _ status: Int = 500, batch: Int? = nil,
        arrivals: [(time: Duration, count: Int)] = [], until end: Duration = day, flushEvery: Duration? = nil,
        inFlight: Int = 1, receiver: @escaping RuleWorld.Receiver = { _, _ in .status(200) },
        isDone: @escaping (RuleWorld) -> Bool = { $0.missing == 0 }, host: @escaping (RuleWorld) -> Void = { _ in }
    ) -> RuleWorld {
        let world = RuleWorld(count, bad: bad, status, seed: seed, arrivals: arrivals)
        if let batch { world.policy.batch = BatchSize(events: batch, bytes: 262_144) }
        if inFlight > 1 {
            world.latency = { [unowned world] in .seconds(Double.random(in: 0.02...0.2, using: &world.random)) }
        }
        (world.receiver, world.host) = (receiver, host)
        world.run(until: end, flushEvery: flushEvery, inFlight: inFlight, isDone: isDone)
        return world
    }

    static func every(_ seconds: Double, _ count: Int, from begin: Double = 0, times: Int) -> [(Duration, Int)] {
        (0..<times).map { (.seconds(begin + Double($0) * seconds), count) }
    }

    static func outage(_ begin: Double, _ end: Double, _ status: Int) -> RuleWorld.Receiver {
        { world, _ in .status(world.now >= .seconds(begin) && world.now < .seconds(end) ? status : 200) }
    }

    static func shed(
        _ probability: Double, _ status: Int, first: Int = .max
    ) -> RuleWorld.Receiver {
        { world, _ in .status(world.requests < first && world.chance(of: probability) ? status : 200) }
    }

    // MARK: Bad events

    static let badEvents: [Scenario] = {
        var list: [Scenario] = []
        for status in statuses {
            list.append(
                Scenario(
                    "500 bad (\(status)) in front of 500",
                    Limits(first: 60, last: 600, requests: status == 413 ? 350 : 100)
                ) {
                    world(1_000, $0, bad: Array(0..<500), status)
                })
        }
        for status in classes {
            let seeds = (full: 20, few: [403, 0].contains(status) ? 1 : 0)
            for count in [1, 5, 25, 100] {
                let name = "\(count) bad (\(status)) in front of 500"
                list.append(
                    Scenario(name, Limits(first: 60, last: 600), seeds: seeds) {
                        world(500 + count, $0, bad: Array(0..<count), status)
                    })
            }
            for (place, batch) in [(0, 100), (250, 100), (499, 100), (0, 500), (250, 500), (499, 500)] {
                let name = "event \(place) of 500 bad (\(status)), batches of \(batch)"
                list.append(
                    Scenario(name, Limits(first: 10, last: 10, requests: 60), seeds: seeds) {
                        world(500, $0, bad: [place], status, batch: batch)
                    })
            }
            list.append(
                Scenario("100 bad (\(status)) spread in 500", Limits(first: 60, last: 600), seeds: (20, 0)) {
                    world(500, $0, bad: Array(Array(0..<500).shuffled(by: $0).prefix(100)), status)
                })
            list.append(
                Scenario("every third of 500 bad (\(status))", Limits(first: 60, last: 600), seeds: (10, 0)) {
                    world(500, $0, bad: Array(stride(from: 0, to: 500, by: 3)), status)
                })
            list.append(
                Scenario("every third of 150 bad (\(status))", Limits(first: 60, last: 600), seeds: seeds) {
                    world(150, $0, bad: Array(stride(from: 0, to: 150, by: 3)), status)
                })
            list.append(
                Scenario("three of four in 500 bad (\(status))", Limits(last: 45_000), seeds: (5, seeds.few)) {
                    world(500, $0, bad: (0..<500).filter { $0 % 4 != 1 }, status)
                })
            list.append(
                Scenario("last 100 of 500 bad (\(status))", Limits(first: 1, last: 10, requests: 10), seeds: seeds) {
                    world(500, $0, bad: Array(400..<500), status)
                })
        }
        return list
    }()

    @Test("Good events arrive within minutes, however many bad ones there are", arguments: run(badEvents))
    func badEventsDelay(_ scenario: Scenario) { scenario.check() }

    @Test(
        "Bad events that wait since yesterday delay no others", arguments: [403, 400, 500, 429, 0], [1, 20])
    func knownBadEvents(status: Int, good: Int) {
        // With the seeds 3 and 12, failures of up to eight known events stand between the first and the last one of a new event.
        for seed in Set(0..<Trials.count(full: 20, few: 4)).union([12]).sorted() {
            let days = 0..<10
            let world = RuleWorld(
                0, bad: days.map { $0 * (good + 1) }, status, seed: seed,
                arrivals: days.flatMap { day in
                    let begin = Double(day) * 86_400
                    return Self.every(0, 1, from: begin, times: 1) + Self.every(0, good, from: begin + 50_000, times: 1)
                })
            world.run(until: .seconds(900_000), isDone: { _ in false })
            let late = world.arrived.map { event, time in
                time / .seconds(1) - Double(event / (good + 1)) * 86_400 - 50_000
            }
            #expect(world.fault == nil && world.missing == 0 && world.goodDead == 0)
            // A row that keeps one event's failures only needs more than ten days for these.
            #expect(status != 500 || world.found >= 4, "\(world.found) found")
            #expect(late.count == 10 * good && late.max() ?? .infinity < 30, "\(late.max() ?? 0) s")
            #expect(world.requests < ([403, 400].contains(status) ? 1_000 : 4_000), "\(world.requests) requests")
        }
    }

    @Test("A limit of 50 events is learned beside an event that always waits", arguments: [413])
    func sizeBesideStuckEvent(status: Int) {
        for seed in 0..<Trials.count(full: 20, few: 2) {
            let world = Self.world(5_000, seed, bad: [3], 429) { _, events in .status(events.count > 50 ? status : 200)
            }
            let facts = "\(world.requests) requests, \(world.outOfOrder) out of order"
            #expect(world.fault == nil && world.missing == 0 && world.goodDead == 0)
            #expect(world.requests < 400 && world.outOfOrder < 2_000, "\(facts)")
        }
    }

    static let found: [Scenario] = {
        var list: [Scenario] = []
        for status in [403, 400, 500, 0] {
            let limits = Limits(requests: 500, found: status == 0 ? 0...0 : 6...6)
            list.append(
                Scenario("six bad (\(status)) among 4,100, 20 new events each 15 s", limits) {
                    world(
                        100, $0, bad: [3, 60, 99, 700, 701, 1_500], status,
                        arrivals: every(15, 20, from: 15, times: 200), until: .seconds(3_100), isDone: { _ in false })
                })
        }
        for status in [403, 429, 500] {
            list.append(
                Scenario("10,000 bad (\(status)) in front of 500", Limits(first: 180, last: 1_800), seeds: (3, 0)) {
                    world(10_500, $0, bad: Array(0..<10_000), status)
                })
        }
        for status in [403, 500, 0] {
            let limits = Limits(first: 10, last: 600, requests: 3_300, found: 0...225)
            list.append(
                Scenario("225 bad (\(status)) spread in 10,000", limits, seeds: (1, 0)) {
                    world(10_000, $0, bad: Array(Array(0..<10_000).shuffled(by: $0).prefix(225)), status)
                })
        }
        for status in [403, 500] {
            list.append(
                Scenario("every fifth of 300 bad (\(status)), one a minute", Limits(), seeds: (3, 0)) {
                    world(
                        0, $0, bad: Array(stride(from: 0, to: 300, by: 5)), status, arrivals: every(60, 1, times: 300))
                })
        }
        return list
    }()

    @Test("Bad events become dead letters while good ones flow", arguments: run(found))
    func badEventsAreFound(_ scenario: Scenario) { scenario.check() }

    @Test(
        "A busy process sends good events soon, and room in the store stays free, beside one bad event in 100, 12 or 5",
        arguments: [403, 500], [100, 12, 5])
    func busyProcess(status: Int, one: Int) {
        let seconds = Trials.count(full: 600, few: one == 5 ? 0 : 120)
        if seconds == 0 { return }
        for seed in 0..<Trials.count(full: 3, few: 1) {
            let bad = Set(0..<20 * seconds).filter { $0 &* 2_654_435_761 % 1_000_003 % one == seed }
            let world = RuleWorld(0, bad: bad, status, seed: seed, arrivals: Self.every(1, 20, times: seconds))
            world.bytes = { _ in 425 }
            world.capacity = 10 << 20
            world.run(until: .seconds(seconds + 5), isDone: { _ in false })
            let late = world.arrived.map { event, time in time / .seconds(1) - Double(event / 20) }.sorted()
            let facts = """
                \(world.missing) missing, \(world.found) of \(bad.count) found, \(world.goodDead) good dead, \
                \(world.openBytes) bytes, late \(late[late.count / 2]), \(late.last ?? 0), \(world.fault ?? "no fault")
                """
            Trials.report("| one in \(one), \(status) | \(facts) |")
            #expect(world.fault == nil && world.goodDead == 0 && world.missing <= (one == 5 ? 100 : 20), "\(facts)")
            #expect(one == 5 || world.found >= bad.count * 8 / 10, "\(facts)")
            #expect(one == 5 || world.openBytes < 2 << 20, "\(facts)")
        }
    }
}

extension Array {
    fileprivate func shuffled(by seed: Int) -> [Element] {
        var random = SeededRandom(seed: UInt64(seed))
        return shuffled(using: &random)
    }
}
