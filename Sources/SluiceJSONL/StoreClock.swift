internal import Sluice

/// The clock that gives segments their age. A wall clock that is wrong or jumps expires nothing.
///
/// Within a process it follows the monotonic clock alone. When the store is opened, it believes the wall clock if that is
/// plausible: not before the newest segment, and not later than that by more than the age limit. Otherwise it continues
/// from the newest segment, as if no time had passed. Events are then kept too long, not lost.
struct StoreClock {
    /// Whether other processes can tell the age of a segment from its name. After an implausible reading they can't:
    /// it is unknown how far the clock is off, and with a correct clock the segments would seem older than they are.
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

    /// The time in the name of a segment that is created now.
    var stamp: Timestamp { isTrusted ? now : SegmentName.unknownTime }

    var now: Timestamp {
        let elapsed = max(.zero, source.continuousTime() - opened)
        return Timestamp(milliseconds: origin.milliseconds &+ elapsed.wholeMilliseconds)
    }
}

extension Duration {
    /// Rounded down. Limited, because sums must not overflow.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit: Int64 = 1_000_000_000_000
        return min(max(seconds, -limit), limit) * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
