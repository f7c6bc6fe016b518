import SluiceTesting
import TestSupport
import Testing

@testable import SluiceDelivery

/// Few requests, times that the receiver names, and short processes.
extension RuleScenarioTests {
    /// Takes one request in `gap` seconds.
    static func limiter(_ gap: Double, _ status: Int) -> RuleWorld.Receiver {
        var next = Duration.zero
        return { world, _ in
            guard world.now >= next else { return .status(status) }
            next = world.now + .seconds(gap)
            return .status(200)
        }
    }

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
        arguments: [(one: 200, after: 30), (20, 30), (10, 60), (4, 30), (25, 3_600), (20, nil)])
    func throttledUsers(_ throttle: (one: Int, after: Int?)) {
        let hours = Trials.count(full: 3, few: 1)
        for seed in 0..<Trials.count(full: 4, few: 1) {
            let isThrottled = { (event: Int) in event &* 2_654_435_761 % 1_000_003 % throttle.one == seed }
            let world = RuleWorld(0, seed: seed, arrivals: Self.every(15, 20, times: hours * 240))
            world.receiver = { world, events in
                let isThrottling = world.now > .seconds(600)
                return .each(
                    events.map {
                        isThrottling && isThrottled($0) ? .retry(after: throttle.after.map { .seconds($0) }) : .accepted
                    })
            }
            world.run(until: .seconds(hours * 3_600 + 60), isDone: { _ in false })
            let others = (0..<world.events).filter { !isThrottled($0) }
            let late = others.compactMap { event in
                world.arrived[event].map { $0 / .seconds(1) - Double(event / 20 * 15) }
            }.sorted()
            let facts = "\(others.count - late.count) missing, late \(late[late.count / 2]), \(late.last ?? 0)"
            Trials.report("| one in \(throttle.one), \(throttle.after ?? 0) s | \(facts), \(world.requests) requests |")
            #expect(world.fault == nil && world.deadLetters.isEmpty)
            #expect(others.count - late.count <= 20 && late.last ?? 0 < 5, "\(facts)")
            #expect(world.requests < hours * 11_000, "\(facts), \(world.requests) requests")
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
        for (kill, isShort) in [(0, false), (0, true), (4, false)] {
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
                        world.run(most: kill, isKilled: true, shutdown: .seconds(5), isShort: isShort)
                    } else {
                        world.run(shutdown: .seconds(5), isShort: isShort)
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
                    + "\(kill > 0 ? "killed after \(kill)" : isShort ? "default" : "5 s") | "
                    + "\(results.map(\.late)) | \(results.map(\.missing)) | \(results.map(\.requests)) |")
        }
    }

    @Test("A tool that leaves a bad event in each process delivers the others", arguments: [0, 500])
    func manyShortProcesses(status: Int) {
        for seed in 0..<Trials.count(full: 20, few: 2) {
            let world = RuleWorld(0, bad: stride(from: 1, to: 180, by: 3), status, seed: seed)
            for _ in 0..<60 {
                world.append(3)
                world.run(shutdown: .seconds(5), isShort: true)
            }
            #expect(world.fault == nil && world.goodDead == 0)
            #expect(world.missing <= 20, "\(world.missing) missing of 120, seed \(seed)")
        }
    }
}
