import SluiceTesting
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceDelivery

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
            case .hold: .all(.hold(reason: "no"))
            case .refused: .all(.split(reason: "bad"))
            case .tooLarge: .all(.tooLarge())
            case .rejected: .all(.rejected(reason: "bad"))
            case .unsendable: .all(.unsendable(reason: "large"))
            case .firstAccepted: first(.accepted, .rejected(reason: "bad"))
            case .firstRejected: first(.rejected(reason: "bad"), .accepted)
            case .firstRetry: first(.retry(after: .seconds(5)), .accepted)
            case .firstHold: first(.hold(reason: "no"), .split(reason: "bad"))
            case .allDeferred: first(.retry(after: nil), .retry(after: .zero))
            case .wrongCount: .each(Array(repeating: .accepted, count: count + 1))
            }
        }
    }

    /// A route whose workers take turns: each turn ends with an attempt of every worker that can send.
    struct Walk {
        private var route: SteppedRoute
        private let total: Int

        init(_ sizes: [Int], workers: Int) {
            var policy = DeliveryPolicy(batch: BatchSize(events: 4, bytes: .max), backOff: .seconds(1))
            policy.maximumBatchesInFlight = workers
            route = SteppedRoute(policy, random: 1 << 63)
            total = sizes.reduce(0, +)
            var number = 0
            for (segment, size) in sizes.enumerated() {
                route.track((number..<number + size).map { SteppedRoute.line($0) }, segment: segment)
                number += size
            }
            route.flush()
        }

        var fault: String? { route.fault }

        /// Lets workers take steps until all sleep or have an attempt to answer, and answers the attempts. Without one, time
        /// passes.
        mutating func turn(_ answer: Answer) {
            for worker in route.workers.indices { step(worker, answer) }
            let sending = route.workers.indices.filter { isSending($0) }
            if sending.isEmpty {
                if !route.passTime(), route.state.journal.ledger.waiting > 0 { route.fail("waits for nothing") }
                return
            }
            // The last worker first: attempts end in another order than they began.
            for worker in sending.reversed() {
                route.step(worker) { answer.verdicts($0.events.count) }
                step(worker, answer)
            }
        }

        private func isSending(_ worker: Int) -> Bool {
            if case .sending = route.workers[worker] { true } else { false }
        }

        /// Lets a worker take steps until it sleeps or sends.
        private mutating func step(_ worker: Int, _ answer: Answer) {
            for _ in 0..<50 {
                switch route.workers[worker] {
                case .sending, .asleep: return
                case .stopped: return route.fail("stops unasked")
                default: route.step(worker)
                }
            }
            route.fail("steps without end")
        }

        /// Checks that every event is resolved once the receiver accepts everything.
        mutating func end() {
            for _ in 0..<20 * total where route.state.journal.ledger.waiting > 0 && fault == nil { turn(.accepted) }
            route.checkEnd()
        }
    }

    private func enumerate(_ walk: Walk, _ path: [Answer], depth: Int) -> Int {
        var count = 0
        for answer in Answer.allCases {
            var next = walk
            next.turn(answer)
            count += 1
            if path.count + 1 < depth, next.fault == nil {
                count += enumerate(next, path + [answer], depth: depth)
            } else {
                next.end()
            }
            if let fault = next.fault { Issue.record("\(fault) after \(path + [answer])") }
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
