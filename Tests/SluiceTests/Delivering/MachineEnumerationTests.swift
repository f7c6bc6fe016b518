import SluiceTesting
import Testing

@testable import Sluice

/// Every sequence of inputs up to a depth, against the rules that a sequence of any length has to keep.
@Suite(.timeLimit(.minutes(10))) struct MachineEnumerationTests {
    enum Input: CaseIterable {
        case append, appendCritical, flush, connectivity, pause, resume, stop, stopNow
        /// Time goes on to just before what the machine waits for, and to just that.
        case almost, wake
        // Answers, which only a send can have.
        case accepted, retry, retryAfter, hold
        /// Accepted, and the last that waited.
        case emptied
    }

    static let policy = DeliveryPolicy(
        flushCount: 2, flushInterval: .seconds(15), criticalInterval: .seconds(3), backOff: .seconds(1),
        maximumBackOff: .seconds(4), holdInterval: .seconds(100))

    /// The longest wait of any kind: twelve intervals of a hold, or what a server may ask for and the jitter on top.
    static let longest = Duration.seconds(3_604)

    /// A machine, and what an observer knows of it who has only seen its inputs.
    struct Walk {
        var machine = DeliveryMachine(policy: policy)
        var now = Duration.zero
        var hasBacklog = false
        var isPaused = false
        var isStopped = false
        var stopDeadline: Duration?
        /// Nothing may be sent before this, whatever happens: the server named the time.
        var throttledUntil = Duration.zero
        /// Nothing may be sent before this unless the host, or the network, asks for it.
        var heldUntil = Duration.zero
        var random: UInt64

        /// Looks at the decision as often as a loop would; it must not change by being looked at.
        mutating func decision() -> DeliveryMachine.Decision {
            let first = machine.decision(at: now, hasBacklog: hasBacklog)
            let second = machine.decision(at: now, hasBacklog: hasBacklog)
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
                _ = machine.appended(input == .append ? .normal : .critical, at: { [now] in now })
            case .flush:
                machine.flushRequested()
                heldUntil = .zero
            case .connectivity:
                machine.connectivityChanged(.available)
                if case .held = machine.phase {} else { heldUntil = .zero }
            case .pause, .resume:
                isPaused = input == .pause
                machine.setPaused(isPaused)
            case .stop:
                machine.stopRequested(deadline: now + .seconds(5))
                stopDeadline = min(stopDeadline ?? now + .seconds(5), now + .seconds(5))
                heldUntil = .zero
            case .stopNow:
                machine.stopNow()
                isStopped = true
            case .almost, .wake:
                guard case .wait(let until?) = before else { return false }
                now = input == .wake ? until : max(now, until - .milliseconds(1))
            case .accepted, .emptied:
                guard before == .send else { return false }
                hasBacklog = input == .accepted
                machine.answered(.progress, at: now) { drawn }
            case .retry:
                guard before == .send else { return false }
                machine.answered(.failed(retryAfter: nil), at: now) { drawn }
                heldUntil = now
            case .retryAfter:
                guard before == .send else { return false }
                machine.answered(.failed(retryAfter: .seconds(60)), at: now) { drawn }
                throttledUntil = now + .seconds(60)
            case .hold:
                guard before == .send else { return false }
                machine.answered(.held, at: now) { drawn }
                heldUntil = now + .seconds(50)
            }
            return true
        }

        /// What is wrong with the decision; nil if nothing is.
        mutating func fault() -> String? {
            let decision = decision()
            let isOver = isStopped || stopDeadline.map { now >= $0 } ?? false
            switch decision {
            case .send:
                if isOver { return "sends after its end" }
                if isPaused { return "sends while paused" }
                if !hasBacklog { return "sends nothing" }
                if now < throttledUntil { return "sends before the time that the server named" }
                if now < heldUntil { return "probes too early" }
            case .stop:
                if !isStopped, stopDeadline == nil { return "stops unasked" }
                if !isOver, hasBacklog, !isPaused, max(throttledUntil, heldUntil) == .zero, machine.phase == .idle {
                    return "stops with something to send and the time for it"
                }
            case .wait(let until):
                if isOver { return "waits after its end" }
                if until == nil, hasBacklog, !isPaused { return "sleeps through its backlog" }
                if let stopDeadline, until.map({ $0 >= stopDeadline }) ?? true { return "sleeps through its end" }
                if let until, until <= now { return "waits for the past" }
                if let until, until > now + longest { return "waits for ever" }
            }
            return nil
        }

        /// Whether a server that takes everything gets what waits, with nothing but time going on.
        mutating func endsWell() -> Bool {
            if isPaused { _ = take(.resume) }
            for _ in 0..<20 {
                switch decision() {
                case .send: _ = take(.emptied)
                case .wait(let until?): now = until
                case .wait(until: nil): return !hasBacklog
                case .stop: return isStopped || stopDeadline != nil
                }
            }
            return false
        }
    }

    /// - Returns: how many sequences there were.
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

    @Test("no sequence of inputs makes it send what it must not, or sleep", arguments: [UInt64(0), 1 << 63, .max])
    func noSequenceInputs(
        random: UInt64
    ) {
        let depth = Trials.count(full: 6, few: 5)
        let count = enumerate(Walk(random: random), [], depth: depth)
        #expect(count > 1_000)
        Trials.report("machine, random \(random): \(count) sequences up to depth \(depth)")
    }
}
