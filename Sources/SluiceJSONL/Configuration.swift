internal import Sluice

/// The settings of a store.
struct Configuration: Sendable {
    let directory: String
    let durability: JSONLStore.Durability
    let capacity: Int
    let maximumAge: Duration
    let maximumEventBytes: Int
    let encryption: LineEncryption?
    /// See ``FileSystem/maximumFileBytes``.
    let maximumFileBytes: Int
    /// The route whose events these are.
    var route = RouteName.main

    /// A segment is at most an eighth of the capacity. Evicting a larger one would evict nearly everything.
    var segmentBytes: ClosedRange<Int> {
        let maximum = min(262_144, batchBytes, maximumFileBytes)
        return min(16_384, maximum)...maximum
    }

    /// And so are joined segments: they can't be evicted while they are delivered.
    var batchBytes: Int { max(1, capacity / 8) }

    /// A thousand years: practically unlimited, and short enough for arithmetic.
    static let longestAge = Duration.seconds(1_000 * 365 * 86_400)

    /// How long events are appended to a segment. Its name contains only the age of its first event, and all of its events
    /// expire together.
    var segmentAge: Duration { maximumAge / 25 }

    /// The longest time that a machine is believed to have been off. A wall clock that shows a longer one was wrong before or is
    /// wrong now: after a battery was empty it starts in 1970, 2000 or the year in which its system was built.
    var longestGap: Duration { max(maximumAge, .seconds(365 * 86_400)) }

    /// A store writes a larger segment only with a larger `maximumEventBytes`. A segment is read as a whole.
    var largestSegment: Int { max(67_108_864, maximumEventBytes * 2) }

    /// The lower limit keeps small batches from leading to a file for each event.
    let segmentEvents = 20...500

    /// The size of a write if the durability is ``JSONLStore/Durability/buffered``.
    let bufferBytes = 65_536

    /// Whether lines may wait in a buffer.
    func isBuffered(_ lane: Lane) -> Bool { durability == .buffered && lane.holdsEvents }

    /// Whether the durability promises anything for a loss of power.
    var survivesPowerLoss: Bool { isFull || interval != nil }

    var isFull: Bool { durability == .full }

    /// Whether lines are synchronized before they count as stored. Dead letters are, because their events may have been safe
    /// for long, and are removed next.
    func synchronizesEachWrite(_ lane: Lane) -> Bool { isFull || lane == .rejected && survivesPowerLoss }

    var interval: Duration? {
        guard case .interval(let milliseconds) = durability else { return nil }
        return .milliseconds(min(milliseconds, 86_400_000))
    }

    /// - Throws: ``SluiceError/Code/invalidArgument`` if a limit or an interval is not positive.
    func validate() throws(SluiceError) {
        try SluiceError.require(
            capacity > 0 && maximumEventBytes > 0,
            "a capacity of \(capacity) bytes, for events of at most \(maximumEventBytes), holds no event: "
                + "use positive numbers")
        try encryption?.validate()
        try SluiceError.require(
            maximumAge > .zero, "a maximumAge of \(maximumAge) makes every event too old: use a positive one")
        if case .interval(let milliseconds) = durability {
            try SluiceError.require(
                milliseconds >= 1, "an interval of \(milliseconds) milliseconds: use at least 1, or choose .full")
        }
    }
}
