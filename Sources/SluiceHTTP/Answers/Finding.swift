public import Sluice

/// What a receiver says of one event, before it is weighed against what it says of the others: see
/// ``Sluice/Verdicts/weighing(_:retryAfter:)``.
public enum Finding: Sendable, Hashable {
    /// The receiver has it.
    case accepted
    /// The receiver had it already.
    case duplicate
    /// It may be taken later.
    case retry
    /// By its own content.
    case refused(String)
    /// For a reason that usually lies not in the event, such as rights or a missing index.
    case blocked(String)

    /// By a status as of HTTP that was given for the event alone.
    init(status: Int, of backend: StaticString) {
        switch status {
        case 200...299: self = .accepted
        case 408, 425, 429, 500...599: self = .retry
        case 401, 403, 404, 407, 410: self = .blocked("\(backend) lets no event in (status \(status))")
        case 400...499: self = .refused("\(backend) refused the event (status \(status))")
        default: self = .retry
        }
    }
}

extension Verdicts {
    /// Weighs the findings of one answer.
    ///
    /// A refusal is believed beside an acceptance only. A receiver that refuses all it is given may be at fault itself,
    /// and must not empty a store: the events are then sent one by one, and kept if none is taken.
    ///
    /// - Parameters:
    ///   - findings: one for each event, in the order of the batch.
    ///   - retryAfter: how long those that may be taken later are to wait at least, if the receiver has said so.
    public static func weighing(_ findings: [Finding], retryAfter: Duration? = nil) -> Verdicts {
        let isBelieved = findings.contains { $0 == .accepted || $0 == .duplicate }
        return .each(
            findings.map { finding in
                switch finding {
                case .accepted: .accepted
                case .duplicate: .duplicate
                case .retry: .retry(after: retryAfter)
                case .refused(let reason): isBelieved ? .rejected(reason) : .split(.refused(reason))
                case .blocked(let reason): isBelieved ? .rejected(reason) : .hold(reason)
                }
            })
    }
}
