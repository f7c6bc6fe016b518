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
        var missing = 0
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
                #expect(world.goodDead == 0, "\(facts)")
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
                    Limits(first: 60, last: 600, requests: status == 413 ? 700 : 60)
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
                Scenario("last 100 of 500 bad (\(status))", Limits(first: 1, last: 10, requests: 10), seeds: seeds) {
                    world(500, $0, bad: Array(400..<500), status)
                })
        }
        return list
    }()

    @Test("Good events arrive within minutes, however many bad ones there are", arguments: run(badEvents))
    func badEventsDelay(_ scenario: Scenario) { scenario.check() }

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
        "A busy process sends good events soon, and room in the store stays free, beside one bad event in 100, 20 or 5",
        arguments: [403, 500], [100, 20, 5])
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
            #expect(one < 100 || world.found >= bad.count * 8 / 10, "\(facts)")
            #expect(one == 5 || world.openBytes < 2 << 20, "\(facts)")
        }
    }

    // MARK: Receivers

    static let outages: [Scenario] = {
        var list: [Scenario] = []
        for (status, minutes, days) in [
            (503, 60, 1_800), (0, 60, 1_800), (429, 60, 1_800), (403, 45, 130), (400, 45, 130),
        ] {
            for (length, most) in [(10.0, 25), (600, minutes), (259_200, days)] {
                let limits = Limits(requests: most, outOfOrder: 16)
                let seeds = (full: 20, few: length < 1_000 || status == 403 ? 1 : 0)
                list.append(
                    Scenario("outage (\(status)) of \(Int(length)) s, 1,000 wait", limits, seeds: seeds) {
                        world(1_000, $0, until: .seconds(length + 90_000), receiver: outage(0, length, status))
                    })
            }
            let name = "outage (\(status)) of 3 days, an event a minute"
            list.append(
                Scenario(name, Limits(outOfOrder: 16), seeds: (3, 0)) {
                    world(
                        300, $0, arrivals: every(60, 1, times: 4_000), until: .seconds(350_000),
                        receiver: outage(0, 259_200, status))
                })
        }
        return list
    }()

    @Test("After an outage, all events arrive, nearly in their order", arguments: run(outages))
    func outagesEnd(_ scenario: Scenario) { scenario.check() }

    static let unwell: [Scenario] = {
        var list: [Scenario] = []
        for status in [403, 503] {
            for (probability, median) in [(0.5, 320), (0.7, 400), (0.8, 520), (0.9, 1_300), (0.95, 2_800)] {
                let name = "\(status) at random, p = \(probability), 10,000 events"
                list.append(
                    Scenario(name, Limits(median: median), seeds: (20, 0)) {
                        world(10_000, $0, until: .seconds(1e8), receiver: shed(probability, status))
                    })
            }
            list.append(
                Scenario("\(status) at random, p = 0.7, 3,000 events", Limits(median: 250), seeds: (20, 3)) {
                    world(3_000, $0, until: .seconds(1e8), receiver: shed(0.7, status))
                })
            let name = "limiter (\(status)), one in 5 s, "
            list.append(
                Scenario(name + "20 events and a flush each 3 s", Limits(last: 600, requests: 500)) {
                    world(
                        0, $0, arrivals: every(3, 20, times: 25), flushEvery: .seconds(3), receiver: limiter(5, status))
                })
            list.append(
                Scenario(name + "own waits", Limits(last: 1_500, requests: 700)) {
                    world(0, $0, arrivals: every(3, 20, times: 25), receiver: limiter(5, status))
                })
            list.append(
                Scenario(name + "10,000 wait", Limits(last: 900, requests: 900), seeds: (20, 0)) {
                    world(10_000, $0, receiver: limiter(5, status))
                })
            for (servers, broken) in [(2, 1), (3, 1), (3, 2), (4, 1)] {
                let name = "\(broken) of \(servers) servers broken (\(status)), each asked in turn"
                list.append(
                    Scenario(name + ", 1,000 events", Limits(), seeds: (20, servers == 4 ? 2 : 0)) {
                        world(1_000, $0) { world, _ in .status(world.requests % servers < broken ? status : 200) }
                    })
                list.append(
                    Scenario(name + ", 20 events each 15 s", Limits(), seeds: (20, servers == 2 ? 1 : 0)) {
                        world(0, $0, arrivals: every(15, 20, times: 100)) { world, _ in
                            .status(world.requests % servers < broken ? status : 200)
                        }
                    })
            }
            list.append(
                Scenario("three in flight, \(status) at random, p = 0.5, six bad", Limits(), seeds: (20, 2)) {
                    world(
                        4_000, $0, bad: [3, 60, 700, 701, 1_500, 3_999], status, until: .seconds(1e7), inFlight: 3,
                        receiver: shed(0.5, status))
                })
            list.append(
                Scenario("three in flight, 100 bad (\(status)) in front", Limits(last: 600), seeds: (20, 2)) {
                    world(600, $0, bad: Array(0..<100), status, inFlight: 3)
                })
        }
        let browns = [
            (60, 0.9, 503), (200, 0.9, 503), (200, 0.9, 403), (30, 0.7, 403), (200, 0.95, 400), (300, 0.8, 503),
        ]
        for (first, probability, status) in browns {
            list.append(
                Scenario(
                    "brownout (\(status)), \(probability) of the first \(first)", Limits(requests: 600),
                    seeds: (20, first < 100 ? 1 : 0)
                ) {
                    world(
                        600, $0, arrivals: every(20, 1, from: 1e6, times: 100), until: .seconds(1e7),
                        receiver: shed(probability, status, first: first))
                })
        }
        for (probability, badStatus, status) in [(0.5, 403, 503), (0.8, 500, 503), (0.9, 400, 503)] {
            let name = "5 bad (\(badStatus)) and \(status) at random, p = \(probability)"
            list.append(
                Scenario(name, Limits(), seeds: (5, 0)) {
                    world(
                        240, $0, bad: [3, 60, 100, 180, 239], badStatus, arrivals: every(15, 1, times: 2_000),
                        until: .seconds(1e8), receiver: shed(probability, status))
                })
        }
        return list
    }()

    @Test("A receiver that often fails gets all events, and none is given up", arguments: run(unwell))
    func unwellReceivers(_ scenario: Scenario) { scenario.check() }

    /// Takes one request in `gap` seconds.
    static func limiter(_ gap: Double, _ status: Int) -> RuleWorld.Receiver {
        var next = Duration.zero
        return { world, _ in
            guard world.now >= next else { return .status(status) }
            next = world.now + .seconds(gap)
            return .status(200)
        }
    }

    // MARK: Few requests

    @Test("A wrong key costs 30 requests in the first hour and 30 a day", arguments: [401, 403, 404, 400, 302])
    func wrongKey(status: Int) {
        for seed in 0..<Trials.count(full: 20, few: 1) {
            for (count, arrivals) in [(500, 0), (1, 0), (0, 1_400), (500, 1_400)] {
                let world = Self.world(
                    count, seed, arrivals: Self.every(60, 1, times: arrivals), until: Self.day,
                    receiver: Self.outage(0, 1e9, status))
                #expect(world.fault == nil && world.deadLetters.isEmpty)
                let hour = world.requests(from: .zero, to: .seconds(3_600))
                #expect(hour <= 30 && world.requests - hour <= 30)
            }
            let world = Self.world(
                500, seed, arrivals: Self.every(60, 1, times: 1_600), until: .seconds(96_000),
                receiver: Self.outage(600, 87_000, status))
            #expect(world.fault == nil && world.deadLetters.isEmpty && world.missing == 0 && world.outOfOrder <= 16)
            let hour = world.requests(from: .seconds(600), to: .seconds(4_200))
            let day = world.requests(from: .seconds(4_200), to: .seconds(87_000))
            #expect(hour <= 45 && day <= 30)
            Trials.report("key \(status), seed \(seed): \(hour), \(day)")
        }
    }

    @Test("One request that passes in a day of refusals doesn't shorten the pauses after it", arguments: [403, 503])
    func onePasses(status: Int) {
        for seed in 0..<Trials.count(full: 20, few: 1) {
            var passes = 1
            let world = Self.world(Trials.count(full: 5_000, few: 500), seed) { world, _ in
                guard world.now > .seconds(3_600), passes > 0 else { return .status(status) }
                passes -= 1
                return .status(200)
            }
            #expect(world.fault == nil && world.deadLetters.isEmpty)
            #expect(world.requests <= (status == 403 ? 200 : 2_500), "seed \(seed): \(world.requests) requests")
        }
    }

    @Test("One bad event alone costs few requests a day", arguments: [(403, 60), (500, 700), (429, 700), (0, 700)])
    func alone(status: Int, most: Int) {
        for seed in 0..<Trials.count(full: 20, few: 2) {
            let world = Self.world(1, seed, bad: [0], status, isDone: { _ in false })
            #expect(world.fault == nil && world.deadLetters.isEmpty && world.requests <= most, "\(world.requests)")
        }
    }

    @Test("A host that flushes each second causes one request a flush")
    func flushes() {
        for seed in 0..<Trials.count(full: 20, few: 2) {
            let world = Self.world(
                Trials.count(full: 500, few: 50), seed, until: .seconds(3_600), flushEvery: .seconds(1),
                receiver: Self.outage(0, 1e9, 403))
            #expect(world.fault == nil && world.deadLetters.isEmpty)
            #expect(world.requests <= world.flushes + 30, "\(world.requests) requests, \(world.flushes) flushes")
        }
    }

    // MARK: Times

    @Test("Nothing is sent before the time that the receiver names, even after a flush", arguments: [403, 429, 503])
    func retryAfter(status: Int) {
        for seed in 0..<Trials.count(full: 20, few: 2) {
            let world = Self.world(500, seed, flushEvery: .seconds(3)) { world, _ in
                world.now < .seconds(600) ? .status(status, after: .seconds(60)) : .status(200)
            }
            #expect(world.fault == nil && world.missing == 0 && world.goodDead == 0)
            #expect(world.requests <= 20 && world.lastGood <= .seconds(670), "\(world.requests), \(world.lastGood)")
        }
    }

    @Test(
        "A time that is named whenever a bad event is sent keeps back the events of that request, and no others",
        arguments: [403, 429, 503], [1, 3])
    func retryAfterOfBadEvents(status: Int, inFlight: Int) {
        for seed in 0..<Trials.count(full: 20, few: 1) {
            for (bad, after) in [([250], 3_600.0), ([3, 4, 470], 600), (Array(0..<100), 60), ([9], 1)] {
                let world = RuleWorld(1_000, bad: bad, status, seed: seed, arrivals: Self.every(60, 10, times: 500))
                world.badAfter = .seconds(after)
                // Good events that are tracked after the first answers.
                var late: [Double] = []
                world.run(
                    until: Self.day, flushEvery: .seconds(300), inFlight: inFlight,
                    isDone: { world in
                        late = (3_000..<world.events).compactMap { event in
                            world.arrived[event].map { $0 / .seconds(1) - Double(event - 1_000 + 10) / 10 * 60 }
                        }
                        return world.missing == 0 && world.events >= 6_000
                    })
                let facts = "\(bad.count) bad, \(after) s: \(world.missing) missing, \(world.fault ?? "no fault")"
                #expect(world.fault == nil && world.missing == 0 && world.goodDead == 0, "\(facts)")
                let latest = late.max() ?? .infinity
                #expect(latest < 130, "\(facts): \(latest) s")
                // A short time does not shorten the waits, which grow. The 96 flushes end them.
                #expect(world.requests < 1_200 + 100 * bad.count, "\(facts): \(world.requests) requests")
            }
        }
    }

    @Test("Events that the receiver names are judged alone", arguments: [1, 3])
    func namedEvents(inFlight: Int) {
        let isBad = { (event: Int) in event % 50 == 7 }
        for seed in 0..<Trials.count(full: 20, few: 2) {
            // Rejected beside acceptances: dead letters, and no other request.
            var world = Self.world(
                1_000, seed, inFlight: inFlight,
                receiver: { _, events in
                    .each(events.map { isBad($0) ? .rejected(reason: "\($0)") : .accepted })
                }, isDone: { _ in false })
            #expect(world.fault == nil && world.deadLetters.count == 20 && world.left == 0)
            #expect(world.deadLetters.allSatisfy { isBad($0.event) && $0.letter.failure.reason == "\($0.event)" })
            #expect(world.requests <= 6)
            // A time for some: they are sent then, and the others now.
            world = Self.world(1_000, seed, inFlight: inFlight) { world, events in
                .each(
                    events.map { isBad($0) && world.now < .seconds(20) ? .retry(after: .seconds(30)) : .accepted })
            }
            #expect(world.fault == nil && world.missing == 0 && world.deadLetters.isEmpty)
            #expect(world.requests <= 30 && world.lastGood <= .seconds(40), "\(world.requests), \(world.lastGood)")
            // All rejected: perhaps the receiver is in trouble.
            world = Self.world(1_000, seed, inFlight: inFlight) { world, events in
                .each(events.map { world.now < .seconds(600) ? .rejected(reason: "\($0)") : .accepted })
            }
            #expect(world.fault == nil && world.missing == 0 && world.deadLetters.isEmpty)
            #expect(world.requests <= 60, "\(world.requests)")
            // The receiver takes a request as a whole, without the ones that it names.
            world = Self.world(
                1_000, seed, inFlight: inFlight,
                receiver: { _, events in
                    guard events.contains(where: isBad) else { return .each(events.map { _ in .accepted }) }
                    return .each(events.map { isBad($0) ? .rejected(reason: "") : .retry(after: .zero) })
                }, isDone: { _ in false })
            #expect(world.fault == nil && world.deadLetters.count == 20 && world.left == 0 && world.now < .seconds(10))
        }
    }

    @Test(
        "Events that get a time again and again delay no other, in small and large numbers",
        arguments: [(one: 200, after: 30), (20, 30), (10, 60), (4, 30), (25, 3_600)])
    func throttledUsers(_ throttle: (one: Int, after: Int)) {
        let hours = Trials.count(full: 3, few: 1)
        for seed in 0..<Trials.count(full: 4, few: 1) {
            let isThrottled = { (event: Int) in event &* 2_654_435_761 % 1_000_003 % throttle.one == seed }
            let world = RuleWorld(0, seed: seed, arrivals: Self.every(15, 20, times: hours * 240))
            world.receiver = { world, events in
                let isThrottling = world.now > .seconds(600)
                return .each(
                    events.map {
                        isThrottling && isThrottled($0) ? .retry(after: .seconds(throttle.after)) : .accepted
                    })
            }
            world.run(until: .seconds(hours * 3_600 + 60), isDone: { _ in false })
            let others = (0..<world.events).filter { !isThrottled($0) }
            let late = others.compactMap { event in
                world.arrived[event].map { $0 / .seconds(1) - Double(event / 20 * 15) }
            }.sorted()
            let facts = "\(others.count - late.count) missing, late \(late[late.count / 2]), \(late.last ?? 0)"
            Trials.report("| one in \(throttle.one), \(throttle.after) s | \(facts), \(world.requests) requests |")
            #expect(world.fault == nil && world.deadLetters.isEmpty)
            #expect(others.count - late.count <= 20 && late[late.count / 2] < 10 && late.last ?? 0 < 300, "\(facts)")
            #expect(world.requests < hours * 4_500, "\(facts)")
        }
    }

    @Test("Erased and removed events are never sent, and the search goes on", arguments: [403, 500, 0])
    func erasure(status: Int) {
        for seed in 0..<Trials.count(full: 200, few: 3) {
            let begin = 2 + seed % 20
            var steps = 0
            let world = Self.world(
                900, seed, bad: Array(stride(from: 3, to: 900, by: 40)), status, batch: 100, until: .seconds(9e5),
                host: { world in
                    steps += 1
                    if steps == begin { world.erase { $0 % 9 == seed % 9 } }
                    if steps == begin + 5 { world.removeOldest() }
                    if steps == begin + 9 { world.erase { $0 < 350 && $0 % 40 == 3 } }
                })
            #expect(world.fault == nil && world.missing == 0 && world.goodDead == 0, "seed \(seed), \(world.missing)")
        }
    }

    @Test("Parts that the receiver finds too large become smaller")
    func tooLarge() {
        for seed in 0..<Trials.count(full: 20, few: 1) {
            for (count, bytes, most) in [(3_000, 1_000, 400), (3_000, 300, 400)] {
                let world = RuleWorld(count, bad: [7], 413, seed: seed)
                world.bytes = { $0 == 7 ? 200_000 : bytes }
                world.receiver = { world, events in
                    .status(events.reduce(0) { $0 + world.bytes($1) } > 100_000 ? 413 : 200)
                }
                world.run(until: Self.day) { $0.missing == 0 }
                #expect(world.fault == nil && world.missing == 0 && world.goodDead == 0)
                #expect(
                    world.requests <= most && world.lastGood <= .seconds(60), "\(world.requests), \(world.lastGood)")
            }
        }
    }

    // MARK: Short processes

    struct Lives: Sendable, CustomTestStringConvertible {
        let name: String
        let first: Int
        let bad: @Sendable (Int) -> [Int]
        /// How many processes late an event may be, and how many may be missing. Dense bad events need longer.
        var late = 3, missing = 0
        var testDescription: String { name }
    }

    static let lives = [
        Lives(name: "the first of 3", first: 3) { _ in [0] }, Lives(name: "the second of 3", first: 3) { _ in [1] },
        Lives(name: "the last of 3", first: 3) { _ in [2] }, Lives(name: "one beside 99", first: 100) { _ in [0] },
        Lives(name: "25 in front", first: 25, bad: { _ in Array(0..<25) }, late: 11, missing: 12),
        Lives(name: "500 in front", first: 500) { _ in Array(0..<500) },
        Lives(
            name: "33 of 100", first: 100, bad: { _ in Array(stride(from: 0, to: 99, by: 3)) }, late: 11, missing: 75),
        Lives(
            name: "one in each process", first: 3, bad: { Array(stride(from: 0, to: $0, by: 3)) }, late: 11,
            missing: 9),
    ]

    @Test(
        "Ten short processes deliver their events, whatever the first one left", arguments: lives, [400, 403, 500, 0])
    func shortProcesses(_ lives: Lives, status: Int) {
        for (kill, silences) in [(0, Int.max), (0, 2), (4, .max)] {
            var results: [(late: Int, missing: Int, requests: Int)] = []
            for seed in 0..<Trials.count(full: 20, few: 1) {
                let total = lives.first + 27
                let world = RuleWorld(0, bad: lives.bad(total), status, seed: seed)
                var born: [Int] = [], arrived: [Int: Int] = [:]
                for life in 0..<12 {
                    let count = life == 0 ? lives.first : life < 10 ? 3 : 0
                    world.append(count)
                    born += Array(repeating: life, count: count)
                    let begin = world.now
                    if kill > 0 {
                        world.run(most: kill, isKilled: true, shutdown: .seconds(5), silences: silences)
                    } else {
                        world.run(shutdown: .seconds(5), silences: silences)
                    }
                    #expect(world.now - begin <= .seconds(5.1))
                    for event in world.arrived.keys where arrived[event] == nil { arrived[event] = life }
                }
                #expect(world.fault == nil && world.goodDead == 0)
                let late = arrived.map { world.isBad($0.key) ? 0 : $0.value - born[$0.key] }.max() ?? 0
                results.append((late, world.missing, world.requests))
                if kill == 0 { #expect(late <= lives.late && world.missing <= lives.missing, "\(results)") }
            }
            Trials.report(
                "| \(lives.name), \(status), "
                    + "\(kill > 0 ? "killed after \(kill)" : silences == 2 ? "default" : "5 s") | "
                    + "\(results.map(\.late)) | \(results.map(\.missing)) | \(results.map(\.requests)) |")
        }
    }
}

extension Array {
    fileprivate func shuffled(by seed: Int) -> [Element] {
        var random = SeededRandom(seed: UInt64(seed))
        return shuffled(using: &random)
    }
}
