import SluiceEvents
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceDelivery

/// Times that a receiver names, for a request or for events.
extension RuleScenarioTests {
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

    @Test(
        "A time of seconds that is named for bad events in front delays good ones for minutes at most",
        arguments: [403, 429, 503])
    func retryAfterOfEventsInFront(status: Int) {
        for seed in 0..<Trials.count(full: 20, few: 1) {
            for (bad, good, after) in [
                (37, 500, 1.0), (61, 730, 20), (150, 500, 1), (300, 500, 7), (501, 500, 3), (1_013, 500, 1),
            ] {
                let world = RuleWorld(bad + good, bad: Array(0..<bad), status, seed: seed)
                world.badAfter = .seconds(after)
                world.run(until: Self.day, isDone: { $0.missing == 0 })
                #expect(world.fault == nil && world.goodDead == 0)
                #expect(world.lastGood <= .seconds(600), "\(bad) bad, \(after) s: \(world.lastGood)")
            }
        }
    }

    @Test("A failure that names no failed event is followed by a pause", arguments: [nil, 0.0, 2, 60], [1, 10, 300])
    func pausesWithoutFailedEvents(after: Double?, count: Int) {
        let later = Verdict.retry(after: after.map { .seconds($0) })
        for seed in 0..<Trials.count(full: 20, few: 2) {
            for accepted in [0, count / 2] {
                let world = Self.world(
                    count, seed, until: .seconds(3_600),
                    receiver: { world, events in
                        .each(events.indices.map { world.requests == 0 && $0 < accepted ? .accepted : later })
                    }, isDone: { _ in false })
                #expect(world.fault == nil && world.deadLetters.isEmpty)
                #expect(world.requests < 200, "\(world.requests) requests")
            }
        }
    }

    @Test("Events with times of their own delay no others", arguments: [0.5, 20], [10, 100])
    func timedEventsDelayNoOthers(after: Double, batch: Int) {
        for seed in 0..<Trials.count(full: 10, few: 1) {
            // In front, and among others that come.
            for (front, tenths) in [(1_013, 0), (0, 5), (0, 9)] {
                let isLimited = { (event: Int) in event < front || event % 10 < tenths }
                let world = RuleWorld(
                    front + 500 * front.signum(), bad: (0..<1_513).filter(isLimited), 503, seed: seed,
                    arrivals: front > 0 ? [] : Self.every(2, 1, times: 300))
                world.policy.batch = BatchSize(events: batch, bytes: 262_144)
                world.policy.backlogBatch = world.policy.batch
                world.receiver = { _, events in
                    .each(events.map { isLimited($0) ? .retry(after: .seconds(after)) : .accepted })
                }
                world.run(until: .seconds(3_600), isDone: { $0.missing == 0 })
                #expect(world.fault == nil && world.deadLetters.isEmpty)
                #expect(world.lastGood <= .seconds(660), "\(front) and \(tenths): \(world.lastGood)")
            }
        }
    }

    /// A receiver that throttles some events by name.
    private enum Throttle: CaseIterable {
        case thirdAtRandom, halfForAMinute, aboveThreeASecond, twentiethForAMinute

        /// Events a second, and their number.
        var load: (rate: Double, count: Int) {
            switch self {
            case .thirdAtRandom, .twentiethForAMinute: (100, 6_000)
            case .halfForAMinute, .aboveThreeASecond: (20, 2_400)
            }
        }

        func takes(_ event: Int, _ world: RuleWorld, taken: Int) -> Bool {
            let seconds = world.now / .seconds(1)
            return switch self {
            case .thirdAtRandom: !world.chance(of: 0.3)
            case .halfForAMinute: event % 2 == 1 || seconds > 60
            case .twentiethForAMinute: event % 20 != 0 || seconds > 60
            case .aboveThreeASecond: event % 2 == 1 || Double(taken) < 3 * seconds
            }
        }
    }

    @Test("Events that a receiver throttles by name delay no others", arguments: Throttle.allCases, [0.2, 1])
    private func throttledEventsDelayNoOthers(throttle: Throttle, interval: Double) {
        for seed in 0..<Trials.count(full: 10, few: 1) {
            let count = Int(throttle.load.rate * interval)
            let times = throttle.load.count / count
            let world = RuleWorld(0, seed: seed, arrivals: Self.every(interval, count, times: times))
            var taken = 0
            world.receiver = { world, events in
                .each(
                    events.map { event in
                        guard throttle.takes(event, world, taken: taken) else { return .retry() }
                        taken += event % 2 == 0 ? 1 : 0
                        return .accepted
                    })
            }
            world.run(until: .seconds(3_600), isDone: { $0.missing == 0 })
            #expect(world.fault == nil && world.missing == 0 && world.deadLetters.isEmpty)
            let late = world.arrived.filter { throttle == .thirdAtRandom || $0.key % 2 == 1 }.map { event, time in
                time / .seconds(1) - Double(event / count) * interval
            }
            #expect(late.max() ?? 0 < (throttle == .thirdAtRandom ? 30 : 4), "\(throttle): \(late.max() ?? 0)")
        }
    }

    @Test("A transport that gives each event of a failed request a retry delays no good event", arguments: [[], [250]])
    func listsOfRetriesAreFailures(bad: [Int]) {
        for seed in 0..<Trials.count(full: 20, few: 2) {
            let world = RuleWorld(500, bad: bad, seed: seed, arrivals: Self.every(2, 1, from: 30, times: 30))
            world.receiver = { world, events in
                let isOut = world.now < .seconds(20) || events.contains(where: bad.contains)
                return .each(events.map { _ in isOut ? .retry() : .accepted })
            }
            world.run(until: .seconds(3_600), isDone: { $0.missing == 0 })
            #expect(world.fault == nil && world.missing == 0 && world.lastGood < .seconds(120))
        }
    }

    @Test("Events that are throttled again and again become dead letters if they take the store's room")
    func throttledEventsMakeRoom() {
        for (capacity, isCrowded) in [(400_000, true), (.max, false)] {
            let world = RuleWorld(0, seed: 1, arrivals: Self.every(1, 4, times: 150))
            (world.capacity, world.bytes) = (capacity, { _ in 400 })
            world.receiver = { _, events in .each(events.map { $0 % 2 == 0 ? .retry(reason: "hot") : .accepted }) }
            world.run(until: .seconds(150))
            #expect(world.fault == nil && world.deadLetters.isEmpty != isCrowded)
            #expect(
                world.deadLetters.allSatisfy { event, letter in
                    event % 2 == 0 && letter.failure.reason == "the receiver accepts others: hot"
                })
        }
    }

    @Test("Of the times that a receiver names for failures, the longest counts")
    func longestTimeCounts() {
        let holds = [5, 120, 7].map { Verdict.hold(reason: "later", after: .seconds($0)) }
        for list in [holds, [.split(reason: "bad")] + holds, [.retry()] + holds, holds + [.accepted]] {
            #expect(Answer(.each(list), count: list.count).failure?.after == .seconds(120))
        }
        #expect(Answer(.each([.split(reason: "bad"), .retry()]), count: 2).failure?.after == nil)
        let own = [Verdict.accepted, .split(reason: "bad"), .hold(reason: "the disk is full")]
        #expect(Answer(.each(own), count: 3).failure?.after == .zero)
        #expect(Answer(.each(own, status: 200), count: 3).failure?.after == nil)
    }
}
