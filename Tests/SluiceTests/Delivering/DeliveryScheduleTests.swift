import Testing

@testable import Sluice
@testable import SluiceDelivery

/// Inputs and decisions of the pure part, as tables.
@Suite struct DeliveryScheduleTests {
    typealias Decision = DeliverySchedule.Decision
    typealias Effect = SendResult.Effect

    static let policy = DeliveryPolicy(
        flushCount: 3, flushInterval: .seconds(15), criticalInterval: .seconds(3), backOff: .seconds(1),
        maximumBackOff: .seconds(300), holdInterval: .seconds(300))

    /// The largest share that the jitter can take is just below one, and this one is exactly a half.
    static let half: UInt64 = 1 << 63

    /// One thing that happens to a schedule; times are seconds of the continuous clock.
    enum Input: Sendable {
        case append(at: Int)
        case flush, connectivity, pause, resume
        case stop(deadline: Int)
        /// Background time, or nil for its end.
        case suspension(in: Int?, at: Int)
        /// Requests are cancelled because the background time is over.
        case cancel
        case answer(Effect, at: Int, random: UInt64 = half)
        /// A look at the store that finds it empty.
        case foundEmpty(at: Int)
        /// A look at the store that finds events.
        case foundEvents(at: Int)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let inputs: [Input]
        let now: Int
        let expected: Decision

        init(_ description: String, _ inputs: [Input], at now: Int, _ expected: Decision) {
            testDescription = description
            self.inputs = inputs
            self.now = now
            self.expected = expected
        }
    }

    static func schedule(_ inputs: [Input]) -> DeliverySchedule {
        var schedule = DeliverySchedule(policy: policy)
        var waiting = 0
        for input in inputs {
            switch input {
            case .append(let now):
                waiting += 1
                _ = schedule.appended(.normal, waiting: waiting) { .seconds(now) }
            case .flush: schedule.flushRequested()
            case .connectivity: schedule.connectivityChanged(.available)
            case .pause: schedule.setPaused(true)
            case .resume: schedule.setPaused(false)
            case .stop(let deadline): schedule.stopRequested(deadline: .seconds(deadline))
            case .suspension(let seconds, let now):
                schedule.expectSuspension(in: seconds.map { .seconds($0) }, at: .seconds(now))
            case .cancel: schedule.cancelledSends()
            case .answer(let effect, let now, let random):
                schedule.record(effect, at: .seconds(now), random)
            case .foundEmpty(let now):
                waiting = 0
                _ = schedule.decision(at: .seconds(now), .init())
                schedule.foundNothing()
                _ = schedule.decision(at: .seconds(now), .init())
            case .foundEvents(let now): _ = schedule.decision(at: .seconds(now), .init(waiting: 1))
            }
        }
        return schedule
    }

    static let failed = Effect.retry(after: nil)

    static let waits: [Row] = [
        Row("an interval", [.append(at: 0)], at: 14, .wait(until: .seconds(15))),
        Row("an interval is over", [.append(at: 0)], at: 15, .send),
        Row("a back-off", [.flush, .answer(failed, at: 10)], at: 10, .wait(until: .milliseconds(10_550))),
        Row("a back-off is over", [.flush, .answer(failed, at: 10)], at: 11, .send),
        Row(
            "events don't shorten a back-off",
            [
                .flush, .answer(failed, at: 9), .answer(failed, at: 10), .append(at: 10), .append(at: 10),
                .append(at: 10),
            ],
            at: 10, .wait(until: .milliseconds(11_100))),
        Row("a flush ends a back-off", [.answer(failed, at: 10), .flush], at: 10, .send),
        Row("the network ends a back-off", [.flush, .answer(failed, at: 10), .connectivity], at: 10, .send),
        Row(
            "the network ends three back-offs",
            [.flush] + Array(repeating: [.answer(failed, at: 10), .connectivity], count: 3).flatMap(\.self), at: 10,
            .send),
        Row(
            "and not the fourth one",
            [.flush] + Array(repeating: [.answer(failed, at: 10), .connectivity], count: 4).flatMap(\.self), at: 10,
            .wait(until: .milliseconds(10_550))),
        Row(
            "unless the receiver has accepted something",
            [.flush] + Array(repeating: [.answer(failed, at: 10), .connectivity], count: 3).flatMap(\.self)
                + [.answer(.progress, at: 10), .answer(failed, at: 10), .connectivity], at: 10, .send),
        Row(
            "the network resets the back-off",
            [.flush, .answer(failed, at: 1), .answer(failed, at: 5), .connectivity, .answer(failed, at: 10)], at: 10,
            .wait(until: .milliseconds(10_550))),
        Row(
            "not even a flush sends before Retry-After",
            [.flush, .answer(.retry(after: .seconds(60)), at: 10), .flush], at: 11,
            .wait(until: .milliseconds(70_550))),
        Row("Retry-After is over", [.flush, .answer(.retry(after: .seconds(60)), at: 10)], at: 71, .send),
        Row("a probe", [.flush, .answer(.hold, at: 10)], at: 235, .send),
        Row("a flush probes now", [.answer(.hold, at: 10), .flush], at: 10, .send),
        Row(
            "the network doesn't end a hold", [.flush, .answer(.hold, at: 10), .connectivity], at: 10,
            .wait(until: .seconds(235))),
        Row(
            "a delivery that has ended doesn't go on",
            [.append(at: 0), .foundEvents(at: 15), .foundEmpty(at: 16), .append(at: 17)], at: 17,
            .wait(until: .seconds(32))),
    ]

    static let switches: [Row] = [
        Row("paused", [.append(at: 0), .pause], at: 15, .wait(until: nil)),
        Row("a flush while paused", [.append(at: 0), .pause, .flush], at: 15, .wait(until: nil)),
        Row("resumed", [.append(at: 0), .pause, .resume], at: 14, .wait(until: .seconds(15))),
        Row("resumed after the date", [.append(at: 0), .pause, .resume], at: 16, .send),
        Row("a stop drains", [.append(at: 0), .stop(deadline: 10)], at: 1, .send),
        Row("a stop ends at its deadline", [.append(at: 0), .stop(deadline: 10)], at: 10, .stop),
        Row("a stop retries at once", [.flush, .answer(failed, at: 1), .stop(deadline: 10)], at: 1, .send),
        Row(
            "a stop waits for a back-off that ends before the deadline",
            [.append(at: 0), .stop(deadline: 10), .answer(failed, at: 1)], at: 1,
            .wait(until: .milliseconds(1_550))),
        Row(
            "a stop does not wait beyond the deadline",
            [.append(at: 0), .stop(deadline: 10), .answer(.retry(after: .seconds(20)), at: 1)], at: 1, .stop),
        Row("a hold ends a stop", [.append(at: 0), .stop(deadline: 10), .answer(.hold, at: 1)], at: 1, .stop),
        Row("a stop while paused", [.append(at: 0), .pause, .stop(deadline: 10)], at: 1, .stop),
        Row("the nearer of two deadlines", [.append(at: 0), .stop(deadline: 5), .stop(deadline: 10)], at: 6, .stop),
    ]

    static let suspensions: [Row] = [
        Row("the background time is over", [.flush, .suspension(in: 0, at: 7)], at: 7, .wait(until: .seconds(17))),
        Row("the process was resumed", [.flush, .suspension(in: 0, at: 7)], at: 17, .send),
        Row("the app is active again", [.flush, .suspension(in: 0, at: 7), .suspension(in: nil, at: 8)], at: 8, .send),
        Row(
            "and retries requests that were cancelled",
            [.flush, .suspension(in: 0, at: 7), .cancel, .answer(failed, at: 7), .suspension(in: nil, at: 7)],
            at: 7, .send),
        Row(
            "but not requests that failed",
            [.flush, .answer(failed, at: 7), .suspension(in: 0, at: 7), .suspension(in: nil, at: 7)],
            at: 7, .wait(until: .milliseconds(7_550))),
        Row(
            "a failure of the receiver keeps its back-off",
            [.flush, .suspension(in: 30, at: 0), .answer(failed, at: 1), .suspension(in: nil, at: 1)], at: 1,
            .wait(until: .milliseconds(1_550))),
        Row(
            "but not before Retry-After",
            [
                .flush, .suspension(in: 0, at: 7), .answer(.retry(after: .seconds(60)), at: 10),
                .suspension(in: nil, at: 11),
            ], at: 11, .wait(until: .milliseconds(70_550))),
        Row("a shutdown has a deadline of its own", [.suspension(in: 0, at: 7), .stop(deadline: 10)], at: 8, .send),
        Row("a pause stays", [.pause, .flush, .suspension(in: 0, at: 7)], at: 8, .wait(until: nil)),
    ]

    @Test("a backlog leads to a decision", arguments: waits + switches + suspensions)
    func backlogLeadsDecision(row: Row) {
        var schedule = DeliveryScheduleTests.schedule(row.inputs)
        #expect(schedule.decision(at: .seconds(row.now), .init(waiting: 1)) == row.expected)
    }

    static let empty: [Row] = [
        Row("at first", [], at: 0, .wait(until: nil)),
        // The store can have an event that isn't counted yet.
        Row("after a flush, the store is asked", [.flush], at: 0, .send),
        Row("after a flush that has found nothing", [.flush, .foundEmpty(at: 0)], at: 0, .wait(until: nil)),
        Row("after a failure", [.answer(failed, at: 1)], at: 1, .wait(until: nil)),
        Row("after a stop, the store is asked", [.stop(deadline: 10)], at: 1, .send),
        Row("after a stop that has found nothing", [.stop(deadline: 10), .foundEmpty(at: 1)], at: 1, .stop),
        Row("after a stop while paused", [.pause, .stop(deadline: 10)], at: 1, .stop),
    ]

    @Test("without waiting events, only a flush asks the store", arguments: empty)
    func withoutWaitingEvents(row: Row) {
        var schedule = DeliveryScheduleTests.schedule(row.inputs)
        #expect(schedule.decision(at: .seconds(row.now), .init()) == row.expected)
    }

    @Test("without waiting events, an unknown network causes no wake-up")
    func unknownNetworkCausesNoWakeUp() {
        var policy = Self.policy
        policy.sendsOverMeteredNetworks = false
        var schedule = DeliverySchedule(policy: policy)
        schedule.flushRequested()
        for now in [0, 9, 10, 11] {
            #expect(schedule.decision(at: .seconds(now), .init()) == .wait(until: nil))
        }
        #expect(schedule.decision(at: .seconds(20), .init(waiting: 1)) == .wait(until: .seconds(30)))
    }

    @Test("an event that can't be sent uses up no probe, and doesn't end a hold or a back-off")
    func unsentEventIsNoProbe() throws {
        let line = try EventLine(
            Event(id: EventID.make(at: Timestamp(milliseconds: 0)), name: "Large", time: Timestamp(milliseconds: 0)))
        func rejection(isRefusal: Bool) -> SendResult {
            var result = SendResult()
            (result.offered, result.status) = (1, isRefusal ? 400 : nil)
            result.rejected = [.init(line: line, place: 0, reason: "no", isRefusal: isRefusal)]
            return result
        }
        var schedule = DeliverySchedule(policy: Self.policy)
        func record(_ result: SendResult) -> (phase: BackOff.Phase, stage: Refusals.Stage) {
            var result = result
            _ = schedule.record(&result, epoch: schedule.epoch, at: .seconds(10)) { Self.half }
            return (schedule.phase, schedule.stage)
        }
        for _ in 1..<Refusals.limit { #expect(record(rejection(isRefusal: true)).phase == .ready) }
        let (held, stage) = record(rejection(isRefusal: true))
        #expect(held == .held(until: .seconds(235)))
        for _ in 0..<3 { #expect(record(rejection(isRefusal: false)) == (held, stage)) }
        #expect(record(rejection(isRefusal: true)).phase == .held(until: .seconds(460)))

        schedule = DeliverySchedule(policy: Self.policy)
        var failure = SendResult()
        failure.effect = .retry(after: nil)
        let backOff = record(failure).phase
        #expect(record(rejection(isRefusal: false)).phase == backOff)
    }

    @Test("critical events that overtake a pass neither end it nor count towards the next one", arguments: [1, 2, 100])
    func overtakingEventsDoNotCount(critical: Int) {
        var policy = Self.policy
        policy.flushCount = critical + 1
        var schedule = DeliverySchedule(policy: policy)
        schedule.flushRequested()
        #expect(schedule.decision(at: .zero, .init(waiting: 5)) == .send)
        for number in 1...critical { _ = schedule.appended(.critical, waiting: 5 + number) { .zero } }
        schedule.took(critical, critical: critical)
        #expect(schedule.decision(at: .zero, .init(waiting: 5)) == .send)
        schedule.took(5)
        schedule.foundNothing()
        _ = schedule.decision(at: .zero, .init())
        _ = schedule.appended(.normal, waiting: 1) { .zero }
        if schedule.decision(at: .zero, .init(waiting: 1)) == .send { Issue.record("the next pass begins too early") }
    }

    @Test("durations of a year don't overflow")
    func longestDurations() {
        let year = Duration.seconds(31_536_000)
        let policy = DeliveryPolicy(
            flushInterval: year, criticalInterval: year, backOff: year, maximumBackOff: year,
            holdInterval: year)
        var schedule = DeliverySchedule(policy: policy)
        _ = schedule.appended(.normal, waiting: 1) { .seconds(10) }
        #expect(schedule.decision(at: .seconds(10), .init(waiting: 1)) == .wait(until: .seconds(31_536_010)))
        for _ in 0..<30 { schedule.record(.retry(after: nil), at: .seconds(10), .max) }
        guard case .wait(let until?) = schedule.decision(at: .seconds(10), .init(waiting: 1)) else {
            Issue.record("no back-off")
            return
        }
        #expect(until <= .seconds(31_536_010))
    }
}

extension DeliverySchedule {
    /// Records a result without events that was sent in the present epoch.
    mutating func record(_ effect: SendResult.Effect, at now: Duration, _ random: UInt64) {
        var result = SendResult(effect: effect)
        result.acceptedPlaces = effect == .progress ? [0] : []
        _ = record(&result, epoch: epoch, at: now) { random }
    }
}
