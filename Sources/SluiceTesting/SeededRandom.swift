public import Sluice

/// A random number generator that repeats its numbers for the same seed: SplitMix64 (Steele, Lea and Flood, 2014).
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return state.mixed
    }
}

extension PipelineEnvironment {
    /// Creates an environment whose results repeat when you make the same calls in the same order.
    ///
    /// ```swift
    /// let pipeline = try Pipeline(environment: .virtual(VirtualTime(), seed: 42)) {
    ///     MemoryStore()
    ///     ScriptedTransport()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - time: The clocks.
    ///   - seed: The seed of the random numbers.
    /// - Returns: The environment.
    public static func virtual(_ time: VirtualTime, seed: UInt64 = 0) -> PipelineEnvironment {
        let random = Locked(SeededRandom(seed: seed))
        return PipelineEnvironment(time: time, random: { random.withLock { $0.next() } })
    }
}
