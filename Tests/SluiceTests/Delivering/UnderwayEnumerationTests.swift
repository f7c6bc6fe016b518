import SluiceTesting
import Testing

@testable import Sluice

/// Every sequence of answers up to a depth, for stores of some batches: no event is lost, doubled or given up unproven.
@Suite(.timeLimit(.minutes(10))) struct UnderwayEnumerationTests {
    enum Answer: CaseIterable {
        case accepted, duplicate, retry, hold, refused, tooLarge, rejected
        /// Verdicts by event: the first one, and all others.
        case firstAccepted, firstRejected, firstRetry, firstHold
        /// A number of verdicts that is not that of the events.
        case nonsense

        func verdicts(_ count: Int) -> Verdicts {
            func first(_ one: Verdict, _ others: Verdict) -> Verdicts {
                .each((0..<count).map { $0 == 0 ? one : others })
            }
            return switch self {
            case .accepted: .all(.accepted)
            case .duplicate: .all(.duplicate)
            case .retry: .all(.retry(after: .seconds(1)))
            case .hold: .all(.hold("no"))
            case .refused: .all(.split(.refused("bad")))
            case .tooLarge: .all(.split(.tooLarge))
            case .rejected: .all(.rejected("bad"))
            case .firstAccepted: first(.accepted, .rejected("bad"))
            case .firstRejected: first(.rejected("bad"), .accepted)
            case .firstRetry: first(.retry(after: nil), .accepted)
            case .firstHold: first(.hold("no"), .split(.refused("bad")))
            case .nonsense: .each(Array(repeating: .accepted, count: count + 1))
            }
        }
    }

    struct Walk {
        var underway = Underway()
        var store: [Batch]
        var handedOut: [Batch.ID: Batch] = [:]
        var delivered: [Int: Int] = [:]
        var rejected: Set<Int> = []
        let total: Int

        init(_ sizes: [Int]) {
            let bench = UnderwayTests.Bench(sizes)
            store = bench.store
            total = sizes.reduce(0, +)
        }

        /// One turn of a loop: takes a batch, sends a part of it, takes in the answer.
        ///
        /// - Returns: what is wrong; nil if nothing is.
        mutating func turn(_ answer: Answer) -> String? {
            guard let before = underway.next() ?? takeNew() else { return nil }
            let part = before.nextPart(BatchProgressTests.unlimited)
            let numbers = BatchProgressTests.numbers(part.events)
            if numbers.isEmpty { return "sends nothing" }
            if numbers.contains(where: { delivered[$0] != nil || rejected.contains($0) }) {
                return "sends again what is delivered or rejected"
            }
            let verdicts = answer.verdicts(numbers.count)
            var after = before
            let outcome = after.apply(verdicts, toFirst: numbers.count)
            let result = underway.answered(outcome, before: before, after: after)
            for (number, isAccepted) in zip(numbers, UnderwayEnumerationTests.acceptances(verdicts, numbers.count)) {
                if isAccepted { delivered[number, default: 0] += 1 }
            }
            for number in BatchProgressTests.numbers(result.rejected.map(\.line)) {
                if delivered.isEmpty { return "gives up an event though nothing was ever accepted" }
                if !rejected.insert(number).inserted { return "gives up an event twice" }
            }
            for batch in result.settled { handedOut[batch.id] = nil }
            if let id = result.released {
                guard let batch = handedOut.removeValue(forKey: id) else { return "releases what it does not have" }
                store.insert(batch, at: 0)
            }
            return fault()
        }

        private mutating func takeNew() -> BatchProgress? {
            guard let batch = store.first else {
                _ = underway.hasNoOther()
                return underway.next()
            }
            store.removeFirst()
            handedOut[batch.id] = batch
            return underway.begin(batch)
        }

        private func fault() -> String? {
            let waiting = store.reduce(0) { $0 + $1.events.count }
            let held = handedOut.values.reduce(0) { $0 + $1.events.count }
            let gone = delivered.count + rejected.count
            if !rejected.isDisjoint(with: delivered.keys) { return "gives up what was delivered" }
            if delivered.values.contains(where: { $0 > 1 }) { return "delivers twice" }
            if underway.isEmpty != handedOut.isEmpty { return "holds \(held) events and has none underway" }
            // What is settled is gone from both; what is not settled is all there.
            let settled = total - waiting - held
            if gone - underway.unsettled != settled { return "\(settled) events are settled, but \(gone) are gone" }
            return nil
        }

        /// Whether a receiver that takes everything now gets all that is left.
        mutating func endsWell() -> String? {
            for _ in 0..<4 * total {
                if store.isEmpty, underway.isEmpty { break }
                if let fault = turn(.accepted) { return fault }
            }
            guard store.isEmpty, underway.isEmpty else { return "something stays for ever" }
            return delivered.count + rejected.count == total ? nil : "something is lost"
        }
    }

    static func acceptances(_ verdicts: Verdicts, _ count: Int) -> [Bool] {
        func isAcceptance(_ verdict: Verdict) -> Bool { verdict == .accepted || verdict == .duplicate }
        switch verdicts {
        case .all(let verdict): return Array(repeating: isAcceptance(verdict), count: count)
        case .each(let each) where each.count == count: return each.map(isAcceptance)
        case .each: return Array(repeating: false, count: count)
        }
    }

    private func enumerate(_ walk: Walk, _ path: [Answer], depth: Int) -> Int {
        var count = 0
        for answer in Answer.allCases {
            var next = walk
            let fault = next.turn(answer)
            count += 1
            if let fault { Issue.record("\(fault) after \(path + [answer])") }
            if path.count + 1 < depth {
                count += enumerate(next, path + [answer], depth: depth)
            } else if let fault = next.endsWell() {
                Issue.record("\(fault) after \(path + [answer]), then acceptance")
            }
        }
        return count
    }

    @Test("no sequence of answers loses, doubles or gives up an event", arguments: [[4], [1, 1, 1], [3, 1, 2]])
    func noSequenceAnswers(
        sizes: [Int]
    ) {
        let depth = Trials.count(full: 6, few: 4)
        let count = enumerate(Walk(sizes), [], depth: depth)
        #expect(count > 1_000)
        Trials.report("batches of \(sizes): \(count) sequences up to depth \(depth)")
    }
}
