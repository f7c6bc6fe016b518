import SluiceTesting

@testable import Sluice
@testable import SluiceDelivery

/// A route over a ``ModelStore``, whose workers and host take one atomic step at a time. A step uses the state once, as
/// under its lock, or the store once. ``Worker`` and ``RouteRuntime`` take the same steps on threads.
///
/// It checks after each step that no event is sent after its end, that the counts are right, and that no worker sleeps
/// although it could work. It is a value: a copy goes on by itself.
struct SteppedRoute {
    enum Fate: CaseIterable {
        case delivered, rejected, deleted, evicted, vanished
    }

    /// A flush or a deletion.
    struct Call {
        let events: Set<Int>
        let interruptions: Int
        /// How many events the flush counts, and some counts when it began.
        var covered = 0, found = 0, gone = 0, blur = 0
        var deadline: Duration?
    }

    enum End {
        case flush(Int, FlushReport), deletion(Int, Bool), close
    }

    var state: RouteState
    var store: ModelStore
    var threads: [Thread]
    var now = Duration.zero
    /// The broken rule; nil if everything is right.
    var fault: String?
    /// Whether the host's conditions forbid to send.
    var isHeldBack = false
    /// Whether the store's next batch can't be read.
    var isUnreadable = false
    /// Events that the store has accepted and the route hasn't counted yet.
    var uncounted: [EventLine] = []
    /// What became of events.
    var fates: [Int: Fate] = [:]
    /// How often something delayed the delivery: a failure, or the host.
    var interruptions = 0
    /// The reports of the flushes that have ended.
    var reports: [Int: FlushReport] = [:]
    /// How often counts were compared, and parts sent beside others.
    var compared = 0, parallel = 0
    let workers: Int
    var counted: Set<Int> = []
    var found = 0
    /// The fates that the route has counted.
    var noted: [Fate: Int] = [:]
    /// The batches that the route has open.
    var open: [Batch.ID: [Int]] = [:]
    /// Events that were taken before they were counted.
    var early = 0, blurAtNormal = 0
    /// Events that were erased in the store.
    var erased = 0
    var calls: [Int: Call] = [:]
    var lastCall = 0
    var deadline: Duration?
    var isClosed = false
    var random: SeededRandom
    /// What the closures of the current step report.
    let ends = Locked<[End]>([])

    init(_ policy: DeliveryPolicy, seed: UInt64 = 0, unread: [EventLine] = []) {
        random = SeededRandom(seed: seed)
        store = ModelStore(unread: unread)
        workers = policy.maximumBatchesInFlight
        state = RouteState(name: "main", policy: policy, maximumBatchSize: .unlimited)
        state.journal.ledger.unreadBytes = unread.count
        state.opened(Backlog(events: 0, bytes: 0))
        threads = Array(repeating: .free, count: workers)
    }

    static func number(_ line: EventLine) -> Int { Int(line.bytes.first ?? 255) }

    static func line(_ number: Int, _ priority: Event.Priority = .normal) -> EventLine {
        EventLine(bytes: [UInt8(number)], priority: priority)
    }

    static func lines(_ numbers: ClosedRange<Int>) -> [EventLine] { numbers.map { line($0) } }

    mutating func fail(_ rule: String) { fault = fault ?? rule }

    /// Notes what became of events, and that the route counts it in the same step.
    mutating func set(_ fate: Fate, _ lines: [EventLine], isNoted: Bool = false) {
        for number in lines.map(Self.number) {
            if let other = fates.updateValue(fate, forKey: number) { fail("event \(number): \(fate) after \(other)") }
        }
        if isNoted { noted[fate, default: 0] += lines.count }
    }

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
            counted.insert(Self.number(line))
            state.appended(line.priority, isLast: index == count - 1) { now }
        }
        endStep()
    }

    /// Stores events and counts them.
    mutating func track(_ lines: [EventLine], segment: Int = 0) {
        append(lines, segment: segment)
        count(lines.count)
    }

    /// The route counts events that the store has found.
    mutating func recover(_ lines: [EventLine]) {
        found += lines.count
        counted.formUnion(lines.map(Self.number))
        state.reported { $0.recovered(lines.count) }
        state.reported { $0.ledger.unreadBytes = 0 }
    }

    /// The store loses its oldest event, and reports it only if it evicts it.
    mutating func lose(evicts: Bool = false) {
        guard let line = store.loseOldest() else { return }
        set(evicts ? .evicted : .vanished, [line], isNoted: evicts)
        if evicts { change { $0.reported { $0.lost(1, .evicted) } } }
    }

    /// - Returns: the key of its report in ``reports``.
    @discardableResult
    mutating func flush(until deadline: Duration? = nil) -> Int {
        let rest = state.rule.waiting
        lastCall += 1
        calls[lastCall] = Call(
            events: waiting, interruptions: isHindered ? -1 : interruptions,
            covered: rest + max(0, counted.count - notes(Fate.allCases) - rest - unsettled), found: found,
            gone: notes([.deleted, .evicted, .vanished]), blur: min(blurAtNormal, settledBlur), deadline: deadline)
        state.flush(until: deadline) { [ends, lastCall] report in ends.withLock { $0.append(.flush(lastCall, report)) }
        }
        endStep()
        return lastCall
    }

    mutating func delete() {
        lastCall += 1
        calls[lastCall] = Call(events: waiting, interruptions: isHindered ? -1 : interruptions)
        threads.append(.erasing(Erasure(number: state.beginErasure(), deletion: lastCall)))
        endStep()
    }

    /// An erasure of every third event, or a deletion of all events.
    struct Erasure {
        let number: Int
        /// The deletion's call.
        let deletion: Int?

        func isMatch(_ line: EventLine) -> Bool { deletion != nil || SteppedRoute.number(line).isMultiple(of: 3) }
    }

    mutating func erase() {
        threads.append(.erasing(Erasure(number: state.beginErasure(), deletion: nil)))
        endStep()
    }

    mutating func shutDown(deadline: Duration) {
        if state.gate.enter() { threads.append(.stopping(deadline: deadline)) }
        state.shutdowns.append { [ends] in ends.withLock { $0.append(.close) } }
        self.deadline = min(deadline, self.deadline ?? deadline)
        interruptions += 1
        endStep()
    }

    /// Changes the state as another thread would.
    mutating func change(isInterruption: Bool = false, _ body: (inout RouteState) -> Void) {
        body(&state)
        if isInterruption { interruptions += 1 }
        endStep()
    }

    /// The host cancels all requests before a suspension.
    mutating func takeBack() {
        for case (let index, .doing(.send(let part))) in threads.enumerated() {
            threads[index] = .free
            change(isInterruption: true) { $0.takeBack(part) }
        }
    }

    // MARK: Time

    /// Whether nothing happens before time passes.
    var isAsleep: Bool { uncounted.isEmpty && threads.allSatisfy { $0.isAsleep || $0.isEnded } }

    /// Passes time until the next alarm.
    ///
    /// - Returns: false without an alarm.
    mutating func passTime() -> Bool {
        let times =
            calls.values.compactMap(\.deadline) + [state.waiters.alarm, isClosed ? nil : deadline].compactMap(\.self)
        guard let time = times.min() else { return false }
        if isAsleep, time <= now, time == state.waiters.alarm { fail("the alarm rings without time passing") }
        passTime(until: time)
        return true
    }

    /// Passes time, and rings the alarm if its time has come.
    mutating func passTime(until time: Duration) {
        now = max(now, time)
        if let alarm = state.waiters.alarm, alarm <= now { state.waiters.rang(alarm) }
        if calls.values.contains(where: { $0.deadline.map { $0 <= now } ?? false }) { state.endFlushes(.due(now)) }
        if let deadline, deadline <= now { state.close() }
        endStep()
    }

    // MARK: Threads

    /// Takes a thread's next step.
    ///
    /// - Parameters:
    ///   - index: the thread.
    ///   - answer: the receiver's verdicts for a part, if the step sends one.
    mutating func step(_ index: Int, answer: (Batch) -> Verdicts = { _ in .all(.accepted) }) {
        let (thread, pauseEnd) = (threads[index], pauseEnd)
        threads[index] = .free
        threads[index] = next(thread, answer)
        if self.pauseEnd > pauseEnd { interruptions += 1 }
        endStep()
    }

    private var pauseEnd: Duration { max(state.rule.pauses.route.end, state.rule.pauses.setAside.end) }

    /// Takes a thread's steps until it is where `isThere` says.
    mutating func run(
        _ index: Int, answer: (Batch) -> Verdicts = { _ in .all(.accepted) }, until isThere: (Thread) -> Bool
    ) {
        for _ in 0..<100 {
            if isThere(threads[index]) { return }
            step(index, answer: answer)
        }
        fail("thread \(index) stays where it is: \(threads[index])")
    }

    // MARK: End

    /// Lets everything end: the host does nothing more, the threads take steps in turn, and time passes.
    mutating func finish(answer: (Self, Batch, _ turn: Int) -> Verdicts = { _, _, _ in .all(.accepted) }) {
        HostStep.free.take(on: &self)
        while !uncounted.isEmpty { count() }
        for turn in 0..<500 where fault == nil {
            var steps = 0
            while !isAsleep, fault == nil {
                steps += 1
                if steps > 10_000 { fail("steps without end, and no time passes") }
                for index in threads.indices {
                    let verdicts =
                        threads[index].isSending ? threads[index].part.map { answer(self, $0.batch, turn) } : nil
                    step(index) { _ in verdicts ?? .all(.accepted) }
                }
            }
            if calls.isEmpty, deadline == nil, state.isStopped || state.journal.ledger.waiting == 0 { break }
            if !passTime() { fail("something waits, and nothing wakes a worker") }
        }
        checkEnd()
    }
}
