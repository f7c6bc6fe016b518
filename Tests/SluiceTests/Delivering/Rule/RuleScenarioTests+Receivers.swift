import SluiceTesting
import TestSupport
import Testing

@testable import SluiceDelivery

/// The scenarios of receivers in trouble: outages, random failures, limits and broken servers.
extension RuleScenarioTests {
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
                Scenario("\(status) at random, p = 0.7, 3,000 events", Limits(median: 250), seeds: (20, 1)) {
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
            list.append(
                Scenario(
                    "limiter (\(status)), one in 2 s with 3 saved, after 120 s, an event each second",
                    Limits(requests: 2_000, missing: 5, dead: 5), seeds: (20, 1)
                ) { seed in
                    var (saved, last) = (3.0, Duration.zero)
                    return world(0, seed, arrivals: every(1, 1, times: 600)) { world, _ in
                        if world.now < .seconds(120) { return .status(200) }
                        (saved, last) = (min(3, saved + (world.now - last) / .seconds(2)), world.now)
                        if saved >= 1 { saved -= 1 } else { return .status(status) }
                        return .status(200)
                    }
                })
            for (servers, broken) in [(2, 1), (3, 1), (3, 2), (4, 1)] {
                let name = "\(broken) of \(servers) servers broken (\(status)), each asked in turn"
                list.append(
                    Scenario(name + ", 1,000 events", Limits(), seeds: (20, servers == 4 ? 1 : 0)) {
                        world(1_000, $0) { world, _ in .status(world.requests % servers < broken ? status : 200) }
                    })
                list.append(
                    Scenario(name + ", 20 events each 15 s", Limits(), seeds: (20, servers == 2 ? 1 : 0)) {
                        world(0, $0, arrivals: every(15, 20, times: 100)) { world, _ in
                            .status(world.requests % servers < broken ? status : 200)
                        }
                    })
                for batch in [1, 5, 20] {
                    list.append(
                        Scenario(
                            name + ", batches of \(batch)", Limits(),
                            seeds: (20, servers < 4 && (broken == 1 || batch == 20) ? 1 : 0)
                        ) {
                            world(1_000, $0, batch: batch) { world, _ in
                                .status(world.requests % servers < broken ? status : 200)
                            }
                        })
                }
                for (batch, after) in [(100, nil), (1, nil), (1, Duration.seconds(5))] {
                    let name = name + ", 5 events and a flush each second, batches of \(batch)"
                    list.append(
                        Scenario(
                            after == nil ? name : name + ", Retry-After", Limits(), seeds: (20, servers < 3 ? 1 : 0)
                        ) {
                            world(
                                200, $0, batch: batch, arrivals: every(1, 5, times: 300), flushEvery: .seconds(1)
                            ) { world, _ in
                                world.requests % servers < broken ? .status(status, after: after) : .status(200)
                            }
                        })
                }
            }
            // The chance is the lowest when the trouble begins.
            for (servers, isRandom) in [(2, false), (3, false), (2, true), (10, true)] {
                let turn = isRandom ? "at random" : "in turn"
                let name = "1 of \(servers) servers breaks (\(status)) after 120 s, asked \(turn), "
                for events in [1, 5] {
                    list.append(
                        Scenario(
                            name + "\(events) events and a flush each second", Limits(),
                            seeds: (20, events == 1 ? 1 : 0)
                        ) {
                            world(0, $0, arrivals: every(1, events, times: 300), flushEvery: .seconds(1)) { world, _ in
                                let number =
                                    isRandom ? Int.random(in: 0..<servers, using: &world.random) : world.requests
                                return .status(world.now > .seconds(120) && number % servers == 0 ? status : 200)
                            }
                        })
                }
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

    @Test(
        "Bad events beside random failures delay few others", arguments: [403, 503],
        [(0.1, 20), (0.2, 20), (0.3, 100), (0.5, 100)])
    func badEventsBesideChance(status: Int, share: (failing: Double, one: Int)) {
        for seed in 0..<Trials.count(full: 4, few: 0) {
            let times = share.failing == 0.2 ? 300 : 900
            let bad = Array(stride(from: seed * 7 + 3, to: times * 10, by: share.one))
            let world = Self.world(
                0, seed, bad: bad, 400, arrivals: Self.every(2, 10, times: times), until: .seconds(20_000),
                receiver: Self.shed(share.failing, status))
            let late = world.arrived.filter { !world.isBad($0.key) }.map { event, time in
                time / .seconds(1) - Double(event / 10 * 2)
            }.sorted()
            let facts = "\(world.missing) missing, late \(late[late.count / 2]), \(late[late.count * 99 / 100])"
            Trials.report(
                "| one in \(share.one), \(share.failing), \(status), seed \(seed) | \(facts), \(world.requests) requests |"
            )
            #expect(world.fault == nil && world.goodDead == 0)
            if share.failing < 0.5 { #expect(world.missing <= 40 && late[late.count * 99 / 100] < 400, "\(facts)") }
        }
    }
}
