package import SluiceEvents

/// Creates ids that ascend although the clock counts milliseconds and can be set back.
package struct EventIDGenerator: Sendable {
    private var millisecond: Int64 = .min
    private var counter: UInt64 = 0
    /// The random bits of this millisecond, from which those of each id are computed. Drawing them for each id would cost more
    /// than the rest of it.
    private var seed: UInt64 = 0
    /// The ``CurrentProcess/generation`` that drew the seed. The child of a `fork` draws its own.
    private var generation = 0

    package init() {}

    /// A clock set back by more than this is followed. Otherwise all ids of a day could share one millisecond.
    private static let tolerance: Int64 = 10_000

    package mutating func next(at time: Timestamp, random: () -> UInt64) -> EventID {
        let now = min(max(time.milliseconds, 0), 1 << 48 - 1)
        let isNewTime = now > millisecond || now < millisecond - EventIDGenerator.tolerance
        if isNewTime || generation != CurrentProcess.generation {
            seed = random()
            generation = CurrentProcess.generation
        }
        if isNewTime {
            millisecond = now
            // The top bit stays free, so that at least 2,048 ids fit before the millisecond has to run ahead.
            counter = random() & 0x7FF
        } else {
            counter += 1
            if counter > 0xFFF {
                millisecond += 1
                counter = 0
            }
        }
        return EventID(
            high: UInt64(millisecond) << 16 | 7 << 12 | counter,
            low: 0b10 << 62 | EventIDGenerator.mixed(seed &+ counter) >> 2)
    }

    /// Makes each bit depend on all bits, so that the ids of a millisecond differ in all of theirs: receivers sample and
    /// distribute events by the last ones.
    ///
    /// The function is the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
    private static func mixed(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
