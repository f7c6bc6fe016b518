import SluiceTesting
import TestSupport
import Testing

@testable import SluiceDelivery

/// Every small world: up to five events and two late ones, every set of bad events, every outage and every restart.
@Suite struct RuleCheckTests {
    struct Case: CustomStringConvertible {
        var events = 0, batch = 0
        var bad: [Int] = []
        var badStatus = 0, outage = 0
        /// The first request that fails whatever it has, and how many fail.
        var begin = 0, length = 0
        /// Requests of the first process; zero without a restart.
        var stop = 0
        var isKilled = false
        var seed = 0

        static let statuses = [403, 400, 500, 0]
        static let lengths = [1, 2, 4, 12]

        /// The case with a number, and nil after the last one.
        init(events: Int, batch: Int, number: Int, seed: Int) {
            (self.events, self.batch, self.seed) = (events, batch, seed)
            var rest = number
            func digit(_ base: Int) -> Int {
                defer { rest /= base }
                return rest % base
            }
            let set = digit(1 << events)
            bad = (0..<events).filter { set >> $0 & 1 == 1 }
            badStatus = Self.statuses[digit(4)]
            outage = Self.statuses[digit(4)]
            let which = digit(33)
            if which > 0 { (begin, length) = ((which - 1) / 4 + 1, Self.lengths[(which - 1) % 4]) }
            let restart = digit(13)
            if restart > 0 { (stop, isKilled) = ((restart + 1) / 2, restart % 2 == 0) }
        }

        static func count(_ events: Int) -> Int { (1 << events) * 4 * 4 * 33 * 13 }

        func run() -> RuleWorld {
            let world = RuleWorld(events, bad: bad, badStatus, seed: seed, arrivals: [(.seconds(40), 2)])
            world.policy.batch = BatchSize(events: batch, bytes: 262_144)
            let outage = begin..<begin + length
            world.receiver = { [status = self.outage] world, _ in
                .status(outage.contains(world.requests + 1) ? status : 200)
            }
            if stop > 0 { world.run(most: stop, isKilled: isKilled) }
            world.run(until: .seconds(300_000)) { $0.missing == 0 || $0.requests > 3_000 }
            return world
        }

        var description: String {
            "\(events) events by \(batch), bad \(bad) \(badStatus), \(length) x \(outage) from \(begin), "
                + "\(isKilled ? "killed" : "ended") after \(stop), seed \(seed)"
        }
    }

    @Test(
        "In every small world, all good events arrive once, none is given up, and failures are followed by pauses",
        arguments: [(5, 2), (5, 3), (4, 2), (3, 3)])
    func everySmallWorld(events: Int, batch: Int) {
        let stride = Trials.count(full: 1, few: 1_009)
        var (runs, most, chain) = (0, 0, 0)
        for seed in 0..<Trials.count(full: 2, few: 1) {
            for number in Swift.stride(from: seed, to: Case.count(events), by: stride) {
                let one = Case(events: events, batch: batch, number: number, seed: number &* 7 &+ seed)
                let world = one.run()
                runs += 1
                most = max(most, world.requests)
                chain = max(chain, world.longestChain)
                guard world.fault == nil, world.missing == 0, world.goodDead == 0 else {
                    Issue.record(
                        "\(world.fault ?? ""), missing: \(world.missing), given up: \(world.goodDead): \(one)")
                    return
                }
            }
        }
        #expect(chain <= 2 * (events + 2) + 2)
        Trials.report("\(events) events by \(batch): \(runs) runs, at most \(most) requests, \(chain) without a wait")
    }

    /// The answer of the first outage doesn't count: no acceptance came before it.
    @Test("events that two outages have hit alone are delivered", arguments: 1...10, 1...4)
    func eventsOfTwoOutagesAreDelivered(first: Int, second: Int) {
        for pause in 1...20 {
            let world = RuleWorld(8, seed: pause)
            world.receiver = { world, _ in
                let request = world.requests + 1
                return .status(request <= first || (1...second).contains(request - first - pause) ? 403 : 200)
            }
            world.run(until: .seconds(300_000)) { $0.missing == 0 }
            #expect(
                world.fault == nil && world.missing == 0 && world.deadLetters.isEmpty,
                "\(pause) requests between the outages: \(world.fault ?? "")")
        }
    }
}
