import Sluice

extension HTTPAnswer {
    /// What `X-RateLimit-Reset` asks for, within 0 and 1 hour; nil if it is missing or nonsense.
    ///
    /// It has no standard: servers, Segment's own libraries among their readers, write seconds to wait, or the seconds or
    /// milliseconds of the Unix time until which to wait. By their size they can be told apart.
    func rateLimitReset(now: Timestamp = SystemTime().wallTime()) -> Duration? {
        guard let text = header("X-RateLimit-Reset"), !text.isEmpty,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text)
        else { return nil }
        let start = header("Date").flatMap { Timestamp(httpDate: $0) } ?? now
        let milliseconds: Int64
        switch number {
        case ..<100_000_000: milliseconds = number * 1_000
        case ..<100_000_000_000: milliseconds = number * 1_000 - start.milliseconds
        default: milliseconds = number - start.milliseconds
        }
        return .milliseconds(min(max(milliseconds, 0), 3_600_000))
    }
}
