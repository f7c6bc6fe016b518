package import SluiceEvents

/// Creates ids that ascend although the clock counts milliseconds and can be set back.
package struct EventIDGenerator: Sendable {
    private var millisecond: Int64 = .min
    private var counter: UInt64 = 0
    /// Random numbers, drawn in blocks, because a system call for each id would be a large part of an event's cost.
    private var words: [UInt64] = []
    /// How many of them ids have already.
    private var used = 0

    package init() {}

    /// A clock set back by more than this is followed. Otherwise all ids of a day could share one millisecond.
    private static let tolerance: Int64 = 10_000

    /// Creates an id with random numbers of the environment. Each number is in one id.
    package mutating func next(at time: Timestamp, in environment: PipelineEnvironment) -> EventID {
        let now = min(max(time.milliseconds, 0), 1 << 48 - 1)
        if now > millisecond || now < millisecond - EventIDGenerator.tolerance {
            millisecond = now
            // The top bit stays free, so at least 2,048 ids fit before the millisecond has to run ahead.
            counter = nextWord(environment) & 0x7FF
        } else {
            counter += 1
            if counter > 0xFFF {
                millisecond += 1
                counter = 0
            }
        }
        return EventID(
            high: UInt64(millisecond) << 16 | 7 << 12 | counter, low: 0b10 << 62 | nextWord(environment) >> 2)
    }

    private mutating func nextWord(_ environment: PipelineEnvironment) -> UInt64 {
        if used == words.count { (words, used) = (environment.randomBlock(), 0) }
        defer { used += 1 }
        return words[used]
    }
}
