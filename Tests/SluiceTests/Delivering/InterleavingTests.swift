import SluiceTesting
import TestSupport
import Testing

@testable import Sluice

/// The workers of a route and two threads of a host, whose steps between two uses of the lock come in a random order.
///
/// Each step reads the store, or changes the state under the lock, as ``RouteRuntime`` does. So a worker can decide with a
/// backlog that it read long before.
@Suite struct InterleavingTests {
    private struct Walk {
        private enum Worker {
            case looking
            case reading(appends: Int)
            case deciding(Backlog, appends: Int)
            case asleep(until: Duration?, inputs: Int)
            case taking(RouteState.Request)
            case findingNothing(Backlog, RouteState.Request)
            case sending(BatchProgress, epoch: Int)
            case settling(BatchProgress, RouteState.StoreWork)
            case settled(BatchProgress, RouteState.StoreWork)
        }

        private enum Flush {
            case none
            case reading(Backlog, stored: Set<Int>)
            case waiting(stored: Set<Int>)
        }

        /// How long an event may wait.
        static func interval(_ number: Int) -> Duration { priority(number) == .critical ? .seconds(3) : .seconds(60) }

        static func priority(_ number: Int) -> Event.Priority { number % 7 == 6 ? .critical : .normal }

        private var random: SeededRandom
        private var state: RouteState
        private var workers: [Worker]
        /// An event that is in the store, and that the route hasn't noted yet.
        private var stored: Int?
        private var flush = Flush.none
        /// Whether the receiver has deferred an event since the flush began.
        private var hasDeferred = false
        /// The events that a worker can take.
        private var store: [Int] = []
        private var handedOut = 0
        private var storedAt: [Int: Duration] = [:]
        private var resolved: Set<Int> = []
        private var now = Duration.zero
        private var lastBatch: UInt64 = 0
        private var continuation: CheckedContinuation<Bool, Never>?
        private var deferred: Set<Int> = []
        private(set) var fault: String?

        init(
            seed: UInt64, workers count: Int, sendsCriticalEventsAlone: Bool,
            _ continuation: CheckedContinuation<Bool, Never>
        ) {
            random = SeededRandom(seed: seed)
            self.continuation = continuation
            var policy = DeliveryPolicy(
                batch: BatchSize(events: 2, bytes: .max), flushCount: 4, flushInterval: Walk.interval(0))
            policy.maximumBatchesInFlight = count
            policy.criticalInterval = Walk.interval(6)
            policy.sendsCriticalEventsAlone = sendsCriticalEventsAlone
            state = RouteState(name: "main", policy: policy, maximumBatchSize: BatchProgressTests.unlimited)
            state.opened()
            workers = Array(repeating: .looking, count: count)
        }

        /// - Returns: the continuation of a flush that has not ended.
        mutating func run(steps: Int) -> CheckedContinuation<Bool, Never>? {
            for _ in 0..<steps where fault == nil {
                switch Int.random(in: 0..<workers.count + 2, using: &random) {
                case workers.count: stepTrack(mayBegin: true)
                case workers.count + 1: stepFlush(mayBegin: storedAt.count > 2)
                case let worker: step(worker)
                }
            }
            // Everything ends once the host tracks no more.
            for _ in 0..<10_000 where fault == nil {
                if resolved.count == storedAt.count, case .none = flush { return continuation }
                stepTrack(mayBegin: false)
                stepFlush(mayBegin: false)
                for worker in workers.indices { step(worker) }
                passTime()
            }
            fault = fault ?? "an event or a flush never ends"
            return continuation
        }

        private var backlog: Backlog {
            Backlog(events: store.count + handedOut, bytes: store.count + handedOut)
        }

        private mutating func stepTrack(mayBegin: Bool) {
            if let number = stored {
                let now = now
                state.appended(Walk.priority(number)) { now }
                stored = nil
            } else if mayBegin {
                let number = storedAt.count
                store.append(number)
                storedAt[number] = now
                stored = number
            }
            endWaits()
        }

        private mutating func stepFlush(mayBegin: Bool) {
            switch flush {
            case .none where mayBegin && continuation != nil:
                // The caller's own events, which it has tracked before.
                flush = .reading(backlog, stored: Set(storedAt.keys).subtracting(stored.map { [$0] } ?? []))
            case .reading(let backlog, let stored):
                guard let continuation else { return }
                (flush, hasDeferred) = (.waiting(stored: stored), false)
                state.wait(
                    for: .init(event: .flushed(upTo: state.flushTarget(backlog)), continuation: continuation))
                state.change { $0.flushRequested() }
            case .none, .waiting: break
            }
            endWaits()
        }

        private mutating func step(_ index: Int) {
            switch workers[index] {
            case .looking: workers[index] = .reading(appends: state.appends)
            case .reading(let appends): workers[index] = .deciding(backlog, appends: appends)
            case .deciding(let backlog, let appends):
                switch state.nextStep(isHolding: false, backlog, appends: appends, at: now) {
                case .wait(let until, let inputs): workers[index] = .asleep(until: until, inputs: inputs)
                case .take(let request): workers[index] = .taking(request)
                case .resume(let batch, _, let epoch):
                    for case .settling(let other, _) in workers where other.id == batch.id {
                        fault = "a batch is resumed before the store has its rejected events"
                    }
                    workers[index] = .sending(batch, epoch: epoch)
                case .send, .deleteBatch, .deleteAll, .stop: fault = "an unexpected step"
                }
            case .asleep(let until, let inputs):
                if inputs != state.inputs || until.map({ $0 <= now }) ?? false {
                    workers[index] = .looking
                }
            case .taking(let request):
                let highest = store.map(Walk.priority).max() ?? .normal
                let numbers = store.filter { Walk.priority($0) == highest }.prefix(request.size.events)
                guard !numbers.isEmpty, highest >= request.priority else {
                    workers[index] = .findingNothing(backlog, request)
                    return
                }
                store.removeAll(where: numbers.contains)
                handedOut += numbers.count
                lastBatch += 1
                let batch = Batch(
                    id: lastBatch,
                    events: numbers.map {
                        EventLine(bytes: BatchProgressTests.line($0).bytes, priority: highest)
                    })
                _ = state.took(batch)
                workers[index] = .sending(BatchProgress(batch), epoch: request.epoch)
            case .findingNothing(let backlog, let request):
                state.tookNothing(backlog, request, hasFailed: false, at: now) { 0 }
                workers[index] = .looking
            case .sending(let batch, let epoch): send(batch, epoch, index)
            case .settling(let batch, let work):
                if work.mustSettle { handedOut -= batch.count }
                workers[index] = work.mustSettle ? .settled(batch, work) : .looking
                if !work.mustSettle { state.settled(batch, work) }
            case .settled(let batch, let work):
                state.settled(batch, work)
                workers[index] = .looking
            }
            endWaits()
        }

        /// The receiver accepts most batches, and sometimes rejects one event and defers another one.
        private mutating func send(_ sent: BatchProgress, _ epoch: Int, _ index: Int) {
            var batch = sent
            let numbers = BatchProgressTests.numbers(batch.unresolved)
            let accepts = numbers.count < 2 || Int.random(in: 0..<8, using: &random) > 0
            // If the receiver defers all events of a part, the route backs off.
            let backOff = deferred.isEmpty ? Duration.zero : .seconds(1)
            for number in accepts ? numbers : Array(numbers.dropFirst()) {
                guard resolved.insert(number).inserted else { return fault = "an event is sent twice" }
                guard let time = storedAt[number],
                    now - time <= Walk.interval(number) + backOff || deferred.contains(number)
                else {
                    return fault = "an event waits longer than its interval"
                }
            }
            if !accepts {
                deferred.insert(numbers[0])
                hasDeferred = true
            }
            let verdicts = Verdicts.each(
                numbers.map {
                    $0 == numbers[0] && !accepts ? .retry(after: .seconds(200)) : accepts ? .accepted : .rejected("")
                })
            let result = batch.apply(verdicts, toFirst: numbers.count)
            guard let work = state.record(result, batch, epoch: epoch, at: now, random: { 0 }) else {
                return fault = "stops"
            }
            workers[index] = work.isNeeded ? .settling(batch, work) : .looking
        }

        private mutating func endWaits() {
            for (waiter, value) in state.takeActions().waiters {
                waiter.continuation.resume(returning: value)
                guard case .flushed = waiter.event, case .waiting(let stored) = flush else { continue }
                (flush, continuation) = (.none, nil)
                if !hasDeferred, !stored.subtracting(deferred).isSubset(of: resolved) {
                    fault = "a flush ends before its events are sent"
                }
            }
        }

        /// Passes time if every worker sleeps.
        private mutating func passTime() {
            var next: Duration?
            for worker in workers {
                guard case .asleep(let until, let inputs) = worker, inputs == state.inputs else { return }
                next = [next, until].compactMap(\.self).min()
            }
            if let next { now = max(now, next) }
        }
    }

    @Test(
        "in any order of steps, no event waits longer than its interval, and no flush ends early",
        arguments: [1, 2, 3], [false, true])
    func anyOrderKeepsIntervalsAndFlushes(workers: Int, sendsCriticalEventsAlone: Bool) async {
        let walks = Trials.count(full: 100_000, few: 3_000)
        for seed in 0..<UInt64(walks) {
            var fault: String?
            _ = await withCheckedContinuation { continuation in
                var walk = Walk(
                    seed: seed, workers: workers, sendsCriticalEventsAlone: sendsCriticalEventsAlone, continuation)
                walk.run(steps: 60)?.resume(returning: false)
                fault = walk.fault
            }
            if let fault {
                Issue.record("\(fault) with seed \(seed)")
                return
            }
        }
        Trials.report("\(walks) orders of steps with \(workers) workers")
    }
}
