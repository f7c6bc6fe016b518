import Sluice

/// What a receiver says of one event, before it is weighed against what it says of the others.
enum Finding: Sendable, Hashable {
    case accepted
    case duplicate
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
    static func weighing(_ findings: [Finding], retryAfter: Duration? = nil) -> Verdicts {
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
