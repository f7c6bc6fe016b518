public import Sluice

extension HTTPResponse {
    /// The verdict by the status alone, for backends that return no results for single events.
    ///
    /// ```swift
    /// let verdict = HTTPResponse(status: 503, headers: [("Retry-After", "30")]).verdict
    /// ```
    ///
    /// | status | verdict |
    /// |---|---|
    /// | 2xx | accepted |
    /// | 3xx | hold: a captive portal or a wrong URL, because redirects aren't followed |
    /// | 400, 422 | split: one of the events may be invalid, or all |
    /// | 408, 425, 429, 5xx | retry, not before ``retryAfter`` |
    /// | 413 | too large: smaller parts follow for a while |
    /// | any other 4xx | hold, not before ``retryAfter``: probably wrong credentials, URL or format |
    /// | any other number | retry: not a valid status |
    public var verdict: Verdict {
        switch status {
        case 200...299: .accepted
        case 300...399: .hold(reason: "the server redirects (HTTP \(status)); check the URL", after: retryAfter)
        case 400, 422: .split(reason: "the server refused the events (HTTP \(status))")
        case 408, 425, 429, 500...599: .retry(after: retryAfter)
        case 413: .tooLarge()
        case 401, 403, 407:
            .hold(reason: "the server refused the credentials (HTTP \(status)); check them", after: retryAfter)
        case 404, 410: .hold(reason: "the server doesn't know the URL (HTTP \(status)); check it", after: retryAfter)
        case 400...499:
            .hold(
                reason: "the server doesn't accept such requests (HTTP \(status)); check the URL and the format",
                after: retryAfter)
        default: .retry(after: nil)
        }
    }

    /// The verdict by the status for a backend that confirms with a single one. A page with this status is from another
    /// server.
    package func verdict(confirmedBy confirmation: Int, of backend: StaticString) -> Verdict {
        switch status {
        case confirmation where !isPage: .accepted
        case 200...299: .unrecognized(backend)
        default: verdict
        }
    }

    /// The duration in `Retry-After`, as seconds or a date, within 0 and 1 hour. Nil if it is missing or invalid.
    ///
    /// A date is compared with the response's own `Date`, or with this system's clock if there is no `Date`.
    public var retryAfter: Duration? { retryAfter(now: SystemTime().wallTime()) }

    func retryAfter(now: Timestamp) -> Duration? {
        guard let text = header("Retry-After") else { return nil }
        if text.isDigits {
            // A number that overflows is longer than an hour too.
            return .seconds(min(Int64(text) ?? .max, 3_600))
        }
        guard let then = Timestamp(httpDate: text) else { return nil }
        return .milliseconds(min(max(then.milliseconds - date(or: now).milliseconds, 0), 3_600_000))
    }

    /// The duration in `X-RateLimit-Reset`, within 0 and 1 hour. Nil if it is missing or invalid.
    ///
    /// The header has no standard. Servers write seconds, or a Unix time in seconds or milliseconds. The magnitude
    /// shows the unit.
    package func rateLimitReset(now: Timestamp = SystemTime().wallTime()) -> Duration? {
        guard let text = header("X-RateLimit-Reset"), text.isDigits, let value = Int64(text) else { return nil }
        // Larger numbers would overflow below if the response's date is before 1970.
        let number = min(value, 1 << 50)
        let milliseconds =
            switch number {
            case ..<100_000_000: number * 1_000
            case ..<100_000_000_000: number * 1_000 - date(or: now).milliseconds
            default: number - date(or: now).milliseconds
            }
        return .milliseconds(min(max(milliseconds, 0), 3_600_000))
    }

    /// Whether the body is a page for a browser, as captive portals and gateways write it instead of the backend. PHP, Django
    /// and Flask give empty responses this type, too, so it says nothing without a body.
    var isPage: Bool {
        if !body.isEmpty, header("Content-Type")?.lowercased().hasPrefix("text/html") ?? false { return true }
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        return body.first { $0 > 0x20 && !byteOrderMark.contains($0) } == UInt8(ascii: "<")
    }

    /// The beginning of the body, for dead letters. A few bytes more than they keep, so no character is cut.
    fileprivate var text: String? { body.isEmpty ? nil : String(decoding: body.prefix(1_032), as: UTF8.self) }

    private func date(or now: Timestamp) -> Timestamp { header("Date").flatMap { Timestamp(httpDate: $0) } ?? now }

    /// The reason for retries without one. It contains nothing of the body, because a body may contain secrets.
    fileprivate var retryReason: String {
        (200...299).contains(status)
            ? "the response (HTTP \(status)) doesn't confirm that all events were accepted"
            : "the server could not accept the events (HTTP \(status))"
    }
}

extension Verdict {
    /// The verdict for a 2xx that the backend can't have written, such as the page of a captive portal.
    package static func unrecognized(_ backend: StaticString) -> Verdict {
        .hold(reason: "the response isn't from \(backend); check the URL and proxies")
    }

    /// Creates the verdict for an event's own status, a number as in HTTP.
    init(status: Int, of backend: StaticString, retryAfter: Duration?) {
        switch status {
        case 200...299: self = .accepted
        case 401, 403, 404, 407, 410: self = .hold(reason: "\(backend) accepts no events (status \(status))")
        case 408, 425, 429: self = .retry(after: retryAfter)
        case 400...499: self = .rejected(reason: "\(backend) refused the event (status \(status))")
        default: self = .retry(after: retryAfter)
        }
    }

    /// The same verdict with the receiver's own words about the event, and with a status for it alone. An acceptance stays
    /// as it is.
    package func saying(_ response: String?, _ status: Int? = nil) -> Verdict {
        guard !isAccepted else { return self }
        var verdict = self
        (verdict.response, verdict.status) = (response, status)
        return verdict
    }

    fileprivate func explained(by response: HTTPResponse) -> Verdict {
        guard case .retry(let after) = kind, reason.isEmpty else { return self }
        return .retry(after: after, reason: response.retryReason).saying(self.response, status)
    }
}

extension Verdicts {
    /// Returns verdicts on single events. Missing rights or a missing index usually concern every event. Beside an
    /// acceptance, they concern one event, which is then rejected.
    static func results(_ verdicts: [Verdict]) -> Verdicts {
        guard verdicts.contains(where: \.isAccepted) else { return .each(verdicts) }
        return .each(
            verdicts.map { verdict in
                guard verdict.kind == .hold else { return verdict }
                return .rejected(reason: verdict.reason).saying(verdict.response, verdict.status)
            })
    }

    /// Adds the response's status, also as the reason of retries without one, and its body.
    func explained(by response: HTTPResponse) -> Verdicts {
        var result: Verdicts
        switch kind {
        case .all(let verdict): result = .all(verdict.explained(by: response), status: response.status)
        case .each(let verdicts): result = .each(verdicts.map { $0.explained(by: response) }, status: response.status)
        }
        if kind != .all(.accepted) { result.response = response.text }
        return result
    }
}

extension String {
    /// Whether the text consists of ASCII digits.
    var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }
}
