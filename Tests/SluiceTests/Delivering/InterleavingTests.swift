import SluiceTesting
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The workers of a route and the threads of a host, whose steps between two uses of the lock come in a random order.
@Suite struct InterleavingTests {
    private struct Walk {
        private var random: SeededRandom
        private(set) var route: SteppedRoute
        private let intervals: [Event.Priority: Duration] = [.normal: .seconds(60), .critical: .seconds(3)]
        private var storedAt: [Int: Duration] = [:]
        private var isLate = false
        /// One in so many answers is any other one than an acceptance.
        private let mood: Int
        /// The receiver refuses requests with these events, or asks for them later.
        private var bad: Set<Int> = []
        private let isPatient: Bool
        /// Whether time passes while threads take steps.
        private let hasSlowThreads: Bool

        init(seed: UInt64, workers: Int) {
            random = SeededRandom(seed: seed)
            hasSlowThreads = random.next() % 2 == 0
            isPatient = random.next() % 2 == 0
            mood = [2, 8, 1_000][Int(random.next() % 3)]
            for _ in 0..<(random.next() % 3 == 0 ? 6 : 0) { bad.insert(Int(random.next() % 40)) }
            var policy = DeliveryPolicy(
                batch: BatchSize(events: 2, bytes: .max), flushCount: 4, flushInterval: .seconds(60))
            policy.maximumBatchesInFlight = workers
            let unread = random.next() % 4 == 0 ? SteppedRoute.lines(251...253) : []
            route = SteppedRoute(policy, seed: seed, unread: unread)
            guard seed % 8 == 0 else { return }
            // More batches than the route keeps open have events that are set aside.
            bad = Set(stride(from: 0, to: 60, by: 2))
            for number in 0..<60 { storedAt[number] = .zero }
            route.track(SteppedRoute.lines(0...59))
        }

        mutating func run(steps count: Int) {
            for _ in 0..<count where route.fault == nil {
                let index = Int.random(in: 0..<route.threads.count + 3, using: &random)
                if index < route.threads.count {
                    step(index)
                } else if index == route.threads.count {
                    act()
                } else {
                    track()
                }
            }
            var route = route
            // Without a witness, a refused event waits as long as the receiver refuses it.
            route.finish { $2 < 50 ? answer($1, in: $0) : .all(.accepted) }
            self.route = route
            if isLate { self.route.fail("an event waits longer than its interval") }
        }

        private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

        /// A host thread stores an event, or counts the one that it has stored.
        private mutating func track() {
            if route.uncounted.count == 2 || !route.uncounted.isEmpty && chance(2) {
                route.count()
            } else if storedAt.count < 250, !route.state.isStopped {
                let number = storedAt.count
                storedAt[number] = route.now
                route.append([SteppedRoute.line(number, chance(5) ? .critical : .normal)])
            }
        }

        private mutating func act() {
            let ends: Set<HostStep> = [.shutDown, .shutDownNow, .close]
            guard
                let action = chance(2)
                    ? HostStep.allCases.randomElement(using: &random) : chance(2) ? .passTime : .flush,
                !ends.contains(action) || chance(4), action != .passTime || hasSlowThreads || route.isAsleep
            else { return }
            action.take(on: &route)
            if chance(2), route.isHeldBack { HostStep.free.take(on: &route) }
        }

        private mutating func step(_ index: Int) {
            var verdicts = Verdicts.all(.accepted)
            if case .doing(.send(let part)) = route.threads[index] { verdicts = answer(part.batch, in: route) }
            route.step(index) { _ in verdicts }
        }

        private mutating func answer(_ batch: Batch, in route: SteppedRoute) -> Verdicts {
            let numbers = batch.events.map(SteppedRoute.number)
            for (number, line) in zip(numbers, batch.events) where !hasSlowThreads && route.interruptions == 0 {
                let latest = (storedAt[number] ?? .zero) + (intervals[line.priority] ?? .zero)
                if route.now > latest { isLate = true }
            }
            if chance(mood), let answer = ReceiverAnswer.allCases.randomElement(using: &random) {
                return answer.verdicts(numbers.count)
            }
            if bad.isDisjoint(with: numbers) { return .all(.accepted) }
            if !isPatient { return .all(.split(reason: "bad"), status: 400) }
            return .each(numbers.map { bad.contains($0) ? .retry(after: .seconds(200)) : .accepted })
        }
    }
    @Test("any order of steps keeps the rules of delivery", arguments: [1, 2, 3])
    func anyOrderKeepsRules(workers: Int) {
        let walks = Trials.count(full: 20_000, few: 500)
        var (compared, parallel) = (0, 0)
        for seed in 0..<UInt64(walks) {
            var walk = Walk(seed: seed, workers: workers)
            walk.run(steps: 200)
            compared += walk.route.compared
            parallel += walk.route.parallel
            if let fault = walk.route.fault {
                Issue.record("\(fault) with seed \(seed)")
                return
            }
        }
        #expect(compared > 0 && (parallel > 0) == (workers > 1))
        Trials.report("\(walks) orders of steps with \(workers) workers, \(compared) comparisons")
    }
}
