import SluiceTesting
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// Every sequence of inputs up to a depth, checked against rules for all sequences.
@Suite struct ScheduleEnumerationTests {
    enum Input: CaseIterable {
        case append, appendCritical, flush, connectivity, pause, resume, stop
        /// Time passes until just before the deadline of the schedule, and until the deadline.
        case almost, wake
        // Results of an attempt.
        case accepted, retry, retryAfter, hold
        /// Accepted, and nothing waits any more.
        case emptied
        /// The store returns nothing.
        case foundNothing
    }

    static let policy = DeliveryPolicy(
        batch: BatchSize(events: 1, bytes: .max), flushCount: 2, flushInterval: .seconds(15),
        criticalInterval: .seconds(3), backOff: .seconds(1),
        maximumBackOff: .seconds(4), holdInterval: .seconds(100))

    /// The longest wait of any kind: twelve hold intervals, or a throttle and the jitter.
    static let longest = Duration.seconds(3_604)

    /// A schedule, and the facts that follow from its inputs alone.
    struct Walk {
        var schedule = DeliverySchedule(policy: policy)
        var now = Duration.zero
        var hasBacklog = false
        /// Whether a flush asks the store, although nothing seems to wait.
        var mayAsk = false
        var isPaused = false
        var stopDeadline: Duration?
        /// Nothing may be sent before this: the server named the time.
        var throttledUntil = Duration.zero
        /// Nothing may be sent before this unless the host, or the network, asks for it.
        var heldUntil = Duration.zero
        var random: UInt64

        /// Asks twice for the decision, which must not change by being asked for.
        mutating func decision() -> DeliverySchedule.Decision {
            let first = schedule.decision(at: now, .init(waiting: hasBacklog ? 1 : 0))
            let second = schedule.decision(at: now, .init(waiting: hasBacklog ? 1 : 0))
            if first != second { Issue.record("a look changes the decision: \(first), then \(second)") }
            return first
        }

        /// - Returns: false if the input cannot come in this state.
        mutating func take(_ input: Input) -> Bool {
            let before = decision()
            let drawn = random
            switch input {
            case .append, .appendCritical:
                hasBacklog = true
                _ = schedule.appended(input == .append ? .normal : .critical, waiting: 1, at: { [now] in now })
            case .flush:
                schedule.flushRequested()
                (heldUntil, mayAsk) = (.zero, true)
            case .connectivity:
                schedule.connectivityChanged(.available)
                if case .held = schedule.phase {} else { heldUntil = .zero }
            case .pause, .resume:
                isPaused = input == .pause
                schedule.setPaused(isPaused)
            case .stop:
                schedule.stopRequested(deadline: now + .seconds(5))
                stopDeadline = min(stopDeadline ?? now + .seconds(5), now + .seconds(5))
                (heldUntil, mayAsk) = (.zero, true)
            case .almost, .wake:
                guard case .wait(let until?) = before else { return false }
                now = input == .wake ? until : max(now, until - .milliseconds(1))
            case .accepted, .emptied:
                guard before == .send, hasBacklog else { return false }
                hasBacklog = input == .accepted
                schedule.took(1)
                schedule.record(.progress, at: now, drawn)
            case .foundNothing:
                guard before == .send, !hasBacklog else { return false }
                schedule.foundNothing()
                mayAsk = false
            case .retry:
                guard before == .send, hasBacklog else { return false }
                schedule.record(.retry(after: nil), at: now, drawn)
                heldUntil = now
            case .retryAfter:
                guard before == .send, hasBacklog else { return false }
                schedule.record(.retry(after: .seconds(60)), at: now, drawn)
                throttledUntil = now + .seconds(60)
            case .hold:
                guard before == .send, hasBacklog else { return false }
                schedule.record(.hold, at: now, drawn)
                heldUntil = now + .seconds(50)
            }
            return true
        }

        /// The broken rule; nil if the decision is right.
        mutating func fault() -> String? {
            let decision = decision()
            let isOver = stopDeadline.map { now >= $0 } ?? false
            switch decision {
            case .send:
                if isOver { return "sends after its end" }
                if isPaused { return "sends while paused" }
                if !hasBacklog, !mayAsk { return "asks an empty store" }
                if now < throttledUntil { return "sends before the time that the server named" }
                if now < heldUntil { return "probes too early" }
            case .stop:
                if stopDeadline == nil { return "stops unasked" }
                if !isOver, hasBacklog, !isPaused, max(throttledUntil, heldUntil) == .zero, schedule.phase == .ready {
                    return "stops with something to send and the time for it"
                }
            case .wait(let until):
                if isOver { return "waits after its end" }
                if until == nil, hasBacklog, !isPaused { return "sleeps through its backlog" }
                if let stopDeadline, until.map({ $0 >= stopDeadline }) ?? true { return "sleeps through its end" }
                if let until, until <= now { return "waits for the past" }
                if let until, until > now + longest { return "waits too long" }
            }
            return nil
        }

        /// Whether a server that accepts everything gets the waiting events as time passes.
        mutating func endsWell() -> Bool {
            if isPaused { _ = take(.resume) }
            for _ in 0..<20 {
                switch decision() {
                case .send: _ = take(hasBacklog ? .emptied : .foundNothing)
                case .wait(let until?): now = until
                case .wait(until: nil): return !hasBacklog
                case .stop: return stopDeadline != nil
                }
            }
            return false
        }
    }

    /// - Returns: the number of sequences.
    private func enumerate(_ walk: Walk, _ path: [Input], depth: Int) -> Int {
        var count = 0
        for input in Input.allCases {
            var next = walk
            guard next.take(input) else { continue }
            count += 1
            let fault = next.fault()
            if let fault { Issue.record("\(fault) after \(path + [input])") }
            if path.count + 1 < depth {
                count += enumerate(next, path + [input], depth: depth)
            } else {
                var end = next
                if !end.endsWell() { Issue.record("what waits is never sent after \(path + [input])") }
            }
        }
        return count
    }

    @Test("no sequence of inputs makes it send too early or wait too long", arguments: [UInt64(0), 1 << 63, .max])
    func noSequenceBreaksRules(
        random: UInt64
    ) {
        let depth = Trials.count(full: 6, few: 5)
        let count = enumerate(Walk(random: random), [], depth: depth)
        #expect(count > 1_000)
        Trials.report("schedule, random \(random): \(count) sequences up to depth \(depth)")
    }
}
