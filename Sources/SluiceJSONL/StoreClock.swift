internal import Sluice

/// The time by which segments are stamped and grow old; a wall clock that is wrong or jumps does not expire anything.
///
/// Within a life it follows the monotonic clock alone. Between lives it believes the wall clock as long as that is
/// plausible: not before the newest segment there is, and not later than that by more than the age limit. Otherwise it
/// goes on from the newest segment, as though no time had passed; then events are kept too long rather than lost.
struct StoreClock {
    /// Whether another life can tell the time from this one's stamps. After an implausible reading it cannot: nobody knows
    /// how far behind the truth they are, and once the wall clock is right again they would seem older than they are.
    private let isTrusted: Bool
    private let origin: Timestamp
    private let opened: Duration
    private let source: any TimeSource

    init(_ source: any TimeSource, newest: Timestamp?, maximumAge: Duration) {
        self.source = source
        opened = source.continuousTime()
        let wall = max(Timestamp(milliseconds: 0), source.wallTime())
        guard let newest else {
            origin = wall
            isTrusted = true
            return
        }
        let gap = wall.milliseconds - newest.milliseconds
        isTrusted = gap >= 0 && gap <= maximumAge.wholeMilliseconds
        origin = isTrusted ? wall : newest
    }

    /// For the name of a segment that is made now.
    var stamp: Timestamp { isTrusted ? now : SegmentName.unknownTime }

    var now: Timestamp {
        let elapsed = max(.zero, source.continuousTime() - opened)
        return Timestamp(milliseconds: origin.milliseconds &+ elapsed.wholeMilliseconds)
    }
}

extension Duration {
    /// Rounded down, and never so large that sums overflow.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit: Int64 = 1_000_000_000_000
        return min(max(seconds, -limit), limit) * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
