import SluiceTesting
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// Orders of steps of workers and a host that had a wrong result once. ``InterleavingTests`` looks for more.
@Suite struct RouteStateRaceTests {
    private func route(batch: Int = 100) -> SteppedRoute {
        var policy = DeliveryPolicy(
            batch: BatchSize(events: batch, bytes: .max), flushCount: 100, flushInterval: .seconds(60))
        policy.maximumBatchesInFlight = 2
        return SteppedRoute(policy)
    }

    private func lines(_ numbers: ClosedRange<Int>) -> [EventLine] { SteppedRoute.lines(numbers) }

    /// Lets the threads take steps in turn.
    private func turns(_ route: inout SteppedRoute, _ count: Int = 30) {
        for _ in 0..<count { for thread in route.threads.indices { route.step(thread) } }
    }

    @Test("a worker that found nothing before an event was stored ends neither its interval nor its pass")
    func lateNothingEndsNoPass() {
        var route = route(batch: 2)
        route.flush()
        route.run(0, until: \.isTakingNothing)
        // The store has returned nothing, and the worker hasn't noted that yet.
        route.track(lines(1...3))
        let flush = route.flush()
        for worker in [1, 0, 1, 0] { for _ in 0..<20 { route.step(worker) } }
        #expect(route.reports[flush]?.delivered == 3)
        #expect(route.state.rule.pauseEnd(at: route.now) == nil)
        #expect(route.fault == nil)
    }

    @Test("the status tells when an event that waits alone is sent once more", arguments: [1, 2, 5])
    func statusOfLoneEvent(failures: Int) throws {
        var route = route()
        route.track(lines(1...1))
        route.flush()
        var sent = 0
        for _ in 0..<1_000 where sent < failures {
            for thread in route.threads.indices {
                route.step(thread) { _ in
                    sent += 1
                    return .all(.retry(reason: "busy"), status: 503)
                }
            }
            if sent < failures, let next = route.state.nextAttempt { route.passTime(until: next) }
        }
        turns(&route)
        let next = try #require(route.store.status.nextAttempt)
        #expect(route.store.status.state == .pausing && next > route.now && next == route.state.waiters.alarm)
        #expect(route.fault == nil)
    }

    @Test("an event that is stored while a worker finds nothing is sent beside one that is set aside")
    func lateEventIsNotHidden() {
        var route = route()
        route.track(lines(1...2))
        route.flush()
        route.run(0, until: \.isSending)
        route.run(1, until: \.isTakingNothing)
        route.track(lines(3...3))
        route.step(1)
        route.step(0) { _ in .each([.retry(after: .seconds(600)), .accepted]) }
        route.run(0) { !$0.isSettling }
        route.flush()
        turns(&route)
        #expect(route.fates == [2: .delivered, 3: .delivered])
        #expect(route.fault == nil)
    }

    @Test("events that the store finds are all in the pass, although the route counts them later")
    func foundEventsAreInThePass() {
        var route = route()
        for line in lines(1...150) { route.store.append(line) }
        route.recover(lines(1...150))
        route.flush()
        route.run(0, until: \.isSending)
        route.run(1, until: \.isSending)
        #expect(route.threads[0].part?.places.count == 100)
        #expect(route.threads[1].part?.places.count == 50)
        #expect(route.fault == nil)
    }

    @Test("a shutdown that can't retry in time waits for the requests of other workers", arguments: [false, true])
    func shutdownWaitsForOtherRequests(isPaused: Bool) {
        var route = route(batch: 1)
        route.track(lines(1...2))
        route.flush()
        route.run(0, until: \.isSending)
        route.run(1, until: \.isSending)
        if isPaused { HostStep.pause.take(on: &route) }
        route.shutDown(deadline: .seconds(5))
        route.step(2)
        route.step(0) { _ in .all(.retry(after: .seconds(60))) }
        route.run(0, until: \.isAsleep)
        #expect(!route.state.isStopped)
        route.step(1)
        turns(&route)
        #expect(route.state.isStopped && route.now == .zero)
        #expect(route.fates == [2: .delivered])
        #expect(route.fault == nil)
    }

    @Test("events that were deleted before they were sent don't hide later ones")
    func deletedEventsHideNothing() {
        var route = route()
        route.track(lines(1...9))
        route.delete()
        turns(&route)
        route.track(lines(10...10))
        let flush = route.flush()
        turns(&route)
        #expect(route.reports[flush]?.delivered == 1)
        #expect(route.fault == nil)
    }

    @Test("while the store is told of an answer, no other worker asks it in a loop for events that it may not have")
    func unsettledEventsAreAwaited() throws {
        let policy = DeliveryPolicy(batch: BatchSize(events: 2, bytes: .max), maximumBatchesInFlight: 2)
        var state = RouteState(name: "main", policy: policy, maximumBatchSize: .unlimited)
        state.opened(Backlog(events: 4, bytes: 400))
        func next() -> Step { state.next(at: .zero, random: { .max }) }
        guard case .take(let size) = next() else { return #expect(Bool(false)) }
        state.took(Batch(id: 1, events: lines(1...2)), size)
        guard case .send(let part) = next() else { return #expect(Bool(false)) }
        let answer = state.answered(part, .all(.accepted), at: .zero, random: { .max })
        let settlement = try #require(answer)
        guard case .wait(let inputs) = next() else { return #expect(Bool(false)) }
        state.finish(settlement)
        #expect(state.waiters.inputs > inputs)
        guard case .take = next() else { return #expect(Bool(false)) }
    }
}
