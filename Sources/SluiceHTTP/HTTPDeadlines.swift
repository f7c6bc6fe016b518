import Sluice

/// How long one request may take, on a clock that no user can set.
public struct HTTPDeadlines: Sendable, Hashable {
    /// Until the connection stands, its name looked up and its TLS agreed upon.
    public var connect: Duration
    /// From the start to the last byte of the answer.
    public var total: Duration

    public init(connect: Duration = .seconds(10), total: Duration = .seconds(30)) {
        self.connect = connect
        self.total = total
    }

    func check() throws(SluiceError) {
        guard connect > .zero, total > .zero else {
            throw SluiceError(.invalidArgument, "the deadlines of an HTTP request must be more than zero")
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, within 1 and about 24 days, which every system's timers can count.
    var timerMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 1 }
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        let rest = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(seconds * 1_000 + rest))
    }
}
