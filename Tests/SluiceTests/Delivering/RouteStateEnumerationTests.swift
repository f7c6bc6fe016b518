import SluiceTesting
import TestSupport
import Testing

@testable import Sluice

/// Every sequence of answers up to a depth, for stores of some batches and one or two workers: no event is lost, sent again
/// after a final verdict, or kept from being offered.
@Suite struct RouteStateEnumerationTests {
    enum Answer: CaseIterable {
        case accepted, duplicate, retry, retryAfter, hold, refused, tooLarge, rejected, unsendable
        /// Verdicts by event: one for the first event, and another one for the rest.
        case firstAccepted, firstRejected, firstRetry, firstHold, allDeferred
        /// A wrong number of verdicts.
        case wrongCount

        func verdicts(_ count: Int) -> Verdicts {
            func first(_ one: Verdict, _ others: Verdict) -> Verdicts {
                .each((0..<count).map { $0 == 0 ? one : others })
            }
            return switch self {
            case .accepted: .all(.accepted)
            case .duplicate: .all(.duplicate)
            case .retry: .all(.retry(after: nil))
            case .retryAfter: .all(.retry(after: .seconds(60)))
            case .hold: .all(.hold("no"))
            case .refused: .all(.split("bad"))
            case .tooLarge: .all(.tooLarge)
            case .rejected: .all(.rejected("bad"))
            case .unsendable: .all(.unsendable("large"))
            case .firstAccepted: first(.accepted, .rejected("bad"))
            case .firstRejected: first(.rejected("bad"), .accepted)
            case .firstRetry: first(.retry(after: .seconds(5)), .accepted)
            case .firstHold: first(.hold("no"), .split("bad"))
            case .allDeferred: first(.retry(after: nil), .retry(after: .zero))
            case .wrongCount: .each(Array(repeating: .accepted, count: count + 1))
            }
        }
    }

    /// A route with its store, driven by hand.
    struct Walk {
        private struct Sending {
            var batch: BatchProgress
            let size: BatchSize
            let epoch: Int
        }

        private var state: RouteState
        private var now = Duration.zero
        private var store: [Batch]
        private var handedOut: [Batch.ID: Batch] = [:]
        /// The worker's batch; nil while it has none.
        private var workers: [BatchProgress?]
        private var resolved: Set<Int> = []
        private var offered: Set<Int> = []
        private let total: Int

        init(_ sizes: [Int], workers count: Int) {
            var number = 0
            store = sizes.enumerated().map { index, size in
                defer { number += size }
                return Batch(
                    id: UInt64(index + 1),
                    events: (number..<number + size).map { BatchProgressTests.line($0) })
            }
            total = number
            var policy = DeliveryPolicy(batch: BatchSize(events: 4, bytes: .max), backOff: .seconds(1))
            policy.maximumBatchesInFlight = count
            state = RouteState(name: "main", policy: policy, maximumBatchSize: BatchProgressTests.unlimited)
            state.opened()
            state.journal.ledger.received = total
            workers = Array(repeating: nil, count: count)
            state.change { $0.flushRequested() }
        }

        private var backlog: Backlog {
            let events = store.reduce(0) { $0 + $1.events.count } + handedOut.values.reduce(0) { $0 + $1.events.count }
            return Backlog(events: events, bytes: events)
        }

        /// Lets workers take steps until one has an attempt to answer, and answers it.
        ///
        /// - Returns: the broken rule; nil if everything is right.
        mutating func turn(_ answer: Answer) -> String? {
            // The last worker first, so that two workers can have attempts that end in another order than they began.
            var sending: [(worker: Int, Sending)] = []
            for worker in workers.indices {
                if let next = step(worker) { sending.append((worker, next)) }
            }
            if sending.isEmpty {
                guard wait() else {
                    return state.journal.ledger.waiting == 0 ? nil : "waits for nothing with events waiting"
                }
                return nil
            }
            for (worker, attempt) in sending.reversed() {
                if let fault = finish(worker, attempt, answer) { return fault }
            }
            return fault()
        }

        private mutating func step(_ worker: Int) -> Sending? {
            for _ in 0..<10 {
                switch state.nextStep(isHolding: workers[worker] != nil, backlog, appends: 0, at: now) {
                case .send(let size, let epoch):
                    return workers[worker].map { Sending(batch: $0, size: size, epoch: epoch) }
                case .take(let request):
                    guard !store.isEmpty else {
                        state.tookNothing(backlog, request, hasFailed: false, at: now) { 1 << 63 }
                        continue
                    }
                    let batch = store.removeFirst()
                    handedOut[batch.id] = batch
                    _ = state.took(batch)
                    return Sending(batch: BatchProgress(batch), size: request.size, epoch: request.epoch)
                case .resume(let batch, let size, let epoch): return Sending(batch: batch, size: size, epoch: epoch)
                case .wait, .stop, .deleteBatch, .deleteAll: return nil
                }
            }
            return nil
        }

        private mutating func finish(_ worker: Int, _ attempt: Sending, _ answer: Answer) -> String? {
            var batch = attempt.batch
            let part = batch.nextPart(attempt.size)
            let numbers = BatchProgressTests.numbers(part.events)
            if numbers.isEmpty { return "sends nothing" }
            if !resolved.isDisjoint(with: numbers) { return "sends an event again after its final verdict" }
            offered.formUnion(numbers)
            let before = Set(BatchProgressTests.numbers(batch.unresolved + batch.deferred))
            let result = batch.apply(answer.verdicts(numbers.count), toFirst: numbers.count)
            resolved.formUnion(before.subtracting(BatchProgressTests.numbers(batch.unresolved + batch.deferred)))
            guard
                let work = state.record(result, batch, epoch: attempt.epoch, at: now, random: { 1 << 63 })
            else { return "stops unasked" }
            if work.isNeeded {
                if work.mustSettle, handedOut.removeValue(forKey: batch.id) == nil { return "settles twice" }
                state.settled(batch, work)
            }
            workers[worker] = work.mustSettle || work.isDeferred ? nil : batch
            return nil
        }

        /// Passes time until a worker may go on.
        private mutating func wait() -> Bool {
            for worker in workers.indices {
                if case .wait(let until?, _) = state.nextStep(
                    isHolding: workers[worker] != nil, backlog, appends: 0, at: now)
                {
                    now = max(now, until)
                    return true
                }
            }
            return false
        }

        private func fault() -> String? {
            let ledger = state.journal.ledger
            if ledger.delivered + ledger.rejected != resolved.count { return "miscounts: \(ledger)" }
            if ledger.waiting != backlog.events - state.unsettled { return "stored and waiting events differ" }
            return nil
        }

        /// Whether every event is offered and resolved once the receiver accepts everything.
        mutating func endsWell() -> String? {
            for _ in 0..<20 * total where state.journal.ledger.waiting > 0 {
                if let fault = turn(.accepted) { return fault }
            }
            if state.journal.ledger.waiting > 0 { return "an event is never resolved" }
            return offered.count == total && store.isEmpty && handedOut.isEmpty ? nil : "an event is never offered"
        }
    }

    private func enumerate(_ walk: Walk, _ path: [Answer], depth: Int) -> Int {
        var count = 0
        for answer in Answer.allCases {
            var next = walk
            let fault = next.turn(answer)
            count += 1
            if let fault { Issue.record("\(fault) after \(path + [answer])") }
            if path.count + 1 < depth {
                count += enumerate(next, path + [answer], depth: depth)
            } else if let fault = next.endsWell() {
                Issue.record("\(fault) after \(path + [answer]), then acceptance")
            }
        }
        return count
    }

    @Test(
        "no sequence of answers loses, repeats or withholds an event", arguments: [[4], [1, 1, 1], [3, 1, 2]],
        [1, 2, 3])
    func noSequenceLosesEvents(sizes: [Int], workers: Int) {
        let depth = Trials.count(full: 5, few: 3)
        let count = enumerate(Walk(sizes, workers: workers), [], depth: depth)
        #expect(count > 1_000)
        Trials.report("batches of \(sizes), \(workers) workers: \(count) sequences up to depth \(depth)")
    }
}
