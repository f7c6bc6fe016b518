internal import Sluice

/// A reading of the clock that gives the segments of a directory their age, and of the clocks that it continues.
///
/// While the machine runs, the clock follows the continuous clock, also from one process to the next: a wall clock that is
/// set or jumps changes no age. Only the wall clock can tell how long a machine was off. After a restart of the machine it
/// is believed if it is ahead of an earlier reading by at most ``Configuration/longestGap``. Otherwise the clock continues
/// as if no time had passed: events are then kept too long, not lost.
struct StoreClock: Equatable {
    /// The run of the machine; empty if it is unknown.
    let boot: String
    // In milliseconds.
    let continuous: Int64
    let wall: Int64
    let clock: Int64

    /// Continues the clock of a directory after `readings` of the processes that had it, the earliest first. In a directory
    /// without readings, `newest` is the time of the newest segment.
    init(
        _ time: any TimeSource, boot: String, after readings: [StoreClock], newest: Int64?, longestGap: Duration
    ) {
        let (continuous, wall) = (time.continuousTime().wholeMilliseconds, max(0, time.wallTime().milliseconds))
        (self.boot, self.continuous, self.wall) = (boot, continuous, wall)
        if !boot.isEmpty, let last = readings.last(where: { $0.boot == boot && $0.continuous <= continuous }) {
            clock = last.clock + continuous - last.continuous
            return
        }
        // The names of segments are readings too, if the wall clock was right.
        let known = readings.isEmpty ? [(newest ?? wall, newest ?? wall)] : readings.map { ($0.wall, $0.clock) }
        let gaps = known.map { earlier, clock in (length: wall - earlier, clock: clock) }
        // The wall clock may have been wrong at any reading. The shortest gap makes events the least old.
        let shortest = gaps.filter { (0...longestGap.wholeMilliseconds).contains($0.length) }.min {
            $0.length < $1.length
        }
        clock = shortest.map { $0.clock + $0.length } ?? max(known.last?.1 ?? wall, newest ?? 0)
    }

    /// The lead over the continuous clock.
    var offset: Int64 { clock - continuous }

    /// Whether later processes learn nothing from this reading, because another one of the same run of the machine says the
    /// same of its clocks.
    func repeats(_ other: StoreClock, within precision: Duration) -> Bool {
        boot == other.boot && offset == other.offset
            && abs((wall - continuous) - (other.wall - other.continuous)) <= precision.wholeMilliseconds
    }
}

// MARK: Lines

extension StoreClock {
    init?(_ line: EventLine) {
        // A later version may have written another line.
        let fields = attempt(try JSONReader.fields(of: line.bytes), or: [:])
        guard case .string(let boot) = fields["boot"], case .int(let continuous) = fields["continuous"],
            case .int(let wall) = fields["wall"], case .int(let clock) = fields["clock"]
        else { return nil }
        (self.boot, self.continuous, self.wall, self.clock) = (boot, continuous, wall, clock)
    }

    var line: ArraySlice<UInt8> {
        var writer = JSONWriter()
        writer.object(["boot": .string(boot), "continuous": .int(continuous), "wall": .int(wall), "clock": .int(clock)])
        return writer.bytes[...]
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
