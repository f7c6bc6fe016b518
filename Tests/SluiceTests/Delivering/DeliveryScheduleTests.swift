import Testing

@testable import Sluice

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
        case append(at: Int), appendCritical(at: Int)
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
        /// A worker takes a batch.
        case took(Int)
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
        for input in inputs {
            switch input {
            case .append(let now): _ = schedule.appended(.normal) { .seconds(now) }
            case .appendCritical(let now): _ = schedule.appended(.critical) { .seconds(now) }
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
            case .foundEmpty(let now): _ = schedule.decision(at: .seconds(now), .init())
            case .foundEvents(let now): _ = schedule.decision(at: .seconds(now), .init(waiting: 1))
            case .took(let events): schedule.took(events)
            }
        }
        return schedule
    }

    static let failed = Effect.retry(after: nil)

    static let flushes: [Row] = [
        Row("the first event waits for the interval", [.append(at: 0)], at: 14, .wait(until: .seconds(15))),
        Row("the interval is over", [.append(at: 0)], at: 15, .send),
        Row("the oldest event counts", [.append(at: 0), .append(at: 10)], at: 11, .wait(until: .seconds(15))),
        Row("one below the count", [.append(at: 0), .append(at: 1)], at: 1, .wait(until: .seconds(15))),
        Row("the count", [.append(at: 0), .append(at: 1), .append(at: 1)], at: 1, .send),
        Row(
            "an event after the count waits for the next trigger, and a worker looks before that",
            [.append(at: 0), .append(at: 1), .append(at: 2), .append(at: 3), .foundEvents(at: 3), .took(3)], at: 3,
            .wait(until: .seconds(15))),
        Row(
            "the interval of an event after the count begins with it",
            [.append(at: 0), .append(at: 1), .append(at: 2), .append(at: 3), .foundEvents(at: 3), .took(3)], at: 15,
            .wait(until: .seconds(18))),
        Row(
            "a pass that was counted too long ends with what there is",
            [
                .append(at: 0), .append(at: 0), .append(at: 0), .foundEvents(at: 0), .took(1), .append(at: 1),
                .foundEvents(at: 1), .took(1), .append(at: 2),
            ], at: 2, .wait(until: .seconds(15))),
        Row(
            "an event that was sent in a full batch doesn't count again",
            [
                .append(at: 0), .flush, .foundEvents(at: 0), .append(at: 1), .append(at: 1), .append(at: 1), .took(4),
                .append(at: 2),
            ], at: 2, .wait(until: .seconds(16))),
        Row("a critical event", [.appendCritical(at: 2)], at: 4, .wait(until: .seconds(5))),
        Row("the critical interval is over", [.appendCritical(at: 2)], at: 5, .send),
        Row(
            "a critical event brings the date nearer", [.append(at: 0), .appendCritical(at: 1)], at: 1,
            .wait(until: .seconds(4))),
        Row(
            "a critical event never puts it off", [.append(at: 0), .appendCritical(at: 14)], at: 14,
            .wait(until: .seconds(15))),
        Row(
            "a normal event after a critical one", [.appendCritical(at: 0), .append(at: 1)], at: 1,
            .wait(until: .seconds(3))),
        Row("a flush", [.append(at: 0), .flush], at: 0, .send),
        Row(
            "a delivery goes on until nothing waits", [.append(at: 0), .foundEvents(at: 15), .append(at: 16)], at: 16,
            .send),
        Row(
            "a delivery that has ended does not go on",
            [.append(at: 0), .foundEvents(at: 15), .foundEmpty(at: 16), .append(at: 17)], at: 17,
            .wait(until: .seconds(32))),
        Row(
            "the count starts anew when nothing waits",
            [.append(at: 0), .append(at: 0), .foundEmpty(at: 1), .append(at: 2)], at: 2, .wait(until: .seconds(17))),
        Row(
            "events of which no one has told yet get the interval, too", [.foundEvents(at: 5)], at: 6,
            .wait(until: .seconds(20))),
    ]

    static let failures: [Row] = [
        Row("back-off", [.flush, .answer(failed, at: 10)], at: 10, .wait(until: .milliseconds(10_550))),
        Row("back-off is over", [.flush, .answer(failed, at: 10)], at: 11, .send),
        Row(
            "the shortest back-off is a tenth", [.flush, .answer(failed, at: 10, random: 0)], at: 10,
            .wait(until: .milliseconds(10_100))),
        Row(
            "events do not shorten a back-off",
            [
                .flush, .answer(failed, at: 9), .answer(failed, at: 10), .append(at: 10), .append(at: 10),
                .append(at: 10),
            ],
            at: 10, .wait(until: .milliseconds(11_100))),
        Row("a flush ends a back-off", [.answer(failed, at: 10), .flush], at: 10, .send),
        Row("the network ends a back-off", [.flush, .answer(failed, at: 10), .connectivity], at: 10, .send),
        Row(
            "the network starts the back-off anew",
            [.flush, .answer(failed, at: 1), .answer(failed, at: 5), .connectivity, .answer(failed, at: 10)], at: 10,
            .wait(until: .milliseconds(10_550))),
        Row(
            "a success takes one failure off the back-off",
            [.flush] + Array(repeating: .answer(failed, at: 1), count: 3)
                + [.answer(.progress, at: 5), .answer(failed, at: 10)],
            at: 10, .wait(until: .milliseconds(12_200))),
        Row(
            "as many successes as failures start it anew",
            [.flush, .answer(failed, at: 1), .answer(.progress, at: 5), .answer(failed, at: 10)], at: 10,
            .wait(until: .milliseconds(10_550))),
        Row(
            "ten successes start it anew, however many failures there were",
            Array(repeating: .answer(failed, at: 1), count: 50) + Array(repeating: .answer(.progress, at: 5), count: 10)
                + [.answer(failed, at: 10)],
            at: 10, .wait(until: .milliseconds(10_550))),
        Row(
            "Retry-After is a floor, the jitter comes on top",
            [.flush, .answer(.retry(after: .seconds(60)), at: 10)], at: 69,
            .wait(until: .milliseconds(70_550))),
        Row("Retry-After is over", [.flush, .answer(.retry(after: .seconds(60)), at: 10)], at: 71, .send),
        Row(
            "not even a flush goes before Retry-After",
            [.flush, .answer(.retry(after: .seconds(60)), at: 10), .flush], at: 11,
            .wait(until: .milliseconds(70_550))),
        Row(
            "nor does the network", [.flush, .answer(.retry(after: .seconds(60)), at: 10), .connectivity],
            at: 11, .wait(until: .milliseconds(70_550))),
        Row(
            "a Retry-After in the past is none",
            [.flush, .answer(.retry(after: .seconds(-60)), at: 10)], at: 10,
            .wait(until: .milliseconds(10_550))),
        Row(
            "a Retry-After beyond an hour is an hour",
            [.flush, .answer(.retry(after: .seconds(Int64.max)), at: 10)], at: 10,
            .wait(until: .milliseconds(3_610_550))),
        Row(
            "hold waits between half of the interval and all of it", [.flush, .answer(.hold, at: 10)], at: 10,
            .wait(until: .seconds(235))),
        Row(
            "the least wait of a hold", [.flush, .answer(.hold, at: 10, random: 0)], at: 10,
            .wait(until: .seconds(160))),
        Row("the probe", [.flush, .answer(.hold, at: 10)], at: 235, .send),
        Row(
            "a probe that fails holds on, twice as long", [.flush, .answer(.hold, at: 10), .answer(.hold, at: 235)],
            at: 236, .wait(until: .seconds(685))),
        Row(
            "no hold is longer than twelve intervals", Array(repeating: .answer(.hold, at: 10), count: 9), at: 10,
            .wait(until: .seconds(10 + 2_700))),
        Row(
            "a success ends the doubling", [.answer(.hold, at: 1), .answer(.progress, at: 2), .answer(.hold, at: 10)],
            at: 10, .wait(until: .seconds(235))),
        Row("a flush probes at once", [.answer(.hold, at: 10), .flush], at: 10, .send),
        Row(
            "the network does not end a hold", [.flush, .answer(.hold, at: 10), .connectivity], at: 10,
            .wait(until: .seconds(235))),
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
        Row("30 s of much background time are left", [.flush, .suspension(in: 180, at: 0)], at: 149, .send),
        Row("less is left", [.flush, .suspension(in: 180, at: 0)], at: 150, .wait(until: .seconds(190))),
        Row("a third of little background time is left", [.flush, .suspension(in: 30, at: 0)], at: 19, .send),
        Row("less than a third", [.flush, .suspension(in: 30, at: 0)], at: 20, .wait(until: .seconds(40))),
        Row("the time is over", [.flush, .suspension(in: 0, at: 7)], at: 7, .wait(until: .seconds(17))),
        Row("negative time is over", [.flush, .suspension(in: -5, at: 7)], at: 7, .wait(until: .seconds(17))),
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

    @Test("a backlog leads to a decision", arguments: flushes + failures + switches + suspensions)
    func backlogLeadsDecision(row: Row) {
        var schedule = DeliveryScheduleTests.schedule(row.inputs)
        #expect(schedule.decision(at: .seconds(row.now), .init(waiting: 1)) == row.expected)
    }

    static let empty: [Row] = [
        Row("at first", [], at: 0, .wait(until: nil)),
        Row("after a flush", [.flush], at: 0, .wait(until: nil)),
        Row("after a failure", [.answer(failed, at: 1)], at: 1, .wait(until: nil)),
        Row("after a stop", [.stop(deadline: 10)], at: 1, .stop),
        Row("after a stop while paused", [.pause, .stop(deadline: 10)], at: 1, .stop),
    ]

    @Test("without a backlog nothing is sent", arguments: empty) func withoutBacklogNothing(row: Row) {
        var schedule = DeliveryScheduleTests.schedule(row.inputs)
        #expect(schedule.decision(at: .seconds(row.now), .init()) == row.expected)
    }

    @Test("the back-off doubles up to its maximum")
    func backOffDoubles() {
        var schedule = DeliverySchedule(policy: DeliveryScheduleTests.policy)
        var waits: [Duration] = []
        for _ in 0..<30 {
            schedule.record(.retry(after: nil), at: .zero, DeliveryScheduleTests.half)
            guard case .backingOff(let until) = schedule.phase else {
                Issue.record("no back-off but \(schedule.phase)")
                return
            }
            waits.append(until * 20 / 11)
        }
        let powers: [Duration] = [1, 2, 4, 8, 16, 32, 64, 128, 256].map { .seconds($0) }
        #expect(waits == powers + Array(repeating: .seconds(300), count: 21))
    }

    @Test(
        "jitter draws from 10 % to 100 % of the limit",
        arguments: [(0, 0.1), (1 << 63, 0.55), (1 << 62, 0.325), (UInt64.max, 1)] as [(UInt64, Double)])
    func jitterIsShareOfLimit(random: UInt64, share: Double) {
        let jitter = DeliverySchedule.jittered(.seconds(1), random)
        #expect(abs(jitter / .seconds(1) - share) < 1e-9)
        #expect(jitter <= .seconds(1))
    }

    @Test("events that are stored together are in one pass")
    func eventsStoredTogetherAreInOnePass() {
        var schedule = DeliverySchedule(policy: Self.policy)
        for index in 0..<5 { _ = schedule.appended(.normal, canBeginPass: index == 4) { .zero } }
        #expect(schedule.decision(at: .zero, .init(waiting: 5)) == .send)
        schedule.took(3)
        #expect(schedule.decision(at: .zero, .init(waiting: 2)) == .send)
    }

    @Test("critical events that overtake a pass neither end it nor count towards the next one", arguments: [1, 2, 100])
    func overtakingEventsDoNotCount(critical: Int) {
        var policy = Self.policy
        policy.flushCount = critical + 1
        var schedule = DeliverySchedule(policy: policy)
        schedule.flushRequested()
        #expect(schedule.decision(at: .zero, .init(waiting: 5)) == .send)
        for _ in 0..<critical { _ = schedule.appended(.critical) { .zero } }
        schedule.took(critical, critical: critical)
        #expect(schedule.decision(at: .zero, .init(waiting: 5)) == .send)
        schedule.took(5)
        _ = schedule.appended(.normal) { .zero }
        if schedule.decision(at: .zero, .init(waiting: 1)) == .send { Issue.record("the next pass begins too early") }
    }

    /// An input is news only if the next send is nearer than the loop thinks: the loop need not wake for others.
    @Test("only what brings the next send nearer is news")
    func onlyWhatBrings() {
        var schedule = DeliverySchedule(policy: DeliveryScheduleTests.policy)
        let news = [
            schedule.appended(.normal) { .seconds(0) },
            schedule.appended(.normal) { .seconds(1) },
            schedule.appended(.normal) { .seconds(1) },
            schedule.appended(.normal) { .seconds(2) },
            schedule.appended(.critical) { .seconds(2) },
            schedule.appended(.critical) { .seconds(3) },
        ]
        #expect(news == [true, false, true, false, true, false])
    }

    @Test("durations of a year don't overflow")
    func longestDurations() {
        let year = Duration.seconds(31_536_000)
        let policy = DeliveryPolicy(
            flushInterval: year, criticalInterval: year, backOff: year, maximumBackOff: year,
            holdInterval: year)
        var schedule = DeliverySchedule(policy: policy)
        _ = schedule.appended(.normal) { .seconds(10) }
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
        result.accepted = effect == .progress ? 1 : 0
        _ = record(&result, epoch: epoch, at: now) { random }
    }
}
