import SluiceTesting
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The workers of a route and two threads of a host, whose steps between two uses of the lock come in a random order.
@Suite struct InterleavingTests {
    private struct Walk {
        private static let hosts = 2
        /// At one time, nothing takes more steps than this. The longest walk has about 80 events.
        private static let maximumSteps = 4_000

        private var random: SeededRandom
        private var route: SteppedRoute
        /// The number of events that each host thread has stored and not counted.
        private var storedAt: [Int: Duration] = [:]
        private var priorities: [Int: Event.Priority] = [:]
        /// The events that were counted when the flush began, and its end. Nil without one.
        private var flush: (events: Set<Int>, attempts: Int, isOver: Locked<Bool>)?
        /// The events that were counted when the deletion began, and its end.
        private var deletion: (events: Set<Int>, isOver: Locked<Bool>)?
        /// The workers whose attempt has failed, until the route has noted it.
        private var failing: Set<Int> = []
        private var failedAttempts = 0
        private var deferred: Set<Int> = []
        private var wasStuck = false
        private var steps = 0
        private let isRoundRobin: Bool

        init(seed: UInt64, workers: Int) {
            random = SeededRandom(seed: seed)
            isRoundRobin = seed % 2 == 0
            var policy = DeliveryPolicy(
                batch: BatchSize(events: 2, bytes: .max), flushCount: 4, flushInterval: .seconds(60))
            policy.maximumBatchesInFlight = workers
            policy.criticalInterval = .seconds(3)
            route = SteppedRoute(policy)
        }

        var fault: String? { route.fault }

        mutating func run(steps count: Int) {
            for _ in 0..<count where fault == nil {
                let index = Int.random(in: 0..<route.workers.count + 3, using: &random)
                if index < route.workers.count {
                    step(index)
                } else if index == route.workers.count {
                    act()
                } else {
                    stepHost()
                }
            }
            end()
        }

        private func chance(_ one: Int, _ random: inout SeededRandom) -> Bool {
            Int.random(in: 0..<one, using: &random) == 0
        }

        // MARK: Host

        /// A host thread stores an event, or counts the one that it has stored.
        private mutating func stepHost() {
            if route.uncounted.count == Walk.hosts || !route.uncounted.isEmpty && chance(2, &random) {
                route.count()
            } else if storedAt.count < 250 {
                let number = storedAt.count
                let priority = chance(5, &random) ? Event.Priority.critical : .normal
                (storedAt[number], priorities[number]) = (route.now, priority)
                route.append([SteppedRoute.line(number, priority)])
            }
            checkEnds()
        }

        private var countedEvents: Set<Int> {
            Set(storedAt.keys).subtracting(route.uncounted.map(SteppedRoute.number))
        }

        private mutating func act() {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<4 where flush == nil:
                let isOver = Locked(false)
                flush = (countedEvents, failedAttempts, isOver)
                route.flush { _ in isOver.withLock { $0 = true } }
            case 4 where deletion == nil:
                let isOver = Locked(false)
                deletion = (countedEvents, isOver)
                route.delete { _ in isOver.withLock { $0 = true } }
            case 5: if chance(4, &random) { route.lose() }
            case 6 where chance(4, &random):
                route.store.isStuck = true
                wasStuck = true
            case 7..<10: route.store.isStuck = false
            case 10..<20: if route.isAsleep { _ = passTime() }
            default: break
            }
            checkEnds()
        }

        private mutating func passTime() -> Bool {
            steps = 0
            return route.passTime()
        }

        // MARK: Workers

        private mutating func step(_ index: Int) {
            steps += 1
            if steps > Walk.maximumSteps { route.fail("steps without end, and no time passes") }
            var verdicts: Verdicts?
            switch route.workers[index] {
            case .sending(let batch, _): verdicts = answer(batch, of: index)
            case .answered, .usedStore: if failing.contains(index) { failedAttempts += 1 }
            case .free, .holding: failing.remove(index)
            default: break
            }
            route.step(index) { _ in verdicts ?? .all(.accepted) }
            checkEnds()
        }

        /// The receiver accepts most batches, and sometimes rejects one event and defers another one.
        private mutating func answer(_ batch: BatchProgress, of worker: Int) -> Verdicts {
            let numbers = batch.unresolved.map { SteppedRoute.number(batch.events[$0]) }
            for number in numbers where !deferred.contains(number) && !wasStuck {
                let interval = Duration.seconds(priorities[number] == .critical ? 3 : 60)
                // If the receiver defers all events of a part, the route backs off.
                let latest = (storedAt[number] ?? .zero) + interval + .seconds(route.backOffs)
                if route.now > latest { route.fail("an event waits longer than its interval") }
            }
            guard chance(8, &random) else { return .all(.accepted) }
            failing.insert(worker)
            deferred.insert(numbers[0])
            return .each(numbers.indices.map { $0 == 0 ? .retry(after: .seconds(200)) : .rejected(reason: "") })
        }

        // MARK: Ends

        private var gone: Set<Int> { route.resolved.union(route.lost).union(route.deleted) }

        private mutating func checkEnds() {
            if let flush, flush.isOver.withLock(\.self) {
                let isExcused = failedAttempts > flush.attempts || wasStuck
                if !isExcused, !flush.events.subtracting(deferred).isSubset(of: gone) {
                    route.fail("a flush ends before its events are sent")
                }
                self.flush = nil
            }
            if let deletion, deletion.isOver.withLock(\.self) {
                if !wasStuck, !deletion.events.isSubset(of: gone) {
                    route.fail("a deletion ends before its events are gone")
                }
                self.deletion = nil
            }
        }

        /// Everything ends once the host does nothing more.
        private mutating func end() {
            route.store.isStuck = false
            while !route.uncounted.isEmpty { route.count() }
            checkEnds()
            for _ in 0..<1_000 where fault == nil {
                while !route.isAsleep, fault == nil {
                    if isRoundRobin {
                        for worker in route.workers.indices { step(worker) }
                    } else {
                        step(Int.random(in: route.workers.indices, using: &random))
                    }
                }
                if route.state.journal.ledger.waiting == 0, flush == nil, deletion == nil { break }
                if !passTime() { route.fail("something waits, and nothing wakes a worker") }
            }
            if flush != nil { route.fail("a flush never ends") }
            if deletion != nil { route.fail("a deletion never ends") }
            route.checkEnd()
        }
    }

    @Test("any order of steps keeps the rules of delivery", arguments: [1, 2, 3])
    func anyOrderKeepsRules(workers: Int) {
        let walks = Trials.count(full: 200_000, few: 2_000)
        for seed in 0..<UInt64(walks) {
            var walk = Walk(seed: seed, workers: workers)
            walk.run(steps: 120)
            if let fault = walk.fault {
                Issue.record("\(fault) with seed \(seed)")
                return
            }
        }
        Trials.report("\(walks) orders of steps with \(workers) workers")
    }
}
