@testable import Sluice
@testable import SluiceDelivery

/// A route over a ``ModelStore``, whose workers and host take one atomic step at a time. A step uses the state once, as under
/// its lock, or the store once. ``Worker`` and ``RouteRuntime`` take the same steps on threads.
///
/// It checks after each step that no event is sent after its verdict, and that the counts are right.
struct SteppedRoute {
    /// A worker between two steps.
    enum Worker {
        case free
        case holding(BatchProgress)
        case goingToSleep(BatchProgress?, inputs: Int)
        case asleep(BatchProgress?)
        case taking(Permit)
        case took(Batch, Permit)
        case tookNothing(Permit)
        case readingBacklog(inputs: Int)
        case comparing(Backlog, inputs: Int)
        case sending(BatchProgress, Permit)
        case answered(BatchProgress, SendResult, epoch: Int)
        case usingStore(BatchProgress, StoreWork, resolved: Int)
        case usedStore(BatchProgress, StoreWork, resolved: Int)
        case deleting(Batch.ID, Deletion?)
        case deleted(Batch.ID, Deletion?)
        case deletingAll(Deletion)
        case tookToDelete(Batch, Deletion)
        case deletedAll
        case stopped
    }

    /// The rest of a deletion of everything.
    struct Deletion {
        fileprivate var deferred: [Batch.ID]
    }

    var state: RouteState
    var store = ModelStore()
    private(set) var workers: [Worker]
    private(set) var now = Duration.zero
    /// Events that the store has accepted and the route hasn't counted yet.
    private(set) var uncounted: [EventLine] = []
    /// The events with a verdict, those that the store has lost, and those that were deleted.
    private(set) var resolved: Set<Int> = []
    private(set) var lost: Set<Int> = []
    private(set) var deleted: Set<Int> = []
    /// The broken rule; nil if everything is right.
    private(set) var fault: String?
    /// How often all events of a part were deferred, so that the route backed off.
    private(set) var backOffs = 0
    private let random: UInt64
    private var counted = 0
    /// Events that workers have taken from the store, and the route hasn't noted yet.
    private var unnoted = 0
    /// Events that the route has noted as taken.
    private var taken = 0
    private let batchEvents: Int
    /// Events with a verdict that the route hasn't noted yet.
    private var unrecorded = 0

    init(_ policy: DeliveryPolicy, random: UInt64 = 0) {
        self.random = random
        batchEvents = policy.batch.events
        state = RouteState(name: "main", policy: policy, maximumBatchSize: BatchProgressTests.unlimited)
        state.opened(Backlog(events: 0, bytes: 0))
        workers = Array(repeating: .free, count: policy.maximumBatchesInFlight)
    }

    static func number(_ line: EventLine) -> Int { Int(line.bytes.first ?? 255) }

    static func numbers(waitingIn batch: BatchProgress) -> [Int] {
        (batch.unresolved + batch.deferred).map { number(batch.events[$0]) }
    }

    static func line(_ number: Int, _ priority: Event.Priority = .normal) -> EventLine {
        EventLine(bytes: BatchProgressTests.line(number).bytes, priority: priority)
    }

    mutating func fail(_ rule: String) { fault = fault ?? rule }

    // MARK: Host

    /// Stores events. ``count(_:)`` is the host's next step.
    mutating func append(_ lines: [EventLine], segment: Int = 0) {
        for line in lines { store.append(line, segment: segment) }
        uncounted += lines
    }

    /// Counts the first `count` of the events that were stored and not counted yet, as those that were stored together.
    mutating func count(_ count: Int = 1) {
        for index in 0..<count {
            let (now, line) = (now, uncounted.removeFirst())
            state.appended(line.priority, isLast: index == count - 1) { now }
        }
        counted += count
        endStep()
    }

    /// Stores events and counts them.
    mutating func track(_ lines: [EventLine], segment: Int = 0) {
        append(lines, segment: segment)
        count(lines.count)
    }

    /// The store loses its oldest event, and tells nobody.
    mutating func lose() {
        if let line = store.loseOldest() { lost.insert(Self.number(line)) }
    }

    mutating func flush(_ onEnd: @escaping @Sendable (Bool) -> Void = { _ in }) {
        state.wait(for: .init(event: .flushed(upTo: state.flushTarget), resume: onEnd))
        state.change { $0.flushRequested() }
        endStep()
    }

    mutating func delete(_ onEnd: @escaping @Sendable (Bool) -> Void = { _ in }) {
        state.wait(for: .init(event: .deleted, resume: onEnd))
        endStep()
    }

    /// Changes the state as another thread would.
    mutating func change(_ body: (inout RouteState) -> Void) {
        body(&state)
        endStep()
    }

    // MARK: Time

    var isAsleep: Bool {
        uncounted.isEmpty && workers.allSatisfy { if case .asleep = $0 { true } else { false } }
    }

    /// Passes time until the route's alarm.
    ///
    /// - Returns: false without an alarm.
    mutating func passTime() -> Bool {
        guard let alarm = state.waiters.alarm else { return false }
        if alarm <= now { fail("the alarm rings without time passing") }
        passTime(until: alarm)
        return true
    }

    /// Passes time, and rings the alarm if its time has come.
    mutating func passTime(until time: Duration) {
        now = max(now, time)
        if let alarm = state.waiters.alarm, alarm <= now { state.waiters.rang(alarm) }
        endStep()
    }

    // MARK: Workers

    /// Takes a worker's next step.
    ///
    /// - Parameters:
    ///   - index: the worker.
    ///   - answer: the receiver's verdicts for a batch, if the step sends one.
    mutating func step(_ index: Int, answer: (Batch) -> Verdicts = { _ in .all(.accepted) }) {
        switch workers[index] {
        case .free: decide(index)
        case .holding(let batch): decide(index, batch)
        case .goingToSleep(let batch, let inputs):
            state.wait(for: .init(event: .changed, resume: { _ in }), inputs: inputs)
            // If it has missed an input, it doesn't sleep. Others are not concerned.
            let isMissed = !state.takeActions().waiters.isEmpty
            workers[index] = isMissed ? SteppedRoute.awake(batch) : .asleep(batch)
        case .asleep, .stopped: return
        case .taking(let permit):
            let batch = store.nextBatch(permit.size)
            unnoted += batch?.events.count ?? 0
            workers[index] = batch.map { .took($0, permit) } ?? .tookNothing(permit)
        case .took(let batch, let permit):
            unnoted -= batch.events.count
            taken += batch.events.count
            workers[index] = state.took(batch, permit) ? .sending(BatchProgress(batch), permit) : .stopped
        case .tookNothing(let permit):
            let inputs = state.foundNothing(permit, hasFailed: false, at: now) { [random] in random }
            workers[index] = inputs.map { .readingBacklog(inputs: $0) } ?? .free
        case .readingBacklog(let inputs): workers[index] = .comparing(store.backlog, inputs: inputs)
        case .comparing(let backlog, let inputs):
            state.compare(backlog, inputs: inputs, at: now) { [random] in random }
            workers[index] = .free
        case .sending(let batch, let permit): send(batch, permit, index, answer)
        case .answered(let batch, let result, let epoch): record(batch, result, epoch, index)
        case .usingStore(let batch, let work, let resolved):
            if work.mustSettle, !store.settle(batch.id) { fail("a batch is settled twice") }
            workers[index] = .usedStore(batch, work, resolved: resolved)
        case .usedStore(let batch, let work, let resolved):
            state.finish(batch, work)
            unrecorded -= resolved
            workers[index] = work.mustSettle || work.isDeferred ? .free : .holding(batch)
        case .deleting, .deleted, .deletingAll, .tookToDelete, .deletedAll: stepDeletion(index)
        }
        endStep()
    }

    /// Takes a worker's steps until it is where `isThere` says.
    mutating func run(
        _ index: Int, answer: (Batch) -> Verdicts = { _ in .all(.accepted) }, until isThere: (Worker) -> Bool
    ) {
        for _ in 0..<100 {
            if isThere(workers[index]) { return }
            step(index, answer: answer)
        }
        fail("worker \(index) stays where it is: \(workers[index])")
    }

    private static func awake(_ batch: BatchProgress?) -> Worker { batch.map { .holding($0) } ?? .free }

    private mutating func decide(_ index: Int) {
        switch state.nextBatch(at: now) {
        case .take(let permit): workers[index] = .taking(permit)
        case .resume(let batch, let permit):
            for case .usingStore(let other, _, _) in workers where other.id == batch.id {
                fail("a batch is resumed before the store has its rejected events")
            }
            workers[index] = .sending(batch, permit)
        case .deleteAll(let batches): workers[index] = .deletingAll(Deletion(deferred: batches.map(\.id)))
        case .wait(let inputs): workers[index] = .goingToSleep(nil, inputs: inputs)
        case .stop: workers[index] = .stopped
        }
    }

    private mutating func decide(_ index: Int, _ batch: BatchProgress) {
        switch state.nextPart(of: batch, at: now) {
        case .send(let permit): workers[index] = .sending(batch, permit)
        case .leave: workers[index] = .free
        case .delete: workers[index] = state.gate.enter() ? .deleting(batch.id, nil) : .stopped
        case .wait(let inputs): workers[index] = .goingToSleep(batch, inputs: inputs)
        case .stop: workers[index] = .stopped
        }
    }

    private mutating func send(
        _ batch: BatchProgress, _ permit: Permit, _ index: Int, _ answer: (Batch) -> Verdicts
    ) {
        var batch = batch
        let before = Set(Self.numbers(waitingIn: batch))
        if let result = batch.takeConfirmed() {
            resolved.formUnion(before.subtracting(Self.numbers(waitingIn: batch)))
            unrecorded += result.resolved
            workers[index] = .answered(batch, result, epoch: permit.epoch)
            return
        }
        batch.prepare(for: permit.stage)
        let part = batch.nextPart(permit.size)
        let numbers = part.events.map(Self.number)
        if numbers.isEmpty { fail("nothing is sent") }
        if !resolved.isDisjoint(with: numbers) { fail("an event is sent after its verdict") }
        if !deleted.isDisjoint(with: numbers) { fail("an event is sent after it was deleted") }
        let result = batch.apply(answer(part), toFirst: numbers.count, in: permit.stage)
        resolved.formUnion(before.subtracting(Self.numbers(waitingIn: batch)))
        unrecorded += result.resolved
        if result.effect == .deferred { backOffs += 1 }
        workers[index] = .answered(batch, result, epoch: permit.epoch)
    }

    private mutating func record(_ batch: BatchProgress, _ result: SendResult, _ epoch: Int, _ index: Int) {
        guard let work = state.record(result, batch, epoch: epoch, at: now, random: { [random] in random }) else {
            workers[index] = .stopped
            return
        }
        if work.isNeeded {
            workers[index] = .usingStore(batch, work, resolved: result.resolved)
        } else {
            unrecorded -= result.resolved
            workers[index] = work.isDeferred ? .free : .holding(batch)
        }
    }

    // MARK: Deletion

    private mutating func stepDeletion(_ index: Int) {
        switch workers[index] {
        case .deleting(let batch, let rest):
            deleted.formUnion(store.events(in: batch).map(Self.number).filter { !resolved.contains($0) })
            if !store.settle(batch) { fail("a batch is deleted twice") }
            workers[index] = .deleted(batch, rest)
        case .deleted(let batch, let rest):
            state.deleted(batch, isComplete: true)
            if rest == nil { state.gate.leave() }
            workers[index] = rest.map { .deletingAll($0) } ?? .free
        case .deletingAll(var rest):
            if let batch = rest.deferred.popLast() {
                workers[index] = .deleting(batch, rest)
            } else if let batch = store.nextBatch(BatchSize(events: 3, bytes: .max)) {
                unnoted += batch.events.count
                workers[index] = .tookToDelete(batch, rest)
            } else {
                workers[index] = .deletedAll
            }
        case .tookToDelete(let batch, let rest):
            unnoted -= batch.events.count
            taken += batch.events.count
            _ = state.took(toDelete: batch)
            workers[index] = .deleting(batch.id, rest)
        default:
            state.deletedAll(isComplete: true)
            workers[index] = .free
        }
    }

    // MARK: Checks

    private mutating func endStep() {
        for (waiter, value) in state.takeActions().waiters {
            waiter.resume(value)
            guard waiter.event == .changed else { continue }
            for case (let index, .asleep(let batch)) in workers.enumerated() {
                workers[index] = SteppedRoute.awake(batch)
            }
        }
        checkCounts()
    }

    private mutating func checkCounts() {
        let ledger = state.journal.ledger
        if ledger.delivered + ledger.rejected != resolved.count - unrecorded { fail("miscounts verdicts: \(ledger)") }
        if ledger.received != counted { fail("miscounts received events: \(ledger)") }
        if ledger.dropped[.vanished] ?? 0 > lost.count { fail("events count as vanished that are there") }
        let takeable = state.flushTarget >= Passes.unknown ? 0 : state.flushTarget - taken - batchEvents
        if takeable > store.events.count + unnoted + lost.count - (ledger.dropped[.vanished] ?? 0) {
            fail("more events are counted than the store has")
        }
    }

    /// Whether everything has ended, and is accounted for.
    mutating func checkEnd() {
        let ledger = state.ledger(with: store.backlog)
        if ledger.waiting != 0 || ledger.stored != 0 { fail("events still wait: \(ledger)") }
        if ledger.dropped[.vanished] ?? 0 != lost.count { fail("a loss isn't counted: \(ledger)") }
        if resolved.count + lost.count + deleted.count != counted { fail("an event is lost") }
    }
}

extension SteppedRoute.Worker {
    var isFree: Bool { if case .free = self { true } else { false } }
    var isAsleep: Bool { if case .asleep = self { true } else { false } }
    var isSending: Bool { if case .sending = self { true } else { false } }
    var isTaking: Bool { if case .taking = self { true } else { false } }
    var isTakingNothing: Bool { if case .tookNothing = self { true } else { false } }
    var isUsingStore: Bool { if case .usingStore = self { true } else { false } }
    var isReadingBacklog: Bool { if case .readingBacklog = self { true } else { false } }
    var isComparing: Bool { if case .comparing = self { true } else { false } }
    var isStopped: Bool { if case .stopped = self { true } else { false } }

    var batch: BatchProgress? {
        switch self {
        case .holding(let batch), .sending(let batch, _): batch
        case .goingToSleep(let batch, _), .asleep(let batch): batch
        default: nil
        }
    }
}
