package import Sluice

/// A verdict on one event, without its reason.
package enum Fate: String, Sendable {
    case accepted, duplicate, retry, rejected, unsendable, tooLarge, refused, hold

    package init(_ verdict: Verdict) {
        switch verdict.kind {
        case .accepted: self = .accepted
        case .duplicate: self = .duplicate
        case .retry: self = .retry
        case .rejected: self = .rejected
        case .unsendable: self = .unsendable
        case .tooLarge: self = .tooLarge
        case .split: self = .refused
        case .hold: self = .hold
        }
    }
}

extension Verdicts {
    package func fates(of count: Int) -> [Fate] {
        switch kind {
        case .all(let verdict): Array(repeating: Fate(verdict), count: count)
        case .each(let verdicts): verdicts.map { Fate($0) }
        }
    }
}
