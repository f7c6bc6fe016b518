public import Sluice

extension HTTPAnswer {
    /// What an answer means by its status alone, for receivers which say nothing about single events.
    ///
    /// | status | verdict |
    /// |---|---|
    /// | 2xx | accepted |
    /// | 3xx | hold: a captive portal or a wrong URL; never followed |
    /// | 400, 422 | split: one event may be at fault |
    /// | 408, 425, 429, 5xx | retry, not before `Retry-After` |
    /// | 413 | split: too large |
    /// | any other 4xx | hold: 401, 403, 404, 407 and 410 mend without a change of the events; the rest, such as 405 or 415, say that the URL or the format is wrong, and no event of the host's is to die of that |
    /// | any other number | retry: no HTTP server wrote it |
    public var verdict: Verdict {
        switch status {
        case 200...299: .accepted
        case 300...399: .hold("the server redirects (HTTP \(status)), which is not followed; check the URL")
        case 400, 422: .split(.refused("the server refused the events (HTTP \(status))"))
        case 408, 425, 429, 500...599: .retry(after: retryAfter)
        case 413: .split(.tooLarge)
        case 401, 403, 407: .hold("the server wants other credentials (HTTP \(status))")
        case 404, 410: .hold("the server knows no such URL (HTTP \(status))")
        case 400...499: .hold("the server wants other requests than these (HTTP \(status))")
        default: .retry(after: nil)
        }
    }

    /// Why events are to be sent again, in words that hold nothing of the body, which may be anyone's.
    fileprivate var retryReason: String {
        (200...299).contains(status)
            ? "the server's answer (HTTP \(status)) does not say that all events were taken"
            : "the server could not take the events (HTTP \(status))"
    }

    /// What `Retry-After` asks for, in seconds or as a date, within 0 and 1 hour; nil if it is missing or nonsense.
    ///
    /// A date is measured from the answer's own `Date`, as both are the server's clock; without it, from this one.
    public var retryAfter: Duration? {
        retryAfter(now: SystemTime().wallTime())
    }

    func retryAfter(now: Timestamp) -> Duration? {
        guard let text = header("Retry-After") else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than an integer has are as long as an hour too.
            return .seconds(min(Int64(text) ?? .max, 3_600))
        }
        guard let then = Timestamp(httpDate: text) else { return nil }
        let start = header("Date").flatMap { Timestamp(httpDate: $0) } ?? now
        return .milliseconds(min(max(then.milliseconds - start.milliseconds, 0), 3_600_000))
    }
}

extension Verdicts {
    /// With the answer's status as the reason of retries for which the format gave none.
    func explained(by answer: HTTPAnswer) -> Verdicts {
        switch self {
        case .all(let verdict): .all(verdict.explained(by: answer))
        case .each(let verdicts): .each(verdicts.map { $0.explained(by: answer) })
        }
    }
}

extension Verdict {
    fileprivate func explained(by answer: HTTPAnswer) -> Verdict {
        guard case .retry(let after, "") = self else { return self }
        return .retry(after: after, reason: answer.retryReason)
    }
}
