import SluiceTesting
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// Every sequence of answers up to a depth, and every pair of host steps at every place: no event is lost, sent again
/// after a final verdict, or kept from being offered.
@Suite struct RouteStateEnumerationTests {
    /// A route with batches of these sizes.
    private func route(_ sizes: [Int], workers: Int) -> SteppedRoute {
        var policy = DeliveryPolicy(batch: BatchSize(events: 4, bytes: .max), backOff: .seconds(1))
        policy.maximumBatchesInFlight = workers
        var route = SteppedRoute(policy)
        var number = 1
        for (segment, size) in sizes.enumerated() {
            route.track(SteppedRoute.lines(number...number + size - 1), segment: segment)
            number += size
        }
        route.flush()
        return route
    }

    /// Lets workers take steps until all sleep or have a part to send, and answers the parts. Without one, time passes.
    private func turn(_ route: inout SteppedRoute, _ answer: ReceiverAnswer) {
        func step(_ worker: Int) {
            route.run(worker, answer: { answer.verdicts($0.events.count) }) { $0.isSending || $0.isAsleep }
        }
        for worker in 0..<route.workers { step(worker) }
        let sending = (0..<route.workers).filter { route.threads[$0].isSending }
        if sending.isEmpty, !route.passTime(), route.state.journal.ledger.waiting > 0 {
            route.fail("waits for nothing")
        }
        // The last worker first: parts are answered in another order than they were sent.
        for worker in sending.reversed() {
            route.step(worker) { answer.verdicts($0.events.count) }
            step(worker)
        }
    }

    private func enumerate(_ route: SteppedRoute, _ path: [ReceiverAnswer], depth: Int) -> Int {
        var count = 0
        for answer in ReceiverAnswer.allCases {
            var next = route
            turn(&next, answer)
            count += 1
            if path.count + 1 < depth, next.fault == nil {
                count += enumerate(next, path + [answer], depth: depth)
            } else {
                next.finish()
            }
            if let fault = next.fault { Issue.record("\(fault) after \(path + [answer])") }
        }
        return count
    }

    @Test(
        "no sequence of answers loses, repeats or withholds an event", arguments: [[4], [1, 1, 1], [3, 1, 2]],
        [1, 2, 3])
    func noSequenceLosesEvents(sizes: [Int], workers: Int) {
        let depth = Trials.count(full: 4, few: 2)
        let count = enumerate(route(sizes, workers: workers), [], depth: depth)
        #expect(count > 100)
        Trials.report("batches of \(sizes), \(workers) workers: \(count) sequences up to depth \(depth)")
    }

    @Test("two steps of the host between any steps of the workers keep the rules", arguments: [1, 2, 3])
    func anyTwoHostStepsKeepRules(workers: Int) {
        let places = Trials.count(full: 20, few: 6)
        var count = 0
        for first in HostStep.allCases {
            for answer in [ReceiverAnswer.accepted, .firstRejected, .retryAfter].prefix(Trials.isFull ? 3 : 1) {
                var route = route([2, 1, 2], workers: workers)
                route.append([SteppedRoute.line(6)])
                for place in 0..<places {
                    var next = route
                    first.take(on: &next)
                    for other in place..<places {
                        for second in HostStep.allCases {
                            var last = next
                            second.take(on: &last)
                            last.finish { _, batch, turn in
                                turn == 0 ? answer.verdicts(batch.events.count) : .all(.accepted)
                            }
                            count += 1
                            if let fault = last.fault {
                                Issue.record("\(fault) after \(first) at \(place), \(second) at \(other), \(answer)")
                            }
                        }
                        next.step(other % next.threads.count) { answer.verdicts($0.events.count) }
                    }
                    route.step(place % workers) { answer.verdicts($0.events.count) }
                }
            }
        }
        Trials.report("\(count) pairs of host steps with \(workers) workers")
    }
}
