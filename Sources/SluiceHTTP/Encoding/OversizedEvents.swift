import Sluice

extension WireFormat {
    /// The places of those events that make a body of more than ``maximumEventBytes`` by themselves.
    ///
    /// Only events that may be too large are encoded for it.
    func oversizedEvents(in batch: Batch, of request: HTTPRequest) throws -> Set<Int> {
        guard maximumEventBytes < .max else { return [] }
        var result: Set<Int> = []
        for (index, line) in batch.events.enumerated() where line.bytes.count > maximumEventBytes / 2 {
            var alone = request
            try encode(Batch(id: batch.id, events: [line]), into: &alone)
            if alone.body.count > maximumEventBytes { result.insert(index) }
        }
        return result
    }
}

extension Verdicts {
    /// Verdicts on a whole batch, where `self` is on those events that were sent, and the others are too large.
    func inserting(tooLarge: Set<Int>, of count: Int) -> Verdicts {
        let sent = count - tooLarge.count
        let each: [Verdict]
        switch self {
        case .all(let verdict): each = Array(repeating: verdict, count: sent)
        case .each(let verdicts) where verdicts.count == sent: each = verdicts
        case .each: each = Array(repeating: .retry(after: nil), count: sent)
        }
        var rest = each[...]
        return .each(
            (0..<count).map { index in
                guard !tooLarge.contains(index), let verdict = rest.popFirst() else {
                    return .rejected("the event is larger than the backend takes any")
                }
                return verdict
            })
    }
}
