public import Sluice

/// Numbers that look random and are the same for the same seed: SplitMix64 (Steele, Lea and Flood, 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

extension PipelineEnvironment {
    /// Virtual time and seeded randomness: with the same calls in the same order, everything is the same again.
    public static func virtual(_ time: VirtualTime, seed: UInt64 = 0) -> PipelineEnvironment {
        let random = Locked(SeededRandom(seed: seed))
        return PipelineEnvironment(time: time, random: { random.withLock { $0.next() } })
    }
}
