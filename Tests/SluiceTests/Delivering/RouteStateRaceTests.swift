import SluiceTesting
import Testing

@testable import Sluice

/// Orders of steps of two workers and a host that had a wrong result once. ``InterleavingTests`` looks for more.
@Suite struct RouteStateRaceTests {
    private func state(interval: Duration = .seconds(60)) -> RouteState {
        var policy = DeliveryPolicy.standard
        (policy.maximumBatchesInFlight, policy.flushInterval) = (2, interval)
        var state = RouteState(name: "main", policy: policy, maximumBatchSize: BatchProgressTests.unlimited)
        state.opened()
        return state
    }

    private func backlog(_ events: Int) -> Backlog { Backlog(events: events, bytes: events) }

    /// A worker takes events 1 to `count`.
    private func take(_ count: Int, _ state: inout RouteState, id: UInt64 = 1) throws -> (BatchProgress, epoch: Int) {
        let step = state.nextStep(isHolding: false, backlog(count), appends: 0, at: .zero)
        guard case .take(let request) = step else {
            throw SluiceError(.invalidArgument, "nothing is taken: \(step)")
        }
        let batch = Batch(id: id, events: (1...count).map { BatchProgressTests.line($0) })
        _ = state.took(batch)
        return (BatchProgress(batch), request.epoch)
    }

    private func send(
        _ taken: (BatchProgress, epoch: Int), _ verdicts: Verdicts, _ state: inout RouteState
    ) throws -> (BatchProgress, RouteState.StoreWork) {
        var progress = taken.0
        let result = progress.apply(verdicts, toFirst: progress.count)
        let work = state.record(result, progress, epoch: taken.epoch, at: .zero) { 0 }
        return (progress, try #require(work))
    }

    @Test("a worker that read the backlog before an event was stored ends neither its interval nor a flush")
    func staleBacklogEndsNothing() async {
        var state = state()
        let before = Backlog(events: 0, bytes: 0)
        state.appended(.normal) { .zero }

        // The worker has read the backlog before the event.
        guard case .wait(.seconds(60)?, _) = state.nextStep(isHolding: false, before, appends: 0, at: .zero) else {
            Issue.record("the event's interval doesn't begin")
            return
        }
        state.change { $0.flushRequested() }
        guard case .take = state.nextStep(isHolding: false, before, appends: 0, at: .seconds(59)) else {
            Issue.record("the flush is lost")
            return
        }
    }

    @Test("an event that is stored while a worker finds nothing is sent beside a deferred batch")
    func eventStoredMeanwhileIsNotHidden() {
        var state = state()
        state.change { $0.flushRequested() }
        let backlog = Backlog(events: 2, bytes: 2)
        guard case .take(let first) = state.nextStep(isHolding: false, backlog, appends: 0, at: .zero),
            case .take(let second) = state.nextStep(isHolding: false, backlog, appends: 0, at: .zero)
        else {
            Issue.record("nothing is taken")
            return
        }
        let batch = Batch(id: 1, events: [BatchProgressTests.line(1), BatchProgressTests.line(2)])
        _ = state.took(batch)
        // The second worker finds nothing, and then an event is stored.
        state.appended(.normal) { .zero }
        state.tookNothing(Backlog(events: 3, bytes: 3), second, hasFailed: false, at: .zero) { 0 }
        var progress = BatchProgress(batch)
        let result = progress.apply(.each([.retry(after: .seconds(600)), .accepted]), toFirst: 2)
        _ = state.record(result, progress, epoch: first.epoch, at: .zero) { 0 }
        state.change { $0.flushRequested() }
        guard case .take = state.nextStep(isHolding: false, Backlog(events: 3, bytes: 3), appends: 1, at: .zero) else {
            Issue.record("the event isn't sent")
            return
        }
    }

    @Test("a flush waits for its own events, not for as many of others")
    func flushWaitsForItsOwnEvents() async throws {
        var state = state()
        state.change { $0.flushRequested() }
        let slow = try take(1, &state)
        let ended: [Bool] = try await endedFlushes(of: &state, target: state.flushTarget(backlog(1))) { state in
            // Another caller's event is stored, taken and accepted meanwhile.
            state.change { $0.flushRequested() }
            guard case .take(let request) = state.nextStep(isHolding: false, backlog(2), appends: 0, at: .zero)
            else { throw SluiceError(.invalidArgument, "nothing is taken") }
            let batch = Batch(id: 2, events: [BatchProgressTests.line(2)])
            _ = state.took(batch)
            let (other, work) = try send((BatchProgress(batch), request.epoch), .all(.accepted), &state)
            state.settled(other, work)
            let early = state.takeActions().waiters.filter { $0.0.event != .changed }
            for (waiter, value) in early { waiter.continuation.resume(returning: value) }
            let (own, ownWork) = try send(slow, .all(.accepted), &state)
            state.settled(own, ownWork)
            let late = state.takeActions().waiters.filter { $0.0.event != .changed }
            for (waiter, value) in late { waiter.continuation.resume(returning: value) }
            return [early.isEmpty, late.count == 1]
        }
        #expect(ended == [true, true])
    }

    /// Adds a flush to the state, and runs `body`, which must end it.
    private func endedFlushes(
        of state: inout RouteState, target: Int, _ body: (inout RouteState) throws -> [Bool]
    ) async throws -> [Bool] {
        var result: Result<[Bool], any Error> = .success([])
        _ = await withCheckedContinuation { continuation in
            state.wait(for: .init(event: .flushed(upTo: target), continuation: continuation))
            result = Result { try body(&state) }
        }
        return try result.get()
    }

    @Test("a flush during the removal of a batch covers the events behind it")
    func flushDuringSettleCoversRest() throws {
        var state = state()
        state.change { $0.flushRequested() }
        let (batch, work) = try send(try take(50, &state), .all(.accepted), &state)
        // The store has removed the batch, and the route hasn't noted that yet. 30 others wait.
        #expect(state.flushTarget(backlog(30)) >= 80)
        state.settled(batch, work)
        #expect(state.flushTarget(backlog(30)) == 80)
    }

    @Test("an event beside a deferred batch has an interval of its own")
    func eventBesideDeferredBatchHasInterval() throws {
        var state = state()
        state.change { $0.flushRequested() }
        let taken = try take(2, &state)
        // The event is taken before its `appended` is called.
        state.appended(.normal) { .zero }
        let (_, work) = try send(taken, .each([.retry(after: .seconds(3_600)), .accepted]), &state)
        #expect(work.isDeferred)
        _ = state.nextStep(isHolding: false, backlog(2), appends: 1, at: .zero)
        let isNews = state.schedule.appended(.normal) { .seconds(1) }
        #expect(isNews)
    }

    @Test("events that are stored after the backlog was read don't hide unread segments")
    func appendsHideNoUnreadSegments() {
        var state = state()
        let unread = Backlog(events: 0, bytes: 1, unreadBytes: 1)
        state.change { $0.flushRequested() }
        state.appended(.normal) { .zero }
        guard case .take = state.nextStep(isHolding: false, unread, appends: 0, at: .zero) else {
            Issue.record("the segments are hidden")
            return
        }
    }

    @Test("events that are put back while a worker looks are all in the pass")
    func replayedEventsAreInThePass() throws {
        var state = state()
        state.replaying(150)
        state.replayed(150, of: 150)
        // The worker has read the backlog before.
        guard case .take = state.nextStep(isHolding: false, backlog(0), appends: 0, at: .zero) else {
            Issue.record("nothing is sent")
            return
        }
        _ = state.took(Batch(id: 1, events: (1...100).map { BatchProgressTests.line($0) }))
        guard case .take = state.nextStep(isHolding: false, backlog(150), appends: 150, at: .zero) else {
            Issue.record("the rest waits")
            return
        }
    }

    @Test("events that a worker may have counted twice fill no batch")
    func uncertainEventsFillNoBatch() throws {
        var state = state()
        state.change { $0.flushRequested() }
        _ = try take(1, &state)
        let full = DeliveryPolicy.standard.batch.events
        for _ in 1..<full { state.appended(.normal) { .zero } }
        // Two events are stored after the worker reads `appends` and before it reads the backlog, which has them too.
        guard case .wait = state.nextStep(isHolding: false, backlog(full), appends: full - 3, at: .zero) else {
            Issue.record("the batch is not full")
            return
        }
        state.appended(.normal) { .zero }
        guard case .take = state.nextStep(isHolding: false, backlog(full + 1), appends: full - 2, at: .zero) else {
            Issue.record("the batch is full")
            return
        }
    }

    @Test("unread segments don't use up the pass of the events that were counted")
    func unreadSegmentsUseUpNoPass() throws {
        var state = state()
        let unread = Backlog(events: 0, bytes: 1, unreadBytes: 1)
        _ = state.nextStep(isHolding: false, unread, appends: 0, at: .zero)
        let count = DeliveryPolicy.standard.flushCount
        for _ in 0..<count { state.appended(.normal) { .zero } }
        guard case .take = state.nextStep(isHolding: false, unread, appends: count, at: .zero) else {
            Issue.record("the count sends nothing")
            return
        }
        _ = state.took(Batch(id: 1, events: (1...count).map { BatchProgressTests.line($0) }))
        // One of the counted events was evicted, so the rest is no full batch.
        guard case .take = state.nextStep(isHolding: false, backlog(2 * count - 1), appends: count, at: .zero) else {
            Issue.record("the counted events wait for their interval")
            return
        }
    }

    @Test("failed reads of two workers hide no event")
    func failedReadsHideNothing() throws {
        var state = state()
        state.change { $0.flushRequested() }
        let requests = try (0..<2).map { _ in
            guard case .take(let request) = state.nextStep(isHolding: false, backlog(3), appends: 0, at: .zero) else {
                throw SluiceError(.invalidArgument, "nothing is taken")
            }
            return request
        }
        for request in requests { state.tookNothing(backlog(3), request, hasFailed: true, at: .zero) { 0 } }
        guard case .take = state.nextStep(isHolding: false, backlog(3), appends: 0, at: .seconds(600)) else {
            Issue.record("the events are hidden")
            return
        }
    }

    @Test("a worker that finds nothing because others were faster doesn't back off")
    func fasterWorkerCausesNoBackOff() throws {
        var state = state()
        state.change { $0.flushRequested() }
        let first = try take(1, &state)
        state.change { $0.flushRequested() }
        guard case .take(let request) = state.nextStep(isHolding: false, backlog(2), appends: 0, at: .zero) else {
            throw SluiceError(.invalidArgument, "nothing is taken")
        }
        let (batch, work) = try send(first, .all(.accepted), &state)
        state.settled(batch, work)
        // The backlog is that of before.
        state.tookNothing(backlog(1), request, hasFailed: false, at: .zero) { 0 }
        #expect(state.schedule.phase == .ready)
    }

    @Test("a pass for a critical event that an earlier pass has taken already takes no normal event")
    func criticalPassTakesNoNormalEvent() throws {
        var policy = DeliveryPolicy.appCenter
        policy.flushInterval = .seconds(60)
        var state = RouteState(name: "main", policy: policy, maximumBatchSize: BatchProgressTests.unlimited)
        state.opened()
        state.change { $0.flushRequested() }
        let requests = try (0..<2).map { _ in
            guard case .take(let request) = state.nextStep(isHolding: false, backlog(1), appends: 0, at: .zero) else {
                throw SluiceError(.invalidArgument, "nothing is taken")
            }
            return request
        }
        // The second worker takes the critical event before the route has counted it.
        let batches = [Event.Priority.normal, .critical].enumerated().map { id, priority in
            let line = EventLine(bytes: BatchProgressTests.line(id).bytes, priority: priority)
            return Batch(id: UInt64(id), events: [line])
        }
        for batch in batches { _ = state.took(batch) }
        state.appended(.critical) { .zero }
        for (batch, request) in zip(batches, requests) {
            let (batch, work) = try send((BatchProgress(batch), request.epoch), .all(.accepted), &state)
            state.settled(batch, work)
        }
        state.appended(.normal) { .zero }
        let step = state.nextStep(isHolding: false, backlog(1), appends: 2, at: policy.criticalInterval)
        guard case .take(let request) = step else {
            Issue.record("no pass begins: \(step)")
            return
        }
        #expect(request.priority == .critical)
        state.tookNothing(backlog(1), request, hasFailed: false, at: policy.criticalInterval) { 0 }
        let next = state.nextStep(isHolding: false, backlog(1), appends: 2, at: policy.criticalInterval)
        guard case .wait(.seconds(60)?, _) = next else {
            Issue.record("the normal event doesn't wait for its interval: \(next)")
            return
        }
    }

    @Test("a shutdown that can't retry in time waits for the requests of other workers")
    func shutdownWaitsForOtherRequests() throws {
        for isPaused in [false, true] {
            var state = state()
            state.change { $0.flushRequested() }
            let first = try take(1, &state)
            state.change { $0.flushRequested() }
            let second = state.nextStep(isHolding: false, backlog(2), appends: 0, at: .zero)
            guard case .take = second else { throw SluiceError(.invalidArgument, "nothing is taken") }
            _ = state.took(Batch(id: 2, events: [BatchProgressTests.line(2)]))
            state.change {
                $0.setPaused(isPaused)
                $0.stopRequested(deadline: .seconds(5))
            }
            _ = try send(first, .all(.retry(after: .seconds(60))), &state)
            guard case .wait = state.nextStep(isHolding: true, backlog(2), appends: 0, at: .zero) else {
                Issue.record("the other request is cut off")
                return
            }
            guard case .stop = state.nextStep(isHolding: true, backlog(2), appends: 0, at: .seconds(5)) else {
                Issue.record("the deadline is ignored")
                return
            }
        }
    }

    @Test("a deferred batch isn't resumed before the store has its rejected events")
    func deferredBatchIsResumedAfterSettle() throws {
        var state = state()
        state.change { $0.flushRequested() }
        let (batch, work) = try send(try take(2, &state), .each([.rejected(""), .retry(after: nil)]), &state)
        state.change { $0.flushRequested() }
        if case .resume = state.nextStep(isHolding: false, backlog(2), appends: 0, at: .seconds(600)) {
            Issue.record("the batch is resumed too early")
        }
        state.settled(batch, work)
        guard case .resume = state.nextStep(isHolding: false, backlog(2), appends: 0, at: .seconds(600)) else {
            Issue.record("the batch isn't resumed")
            return
        }
    }
}
