import SluiceTesting
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// Orders of steps of two workers and a host that had a wrong result once. ``InterleavingTests`` looks for more.
@Suite struct RouteStateRaceTests {
    /// A route with two workers.
    private func route(batch: Int = 100) -> SteppedRoute {
        var policy = DeliveryPolicy(
            batch: BatchSize(events: batch, bytes: .max), flushCount: 100, flushInterval: .seconds(60))
        policy.maximumBatchesInFlight = 2
        return SteppedRoute(policy)
    }

    private func lines(_ numbers: ClosedRange<Int>, _ priority: Event.Priority = .normal) -> [EventLine] {
        numbers.map { SteppedRoute.line($0, priority) }
    }

    /// A flush that notes its end.
    private func flush(_ route: inout SteppedRoute) -> Locked<Bool> {
        let isOver = Locked(false)
        route.flush { _ in isOver.withLock { $0 = true } }
        return isOver
    }

    @Test("a worker that found nothing before an event was stored ends neither its interval nor its pass")
    func lateNothingEndsNoPass() {
        var route = route(batch: 2)
        _ = flush(&route)
        route.run(0, until: \.isTakingNothing)
        // The store has returned nothing, and the worker hasn't noted that yet.
        route.track(lines(1...3))
        let isOver = flush(&route)
        for worker in [1, 0, 1, 0] {
            for _ in 0..<20 { route.step(worker) }
        }
        #expect(route.resolved == [1, 2, 3])
        #expect(isOver.withLock { $0 })
        #expect(route.fault == nil)
    }

    @Test("an event that is stored while a worker finds nothing is sent beside a deferred batch")
    func lateEventIsNotHidden() {
        var route = route()
        route.track(lines(1...2))
        _ = flush(&route)
        route.run(0, until: \.isSending)
        route.run(1, until: \.isTakingNothing)
        route.track(lines(3...3))
        route.step(1)
        let deferral = Verdicts.each([.retry(after: .seconds(600)), .accepted])
        route.run(0, answer: { _ in deferral }, until: \.isFree)
        _ = flush(&route)
        route.run(1, until: \.isSending)
        #expect(route.workers[1].batch?.count == 1)
        #expect(route.fault == nil)
    }

    @Test("a flush sends its events behind many critical ones that aren't counted yet")
    func flushSendsEventsBehindUncountedOnes() {
        var route = route(batch: 10)
        route.track(lines(1...25))
        route.append(lines(101...130, .critical))
        let isOver = flush(&route)
        for _ in 0..<100 { for worker in 0...1 { route.step(worker) } }
        #expect(isOver.withLock { $0 })
        #expect(route.resolved.isSuperset(of: 1...25))
        route.count(30)
        #expect(route.fault == nil)
    }

    @Test("a flush waits for its own events, not for as many of others")
    func flushWaitsForItsOwnEvents() {
        var route = route(batch: 1)
        route.track(lines(1...1))
        _ = flush(&route)
        route.run(0, until: \.isSending)
        let isOver = flush(&route)
        // Events of other callers are stored, taken and accepted.
        for number in 2...5 {
            route.track(lines(number...number))
            _ = flush(&route)
            route.run(1, until: \.isSending)
            route.run(1, until: \.isFree)
        }
        #expect(!isOver.withLock { $0 })
        route.run(0, until: \.isFree)
        #expect(isOver.withLock { $0 })
        #expect(route.fault == nil)
    }

    @Test("a flush during the removal of a batch covers the events behind it")
    func flushDuringSettleCoversRest() {
        var route = route(batch: 50)
        route.track(lines(1...50))
        route.run(0, until: \.isAsleep)
        _ = flush(&route)
        route.run(0, until: \.isUsingStore)
        route.step(0)
        // The store has removed the batch, and the route hasn't noted that yet.
        route.track(lines(51...80))
        #expect(route.state.flushTarget >= 80)
        route.step(0)
        #expect(route.state.flushTarget >= 80)
        #expect(route.fault == nil)
    }

    @Test("an event beside a deferred batch has an interval of its own")
    func eventBesideDeferredBatchHasInterval() {
        var route = route()
        route.append(lines(1...2))
        _ = flush(&route)
        // The events are taken before the route counts them.
        route.run(0, until: \.isSending)
        route.count(2)
        let deferral = Verdicts.each([.retry(after: .seconds(3_600)), .accepted])
        route.run(0, answer: { _ in deferral }, until: \.isFree)
        for _ in 0..<10 { for worker in 0...1 { route.step(worker) } }
        #expect(route.state.waiters.alarm.map { $0 >= .seconds(3_600) } == true)
        route.passTime(until: .seconds(1))
        route.track(lines(3...3))
        for _ in 0..<10 { for worker in 0...1 { route.step(worker) } }
        #expect(route.state.waiters.alarm == .seconds(61))
        #expect(route.fault == nil)
    }

    @Test("counted events don't hide unread segments")
    func countedEventsHideNoUnreadSegments() {
        var route = route()
        route.change { $0.reported { $0.ledger.unreadBytes = 1 } }
        route.track(lines(1...1))
        _ = flush(&route)
        route.run(0, until: \.isTaking)
        #expect(route.state.flushTarget >= Passes.unknown)
        #expect(route.fault == nil)
    }

    @Test("events that are put back are all in the pass, although the route counts them later")
    func replayedEventsAreInThePass() {
        var route = route()
        for line in lines(1...150) { route.store.append(line) }
        route.change { state in
            state.journal.replayed(150)
            state.change { $0.flushRequested() }
        }
        route.run(0, until: \.isSending)
        route.run(1, until: \.isSending)
        #expect(route.workers[0].batch?.count == 100)
        #expect(route.workers[1].batch?.count == 50)
        #expect(route.fault == nil)
    }

    @Test("unread segments don't use up the pass of the events that were counted")
    func unreadSegmentsUseUpNoPass() {
        var route = route()
        route.change { $0.reported { $0.ledger.unreadBytes = 1 } }
        for line in lines(1...100) { route.store.append(line) }
        // The store reads its segment when a worker asks.
        route.run(0, until: \.isTaking)
        route.track(lines(101...200))
        route.change {
            $0.reported { $0.recovered(100) }
            $0.reported { $0.ledger.unreadBytes = 0 }
        }
        route.run(0, until: \.isSending)
        // One of the counted events was evicted, so the rest is no full batch.
        _ = route.store.loseOldest()
        route.change { $0.reported { $0.lost(1, .evicted) } }
        route.run(0, until: \.isFree)
        route.run(0, until: \.isTaking)
        #expect(route.fault == nil)
    }

    @Test("failed reads hide no event")
    func failedReadsHideNothing() {
        var route = route()
        route.track(lines(1...3))
        _ = flush(&route)
        route.run(0, until: \.isTaking)
        guard case .taking(let permit) = route.workers[0] else {
            Issue.record("nothing is taken")
            return
        }
        route.change { state in _ = state.foundNothing(permit, hasFailed: true, at: .zero) { 0 } }
        route.passTime(until: .seconds(600))
        route.run(1, until: \.isSending)
        #expect(route.workers[1].batch?.count == 3)
        #expect(route.fault == nil)
    }

    @Test("a worker that finds nothing before an event is stored doesn't back off")
    func lateEventCausesNoBackOff() {
        var route = route()
        _ = flush(&route)
        route.run(0, until: \.isTakingNothing)
        route.track(lines(1...1))
        route.step(0)
        #expect(route.state.schedule.phase == .ready)
        _ = flush(&route)
        route.run(0, until: \.isSending)
        #expect(route.fault == nil)
    }

    @Test("a batch that is removed while a worker compares the counts doesn't count as vanished")
    func removalDuringComparisonLosesNothing() {
        var route = route(batch: 2)
        route.track(lines(1...4))
        _ = flush(&route)
        route.run(0, until: \.isSending)
        route.store.isStuck = true
        route.run(1, until: \.isReadingBacklog)
        // The other worker's batch is accepted, and the store removes it. The route hasn't noted that yet.
        route.run(0, until: \.isUsingStore)
        route.step(0)
        route.run(1, until: \.isFree)
        #expect(route.state.journal.ledger.dropped.isEmpty)
        route.step(0)
        #expect(route.state.journal.ledger.waiting == 2)
        #expect(route.fault == nil)
    }

    @Test("workers that find nothing take turns: a loss is noticed without more time or inputs")
    func workersThatFindNothingTakeTurns() {
        var route = route(batch: 2)
        route.track(lines(1...4))
        _ = flush(&route)
        route.lose()
        route.lose()
        route.lose()
        route.lose()
        for _ in 0..<50 { for worker in 0...1 { route.step(worker) } }
        #expect(route.isAsleep)
        #expect(route.state.journal.ledger.dropped == [.vanished: 4])
        #expect(route.fault == nil)
    }

    @Test("a normal event that a critical one overtakes before it is counted keeps its interval")
    func overtakenEventKeepsInterval() {
        var policy = DeliveryPolicy(
            batch: BatchSize(events: 1, bytes: .max), flushCount: 100, flushInterval: .seconds(60))
        policy.criticalInterval = .seconds(3)
        var route = SteppedRoute(policy)
        route.track(lines(1...2))
        route.run(0, until: \.isAsleep)
        route.passTime(until: .seconds(60))
        route.run(0, until: \.isTaking)
        route.append(lines(3...3, .critical))
        for _ in 0..<30 { route.step(0) }
        route.count()
        for _ in 0..<30 { route.step(0) }
        #expect(route.resolved == [1, 2, 3])
        #expect(route.fault == nil)
    }

    @Test("a shutdown that can't retry in time waits for the requests of other workers", arguments: [false, true])
    func shutdownWaitsForOtherRequests(isPaused: Bool) {
        var route = route(batch: 1)
        route.track(lines(1...2))
        _ = flush(&route)
        route.run(0, until: \.isSending)
        route.run(1, until: \.isSending)
        route.change { state in
            state.change {
                $0.setPaused(isPaused)
                $0.stopRequested(deadline: .seconds(5))
            }
        }
        route.run(0, answer: { _ in .all(.retry(after: .seconds(60))) }, until: \.isAsleep)
        route.passTime(until: .seconds(5))
        route.change { $0.waiters.changed() }
        route.run(0, until: \.isStopped)
        #expect(route.fault == nil)
    }

    @Test("a deferred batch isn't resumed before the store has its rejected events")
    func deferredBatchIsResumedAfterSettle() {
        var route = route()
        route.track(lines(1...2))
        _ = flush(&route)
        route.run(0, until: \.isSending)
        let deferral = Verdicts.each([.rejected(reason: ""), .retry(after: nil)])
        route.run(0, answer: { _ in deferral }, until: \.isUsingStore)
        _ = flush(&route)
        route.passTime(until: .seconds(600))
        route.run(1, until: \.isAsleep)
        route.run(0, until: \.isFree)
        route.passTime(until: .seconds(1_200))
        route.run(1, until: \.isSending)
        #expect(route.workers[1].batch?.waiting == 1)
        #expect(route.fault == nil)
    }
}
