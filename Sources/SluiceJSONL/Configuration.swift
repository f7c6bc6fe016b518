internal import Sluice

/// What a store was told, within its bounds.
struct Configuration: Sendable {
    let directory: String
    let durability: JSONLStore.Durability
    let capacity: Int
    let maximumAge: Duration
    let maximumEventBytes: Int
    let sealing: LineSealing?
    let environment: PipelineEnvironment

    /// A segment is not to be more than an eighth of the capacity: else to evict one would be to evict nearly all.
    var segmentBytes: ClosedRange<Int> {
        let maximum = min(262_144, max(1, capacity / 8))
        return min(16_384, maximum)...maximum
    }

    /// A thousand years: long enough to mean for ever, and short enough to be counted with.
    static let longestAge = Duration.seconds(1_000 * 365 * 86_400)

    /// How long a segment is appended to at most: its name tells the age of its first event only, and all of it is to
    /// expire at once. A day in 25.
    var segmentAge: Duration { maximumAge / 25 }

    /// Nothing that a store of this kind has written is larger, whatever its settings were; it is read as a whole.
    var largestSegment: Int { max(67_108_864, maximumEventBytes * 2) }

    /// However few events a batch is to have, not each of them gets a file of its own.
    let segmentEvents = 20...500

    var deadLetterCapacity: Int { min(1_048_576, capacity / 8) }

    /// How much is written at once when nothing is promised.
    let bufferBytes = 65_536

    var isBuffered: Bool { durability == .buffered }

    var isFull: Bool { durability == .full }

    var interval: Duration? {
        if case .interval(let milliseconds) = durability {
            .milliseconds(min(milliseconds, 86_400_000))
        } else {
            nil
        }
    }
}
