@testable import Sluice
@testable import SluiceDelivery

/// A naive model of the counts, and the rules of delivery.
extension SteppedRoute {
    /// Events with a verdict that the route hasn't counted yet.
    var unsettled: Int { count([.delivered, .rejected]) - notes([.delivered, .rejected]) }

    /// Events that a flush can have taken for others: they were taken before they were counted, or are lost.
    var blur: Int { early + count([.deleted, .evicted, .vanished]) }

    /// Without those that the route still doesn't count.
    var settledBlur: Int {
        let taken = open.values.reduce(into: Set(fates.keys)) { $0.formUnion($1) }
        return blur - uncounted.count { taken.contains(Self.number($0)) }
    }

    var isCalm: Bool { !state.rule.isInDoubt && state.rule.setAside == 0 }

    /// The counted events without an end.
    var waiting: Set<Int> { counted.filter { fates[$0] == nil } }

    func notes(_ fates: [Fate]) -> Int { fates.reduce(0) { $0 + (noted[$1] ?? 0) } }

    func count(_ kinds: [Fate]) -> Int { fates.values.count { kinds.contains($0) } }

    /// Whether a flush could end without sending everything.
    var isHindered: Bool {
        isHeldBack || state.isStopped || deadline != nil || store.isStuck || isUnreadable || !isCalm
            || state.rule.pauseEnd(at: now) != nil
    }

    mutating func endStep() {
        let wakes = !state.waiters.ended.isEmpty
        let actions = state.takeActions()
        if wakes {
            for case (let index, .asleep(let awake)) in threads.enumerated() { threads[index] = awake }
        }
        for resume in actions.resumptions { resume() }
        if actions.mustClose { threads.append(.closing) }
        for end in ends.withLock({ ends in
            defer { ends = [] }; return ends
        }) { check(end) }
        checkCounts()
        checkSleep()
    }

    mutating func checkCounts() {
        let (ledger, rule) = (state.journal.ledger, state.rule)
        let rest = open.values.reduce(0) { $0 + $1.count { fates[$0] == nil } }
        func check(_ name: String, _ count: Int, _ expected: Int) {
            if count != expected { fail("\(name) is \(count) instead of \(expected)") }
        }
        check("waiting", ledger.waiting, counted.count - notes(Fate.allCases))
        check("received", ledger.received, counted.count - found)
        check("delivered", ledger.delivered, notes([.delivered]))
        check("rejected", ledger.rejected, notes([.rejected]))
        check("deleted", ledger.dropped[.deleted] ?? 0, notes([.deleted]))
        check("rule.waiting", rule.waiting, rest)
        check("rule.resolved", rule.resolved, open.values.reduce(0) { $0 + $1.count } - rest)
        if notes([.vanished]) > count([.vanished]) { fail("events count as vanished that are there") }
    }

    /// If all threads wait for the receiver or a change, a worker that looks finds nothing to do, and no earlier time.
    mutating func checkSleep() {
        guard uncounted.isEmpty, threads.contains(where: \.isAsleep),
            threads.allSatisfy({ $0.isAsleep || $0.isEnded || $0.isSending }),
            state.waiters.alarm.map({ $0 > now }) ?? true
        else { return }
        let isSending = threads.contains(where: \.isSending)
        var copy = state
        guard case .wait = copy.next(at: now, random: { 0 }) else { return fail("all sleep although there is work") }
        let (alarm, next) = (state.waiters.alarm ?? .seconds(1 << 40), copy.waiters.alarm ?? .seconds(1 << 40))
        // In doubt, one part is in flight, and its answer comes first.
        if next < alarm, !isHeldBack, isCalm || !isSending { fail("the alarm is late: \(alarm) instead of \(next)") }
        if !isSending, copy.takeStatus() != nil { fail("the store doesn't have the newest status") }
    }

    mutating func check(_ end: End) {
        switch end {
        case .flush(let key, let report):
            guard let call = calls.removeValue(forKey: key) else { return fail("a flush ends twice") }
            reports[key] = report
            let sum = report.delivered + report.rejected + report.waiting
            let most = call.covered + found - call.found
            let gone = notes([.deleted, .evicted, .vanished]) - call.gone
            let least = uncounted.isEmpty ? most - gone : 0
            if sum < least || sum > most { fail("a flush counts \(sum) instead of \(least)...\(most): \(report)") }
            let left = call.events.count { fates[$0] == nil }
            let blurred = early + erased + count([.evicted, .vanished]) + fates.count - notes(Fate.allCases)
            // Two more, because critical events can be counted between the steps of a worker that takes normal ones.
            if report.waiting > left + blurred + found - call.found + 2 {
                fail("a flush counts events as waiting that don't wait: \(report)")
            }
            if left > blur - call.blur, call.interruptions == interruptions, call.deadline.map({ now < $0 }) ?? true {
                fail("a flush ends before its events are sent: \(report)")
            }
        case .close:
            deadline = nil
            if !isClosed { fail("a shutdown ends before the store is closed") }
        case .deletion(let key, let isComplete):
            guard let call = calls.removeValue(forKey: key) else { return fail("a deletion ends twice") }
            if isComplete, !call.events.allSatisfy({ fates[$0] != nil }) { fail("a deletion spares an event") }
            if !isComplete, call.interruptions == interruptions { fail("a deletion fails") }
        }
    }

    /// Whether everything has ended, and is accounted for.
    mutating func checkEnd() {
        if fault != nil { return }
        let ledger = state.ledger(with: store.backlog)
        if ledger.stored != ledger.waiting, !isClosed { fail("the store has other events: \(ledger)") }
        if !calls.isEmpty { fail("a flush or a deletion never ends") }
        if notes([.vanished]) != count([.vanished]), !isClosed { fail("a loss isn't counted: \(ledger)") }
        if state.isStopped {
            if !isClosed || !threads.allSatisfy(\.isEnded) { fail("a shutdown never ends: \(threads)") }
        } else if ledger.waiting != 0 {
            fail("events still wait: \(ledger)")
        }
    }
}
