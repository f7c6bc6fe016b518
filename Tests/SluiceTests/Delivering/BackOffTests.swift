import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The rules of retries and holds: tables of attempts and the phase after them.
@Suite struct BackOffTests {
    typealias Effect = SendResult.Effect

    private static let policy = DeliveryPolicy(
        backOff: .seconds(1), maximumBackOff: .seconds(300), holdInterval: .seconds(300))

    /// The largest share that the jitter can take is just below one, and this one is exactly a half.
    static let half: UInt64 = 1 << 63
    static let failed = Effect.retry(after: nil)

    /// Times are seconds of the continuous clock.
    enum Input: Sendable {
        case answer(Effect, at: Int, random: UInt64 = half)
        /// The answer to an attempt that began before the last failure.
        case lateAnswer(Effect, at: Int)
        /// A hold for which the receiver names a time.
        case hold(seconds: Int, at: Int, isLate: Bool = false)
        case storeFailed(at: Int)
        /// A flush, which ends a wait.
        case endWait
        /// A network that has changed.
        case endBackOff
        case networkChanged(isRegained: Bool)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let inputs: [Input]
        let expected: BackOff.Phase

        init(_ description: String, _ inputs: [Input], _ expected: BackOff.Phase) {
            (testDescription, self.inputs, self.expected) = (description, inputs, expected)
        }
    }

    private static func backOff(_ inputs: [Input], _ policy: DeliveryPolicy = policy) -> BackOff {
        var backOff = BackOff(policy)
        for input in inputs {
            switch input {
            case .answer(let effect, let now, let random):
                backOff.record(effect, epoch: backOff.epoch, at: .seconds(now)) { random }
            case .lateAnswer(let effect, let now):
                backOff.record(effect, epoch: backOff.epoch - 1, at: .seconds(now)) { half }
            case .hold(let seconds, let now, let isLate):
                let epoch = isLate ? backOff.epoch - 1 : backOff.epoch
                backOff.record(.hold, holdTime: .seconds(seconds), epoch: epoch, at: .seconds(now)) { half }
            case .storeFailed(let now): backOff.backOff(at: .seconds(now)) { half }
            case .endWait: backOff.endWait()
            case .endBackOff: backOff.endBackOff()
            case .networkChanged(let isRegained): _ = backOff.networkChanged(isRegained: isRegained)
            }
        }
        return backOff
    }

    static let retries: [Row] = [
        Row("at first", [], .ready),
        Row("a failure", [.answer(failed, at: 10)], .backingOff(until: .milliseconds(10_550))),
        Row(
            "the shortest back-off is a tenth", [.answer(failed, at: 10, random: 0)],
            .backingOff(until: .milliseconds(10_100))),
        Row("a failed store", [.storeFailed(at: 10)], .backingOff(until: .milliseconds(10_550))),
        Row(
            "a receiver that defers all events", [.answer(.deferred, at: 10)], .backingOff(until: .milliseconds(10_550))
        ),
        Row(
            "deferrals don't double the back-off", [.answer(.deferred, at: 1), .answer(.deferred, at: 10)],
            .backingOff(until: .milliseconds(10_550))),
        Row(
            "the second failure doubles the back-off", [.answer(failed, at: 9), .answer(failed, at: 10)],
            .backingOff(until: .milliseconds(11_100))),
        Row("a success", [.answer(failed, at: 1), .answer(.progress, at: 5)], .ready),
        Row(
            "a success takes one failure off the back-off",
            Array(repeating: .answer(failed, at: 1), count: 3) + [.answer(.progress, at: 5), .answer(failed, at: 10)],
            .backingOff(until: .milliseconds(12_200))),
        Row(
            "as many successes as failures reset it",
            [.answer(failed, at: 1), .answer(.progress, at: 5), .answer(failed, at: 10)],
            .backingOff(until: .milliseconds(10_550))),
        Row(
            "ten successes reset it, however many failures there were",
            Array(repeating: .answer(failed, at: 1), count: 50) + Array(repeating: .answer(.progress, at: 5), count: 10)
                + [.answer(failed, at: 10)], .backingOff(until: .milliseconds(10_550))),
        Row(
            "a new network resets it",
            [
                .answer(failed, at: 1), .answer(failed, at: 5), .networkChanged(isRegained: false),
                .answer(failed, at: 10),
            ],
            .backingOff(until: .milliseconds(10_550))),
        Row("a flush ends it", [.answer(failed, at: 10), .endWait], .ready),
        Row("a new network ends it", [.answer(failed, at: 10), .endBackOff], .ready),
    ]

    static let throttles: [Row] = [
        Row(
            "the jitter comes on top of Retry-After", [.answer(.retry(after: .seconds(60)), at: 10)],
            .throttled(until: .milliseconds(70_550))),
        Row(
            "a Retry-After in the past counts as zero", [.answer(.retry(after: .seconds(-60)), at: 10)],
            .throttled(until: .milliseconds(10_550))),
        Row(
            "a Retry-After beyond an hour is an hour", [.answer(.retry(after: .seconds(Int64.max)), at: 10)],
            .throttled(until: .milliseconds(3_610_550))),
        Row(
            "a flush doesn't end it", [.answer(.retry(after: .seconds(60)), at: 10), .endWait],
            .throttled(until: .milliseconds(70_550))),
        Row(
            "a new network doesn't end it", [.answer(.retry(after: .seconds(60)), at: 10), .endBackOff],
            .throttled(until: .milliseconds(70_550))),
        Row(
            "a success of another batch doesn't end it",
            [.answer(.retry(after: .seconds(60)), at: 10), .answer(.progress, at: 11)],
            .throttled(until: .milliseconds(70_550))),
        Row(
            "a shorter wait of another batch doesn't shorten it",
            [.answer(.retry(after: .seconds(60)), at: 10), .answer(failed, at: 11)],
            .throttled(until: .milliseconds(70_550))),
        Row(
            "a hold of another batch lengthens it",
            [.answer(.retry(after: .seconds(60)), at: 10), .answer(.hold, at: 11)],
            .throttled(until: .seconds(236))),
    ]

    static let holds: [Row] = [
        Row(
            "a hold waits between half of the interval and all of it", [.answer(.hold, at: 10)],
            .held(until: .seconds(235))),
        Row("the shortest hold", [.answer(.hold, at: 10, random: 0)], .held(until: .seconds(160))),
        Row(
            "a probe that fails doubles the hold", [.answer(.hold, at: 10), .answer(.hold, at: 235)],
            .held(until: .seconds(685))),
        Row(
            "no hold is longer than twelve intervals", Array(repeating: .answer(.hold, at: 10), count: 9),
            .held(until: .seconds(10 + 2_700))),
        Row(
            "a success ends the doubling", [.answer(.hold, at: 1), .answer(.progress, at: 2), .answer(.hold, at: 10)],
            .held(until: .seconds(235))),
        Row("a flush ends it", [.answer(.hold, at: 10), .endWait], .ready),
        Row("a new network doesn't end it", [.answer(.hold, at: 10), .endBackOff], .held(until: .seconds(235))),
    ]

    static let lateAnswers: [Row] = [
        Row(
            "a late success doesn't end a back-off", [.answer(failed, at: 10), .lateAnswer(.progress, at: 10)],
            .backingOff(until: .milliseconds(10_550))),
        Row("a late success ends a hold", [.answer(.hold, at: 10), .lateAnswer(.progress, at: 10)], .ready),
        Row(
            "a late failure is the same outage", [.answer(failed, at: 10), .lateAnswer(failed, at: 10)],
            .backingOff(until: .milliseconds(10_550))),
        Row(
            "a late Retry-After counts", [.answer(failed, at: 10), .lateAnswer(.retry(after: .seconds(5)), at: 10)],
            .throttled(until: .seconds(15))),
        Row(
            "a late failure counts when the wait is over",
            [.answer(failed, at: 10), .endWait, .lateAnswer(failed, at: 11)], .backingOff(until: .milliseconds(12_100))),
        Row(
            "a late success doesn't end the time that the receiver asked for with a hold",
            [.hold(seconds: 600, at: 10), .lateAnswer(.progress, at: 10)], .throttled(until: .seconds(610))),
        Row(
            "the time of a late hold counts in a back-off",
            [.answer(failed, at: 10), .hold(seconds: 600, at: 10, isLate: true)], .throttled(until: .seconds(610))),
        Row(
            "the time of a late hold lengthens a hold",
            [.answer(.hold, at: 10), .hold(seconds: 600, at: 10, isLate: true)], .held(until: .seconds(610))),
        Row(
            "a flush doesn't end that time",
            [.answer(.hold, at: 10), .hold(seconds: 100, at: 10, isLate: true), .endWait],
            .throttled(until: .seconds(110))),
        Row(
            "a hold stays one with a late Retry-After",
            [.answer(.hold, at: 10), .lateAnswer(.retry(after: .seconds(5)), at: 10)], .held(until: .seconds(235))),
    ]

    @Test("attempts lead to a phase", arguments: retries + throttles + holds + lateAnswers)
    func attemptsLeadToPhase(row: Row) {
        #expect(BackOffTests.backOff(row.inputs).phase == row.expected)
    }

    @Test("the back-off doubles up to its maximum")
    func backOffDoubles() {
        let waits = (1...30).map { failures in
            let backOff = BackOffTests.backOff(Array(repeating: .answer(BackOffTests.failed, at: 0), count: failures))
            return (backOff.phase.deadline ?? .zero) * 20 / 11
        }
        let powers: [Duration] = [1, 2, 4, 8, 16, 32, 64, 128, 256].map { .seconds($0) }
        #expect(waits == powers + Array(repeating: .seconds(300), count: 21))
    }

    @Test("steps replace the doubling", arguments: [(1, 7.5), (2, 225), (3, 900), (9, 900)] as [(Int, Double)])
    func stepsReplaceDoubling(failures: Int, seconds: Double) {
        let backOff = BackOffTests.backOff(
            Array(repeating: .answer(BackOffTests.failed, at: 0), count: failures), .appCenter)
        #expect(backOff.phase == .backingOff(until: .seconds(seconds)))
    }

    @Test("three failures make a probe of the next batch")
    func threeFailuresMakeProbe() {
        let areProbing = (0...4).map { failures in
            BackOffTests.backOff(Array(repeating: .answer(BackOffTests.failed, at: 0), count: failures)).isProbing
        }
        #expect(areProbing == [false, false, false, true, true])
    }

    @Test("only the receiver's failures begin an epoch")
    func failuresBeginEpoch() {
        let epochs = [
            Input.answer(BackOffTests.failed, at: 0), .answer(.hold, at: 0), .answer(.progress, at: 0),
            .answer(.deferred, at: 0), .storeFailed(at: 0),
        ].map { BackOffTests.backOff([$0]).epoch }
        #expect(epochs == [1, 1, 0, 0, 0])
    }

    @Test(
        "a deferred batch waits for the receiver's time, and its back-off doubles",
        arguments: [(0, 1), (1, 2), (4, 16), (30, 300)])
    func deferralDoubles(deferrals: Int, seconds: Int) {
        var batch = BatchProgressTests.progress(2)
        for _ in 0...deferrals {
            batch.resume()
            _ = batch.apply(.each([.retry(after: .seconds(20)), .retry(after: nil)]), toFirst: 2)
        }
        let deferral = BackOff(BackOffTests.policy).deferral(batch, at: .seconds(10), random: .max)
        #expect(deferral.notBefore == .seconds(30))
        // The first resume counts as a deferral.
        let wait = deferral.until - deferral.notBefore
        #expect(abs(wait / min(.seconds(seconds * 2), .seconds(300)) - 1) < 1e-9)
    }

    @Test(
        "jitter draws from 10 % to 100 % of the limit",
        arguments: [(0, 0.1), (1 << 63, 0.55), (1 << 62, 0.325), (UInt64.max, 1)] as [(UInt64, Double)])
    func jitterIsShareOfLimit(random: UInt64, share: Double) {
        let jitter = BackOff.jittered(.seconds(1), random)
        #expect(abs(jitter / .seconds(1) - share) < 1e-9)
        #expect(jitter <= .seconds(1))
    }
}
