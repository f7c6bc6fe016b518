import Sluice
import SluiceTesting

/// A receiver of events whose mood changes: it answers well, late, badly, not at all, or takes what it is sent and
/// loses the answer.
final class SimulatedServer: Sendable {
    enum Mood: CaseIterable {
        case well, slow, down, losesAnswers, throttles, refusesAll, holds, picks, wantsLess, knowsAll
        /// Refuses requests with bad events, names bad events, throttles some users, or can't read some events.
        case refusesBad, namesBad, throttlesSome, cannotReadSome
        /// Answers requests with bad events with a status that doesn't say so, or with any status at all.
        case answersBad, answersAll
    }

    private struct State {
        var random: SeededRandom
        var mood = Mood.well
        /// The status of a gateway, which changes with the mood.
        var status = 403
    }

    private static let statuses = [200, 302, 400, 401, 403, 404, 406, 409, 422, 431, 451, 500, 502, 503]

    private let state: Locked<State>
    private let time: VirtualTime

    init(time: VirtualTime, seed: UInt64) {
        self.time = time
        state = Locked(State(random: SeededRandom(seed: seed)))
    }

    var mood: Mood { state.withLock { $0.mood } }

    func setMood(_ mood: Mood) {
        state.withLock { state in
            state.mood = mood
            state.status = Self.statuses.randomElement(using: &state.random) ?? 403
        }
    }

    private func chance(_ one: Int) -> Bool {
        state.withLock { Int.random(in: 0..<one, using: &$0.random) == 0 }
    }

    private func number(_ range: ClosedRange<Int>) -> Int {
        state.withLock { Int.random(in: range, using: &$0.random) }
    }

    /// - Parameter take: called with each event that the receiver has from now on; says whether it had it before.
    func send(_ batch: Batch, take: (EventLine) throws -> Bool) async throws -> Verdicts {
        let mood = mood
        if mood == .slow || mood == .losesAnswers, chance(2) {
            try await time.sleep(until: time.continuousTime() + .seconds(number(1...40)))
            if mood == .slow, chance(3) { throw SluiceError(.inputOutput, "timed out") }
        }
        switch mood {
        case .well, .slow:
            return .all(try takeAll(batch, take))
        case .down:
            throw SluiceError(.inputOutput, "connection refused")
        case .losesAnswers:
            _ = try takeAll(batch, take)
            if chance(2) { throw SluiceError(.inputOutput, "connection reset") }
            return .all(.accepted)
        case .throttles:
            return .all(.retry(after: chance(2) ? nil : .seconds(number(0...90))))
        case .refusesAll:
            return .all(chance(2) ? .split(reason: "bad request") : .hold(reason: "bad key"))
        case .holds:
            return .all(.hold(reason: "forbidden"))
        case .picks:
            return .each(try batch.events.map { try verdict($0, take) })
        case .wantsLess:
            if batch.events.count > 3 { return .all(.tooLarge()) }
            return .all(try takeAll(batch, take))
        case .refusesBad:
            if batch.events.contains(where: Self.isBad) { return .all(.split(reason: "bad event")) }
            return .all(try takeAll(batch, take))
        case .answersBad:
            if batch.events.contains(where: Self.isBad) { return answer() }
            return .all(try takeAll(batch, take))
        case .answersAll: return answer()
        case .namesBad: return try each(batch, 7, .rejected(reason: "bad event"), take)
        case .throttlesSome:
            return try each(batch, 5, .retry(after: chance(2) ? nil : .seconds(number(0...90))), take)
        case .cannotReadSome: return try each(batch, 11, .unsendable(reason: "unreadable"), take)
        case .knowsAll:
            return .each(try batch.events.map { try take($0) ? .duplicate : .accepted })
        }
    }

    /// The verdicts of a transport over HTTP for the gateway's status.
    private func answer() -> Verdicts {
        let status = state.withLock(\.status)
        let verdict: Verdict =
            switch status {
            case 400, 422: .split(reason: "status \(status)")
            case 200, 500...599: .retry(after: nil, reason: "status \(status)")
            default: .hold(reason: "status \(status)", after: chance(4) ? .seconds(number(0...90)) : nil)
            }
        return .all(verdict, status: status)
    }

    /// Whether ``Mood/refusesBad``, ``Mood/namesBad`` and ``Mood/answersBad`` concern an event.
    static func isBad(_ serial: Int) -> Bool { serial % 7 == 0 }

    private static func isBad(_ line: EventLine) -> Bool { isOne(of: 7, line) }

    /// Whether an event is one of those that the receiver treats in its own way.
    private static func isOne(of divisor: Int, _ line: EventLine) -> Bool {
        Books.serial(line.bytes).map { $0 % divisor == 0 } ?? false
    }

    private func each(
        _ batch: Batch, _ divisor: Int, _ verdict: Verdict, _ take: (EventLine) throws -> Bool
    ) throws -> Verdicts {
        .each(
            try batch.events.map { line in
                if Self.isOne(of: divisor, line) { return verdict }
                return try take(line) ? .duplicate : .accepted
            })
    }

    private func takeAll(_ batch: Batch, _ take: (EventLine) throws -> Bool) throws -> Verdict {
        for line in batch.events { _ = try take(line) }
        return .accepted
    }

    private func verdict(_ line: EventLine, _ take: (EventLine) throws -> Bool) throws -> Verdict {
        switch number(0...9) {
        case 0: return .retry(after: nil)
        case 1: return .rejected(reason: "unknown event")
        default: return try take(line) ? .duplicate : .accepted
        }
    }
}
