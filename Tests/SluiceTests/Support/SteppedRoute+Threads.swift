@testable import Sluice
@testable import SluiceDelivery

extension SteppedRoute {
    /// A worker, or another thread that uses the route, by its next step.
    indirect enum Thread {
        case free, asleep(awake: Thread), ended
        /// A worker carries out this step.
        case doing(Step)
        case keeping(RouteStatus, then: Step), kept(then: Step)
        case took(Batch?, BatchSize, hasFailed: Bool)
        case comparing(Backlog?)
        case settling(Settlement, done: Int)
        case fallingAsleep(inputs: Int, awake: Thread)
        case erasing(Erasure), erasingIn([OpenBatch], Erasure), removing([OpenBatch], Erasure)
        case tookToDelete(Batch, Erasure), erased(ErasureReport, Erasure), leavingGate
        case stopping(deadline: Duration), closing, closed
    }

    private mutating func use<Value>(_ body: (inout RouteState, Duration, () -> UInt64) -> Value) -> Value {
        var random = random
        defer { self.random = random }
        return body(&state, now) { random.next() }
    }

    mutating func next(_ thread: Thread, _ answer: (Batch) -> Verdicts) -> Thread {
        switch thread {
        case .asleep, .ended: return thread
        case .free: return decide()
        case .doing(let step): return carryOut(step, answer)
        case .keeping(let status, let step):
            useStore { $0.status = status }
            return .kept(then: step)
        case .kept(let step): return state.takeNextStatus().map { .keeping($0, then: step) } ?? .doing(step)
        case .took(let batch?, let size, _):
            opened(batch)
            return decide { $0.took(batch, size) }
        case .took(nil, _, let hasFailed): return .comparing(hasFailed ? nil : store.backlog)
        case .comparing(let backlog):
            compared += 1
            let before = state.journal.ledger.dropped[.vanished] ?? 0
            use { $0.foundNothing(backlog, at: $1, random: $2) }
            noted[.vanished, default: 0] += (state.journal.ledger.dropped[.vanished] ?? 0) - before
            return .free
        case .settling(let settlement, let done): return settle(settlement, done)
        case .fallingAsleep(let inputs, let awake):
            state.waiters.wait(inputs: inputs) {}
            // If it has missed an input, it doesn't sleep. Others are not concerned.
            return state.waiters.ended.takeAll().isEmpty ? .asleep(awake: awake) : awake
        case .erasing, .erasingIn, .removing, .tookToDelete, .erased: return nextOfErasure(thread)
        case .leavingGate: state.gate.leave()
        case .stopping(let deadline):
            state.stop(deadline: deadline)
            state.gate.leave()
        case .closing:
            if isClosed { fail("the store is closed twice") }
            isClosed = true
            return .closed
        case .closed: state.gate.didClose()
        }
        return .ended
    }

    @discardableResult
    private mutating func useStore<Value>(_ body: (inout ModelStore) -> Value) -> Value {
        if isClosed { fail("the store is used after its end") }
        return body(&store)
    }

    private mutating func decide(_ change: (inout RouteState) -> Void = { _ in }) -> Thread {
        let step = use {
            change(&$0)
            return $0.next(at: $1, random: $2)
        }
        return state.takeStatus().map { .keeping($0, then: checked(step)) } ?? .doing(checked(step))
    }

    private mutating func checked(_ step: Step) -> Step {
        guard case .send(let part) = step else { return step }
        let others = threads.compactMap(\.part)
        parallel += others.count
        if others.count >= (isCalm ? workers : 1) { fail("\(others.count) other parts are in flight") }
        if others.contains(where: { $0.batch.id == part.batch.id }) { fail("two parts of a batch are in flight") }
        if part.places.isEmpty { fail("nothing is sent") }
        return step
    }

    private mutating func carryOut(_ step: Step, _ answer: (Batch) -> Verdicts) -> Thread {
        switch step {
        case .take(let size):
            if isUnreadable { return .took(nil, size, hasFailed: true) }
            let recovered = useStore { $0.read() }
            if recovered > 0 { recover(Array(store.events.prefix(recovered))) }
            return .took(store.nextBatch(size), size, hasFailed: false)
        case .send(let part): return send(part, answer(part.batch))
        case .wait(let inputs): return next(.fallingAsleep(inputs: inputs, awake: .free), answer)
        case .stop: return .ended
        }
    }

    private mutating func send(_ part: Part, _ verdicts: Verdicts) -> Thread {
        if let event = part.batch.events.first(where: { fates[Self.number($0)] != nil }) {
            fail("event \(Self.number(event)) is sent after its end")
        }
        if store.events(in: part.batch.id).isEmpty { fail("a batch is sent that the store has removed") }
        guard let settlement = use({ $0.answered(part, verdicts, at: $1, random: $2) }) else { return .ended }
        let accepted = part.batch.events.indices.filter { index in
            switch verdicts.kind {
            case .all(let verdict): verdict.isAccepted
            case .each(let list): list.count == part.places.count && list[index].isAccepted
            }
        }
        if accepted.count < part.places.count { interruptions += 1 }
        set(.delivered, accepted.map { part.batch.events[$0] })
        for case .reject(let events, _) in settlement.actions { set(.rejected, events.map(\.line)) }
        if case .each(let list) = verdicts.kind, !accepted.isEmpty {
            for index in list.indices where [.rejected, .unsendable].contains(list[index].kind) {
                let event = Self.number(part.batch.events[index])
                if fates[event] != .rejected { fail("event \(event) was rejected, and is no dead letter") }
            }
        }
        return .settling(settlement, done: 0)
    }

    /// Tells the store the next action, or ends the attempt.
    private mutating func settle(_ settlement: Settlement, _ done: Int) -> Thread {
        guard done < settlement.actions.count else {
            if store.rest(of: settlement.part.batch.id).contains(where: { fates[Self.number($0)] != nil }) {
                fail("a later process would send an event again")
            }
            for case .remove(let id) in settlement.actions { open[id] = nil }
            noted[.delivered, default: 0] += settlement.answer.accepted.count
            noted[.rejected, default: 0] += settlement.rejected
            return decide { $0.finish(settlement) }
        }
        switch settlement.actions[done] {
        case .reject(let events, let id): useStore { $0.reject(events.map(\.key.place), in: id) }
        case .settle(let places, let id): useStore { $0.settle(places, of: id) }
        case .remove(let id):
            if store.rest(of: id).contains(where: { fates[Self.number($0)] != .delivered }) {
                fail("a batch is removed before the store has its dead letters")
            }
            remove(id)
        }
        return .settling(settlement, done: done + 1)
    }

    private mutating func remove(_ id: Batch.ID) {
        if !useStore({ $0.settle(id) }) { fail("a batch is settled twice") }
    }

    private mutating func opened(_ batch: Batch) {
        if batch.events.first?.priority == .normal { blurAtNormal = settledBlur }
        open[batch.id] = batch.events.map(Self.number)
        early += Set(uncounted.map(Self.number)).intersection(batch.events.map(Self.number)).count
    }

    // MARK: Erasing

    private mutating func nextOfErasure(_ thread: Thread) -> Thread {
        switch thread {
        case .erasing(let erasure):
            guard let isIn = state.enter(erasure: erasure.number) else {
                return .fallingAsleep(inputs: state.waiters.inputs, awake: thread)
            }
            if isIn { return .erasingIn(state.rule.open, erasure) }
            end(erasure, ErasureReport(left: ["stopped"]))
        case .erasingIn(let batches, let erasure):
            guard let batch = batches.first else { return eraseStored(erasure) }
            let places = batch.rest.filter { erasure.isMatch(batch.batch.events[$0]) }
            let rest = Array(batches.dropFirst())
            if places.isEmpty { return nextOfErasure(.erasingIn(rest, erasure)) }
            set(.deleted, places.map { batch.batch.events[$0] }, isNoted: true)
            guard state.erased(places, of: batch.id) else { return .erasingIn(rest, erasure) }
            open[batch.id] = nil
            return .removing(batches, erasure)
        case .removing(let batches, let erasure):
            remove(batches[0].id)
            return .erasingIn(Array(batches.dropFirst()), erasure)
        case .tookToDelete(let batch, let erasure):
            opened(batch)
            guard let batch = state.took(toDelete: batch) else {
                return .erased(ErasureReport(left: ["stopped"]), erasure)
            }
            return .erasingIn([batch], erasure)
        case .erased(let report, let erasure):
            if report.isComplete,
                open.values.contains(where: { $0.contains { fates[$0] == nil && erasure.isMatch(Self.line($0)) } })
            {
                fail("an erasure spares an event")
            }
            noted[.deleted, default: 0] += report.events
            end(erasure, report)
            return .leavingGate
        default: break
        }
        return .ended
    }

    private mutating func eraseStored(_ erasure: Erasure) -> Thread {
        if erasure.deletion != nil {
            if let batch = useStore({ $0.nextBatch(BatchSize(events: 3, bytes: .max)) }) {
                return .tookToDelete(batch, erasure)
            }
            return .erased(ErasureReport(left: store.isStuck ? ["stuck"] : []), erasure)
        }
        let lines = useStore { $0.erase(where: erasure.isMatch) }
        set(.deleted, lines)
        erased += lines.count
        return .erased(ErasureReport(events: lines.count), erasure)
    }

    private mutating func end(_ erasure: Erasure, _ report: ErasureReport) {
        state.endErasure(report)
        if let call = erasure.deletion { ends.withLock { $0.append(.deletion(call, report.isComplete)) } }
    }
}

extension SteppedRoute.Thread {
    var isAsleep: Bool { if case .asleep = self { true } else { false } }
    var isEnded: Bool { if case .ended = self { true } else { false } }
    var isSending: Bool { if case .doing(.send) = self { true } else { false } }
    var isTakingNothing: Bool { if case .took(nil, _, _) = self { true } else { false } }
    var isSettling: Bool { if case .settling = self { true } else { false } }

    /// The part that this thread sends or settles.
    var part: Part? {
        switch self {
        case .doing(.send(let part)), .keeping(_, then: .send(let part)), .kept(then: .send(let part)): part
        case .settling(let settlement, _): settlement.part
        default: nil
        }
    }
}
