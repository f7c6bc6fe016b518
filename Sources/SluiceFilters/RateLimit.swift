public import Sluice

/// Limits how many events pass in a period: of each name, of each user, or of each key of your own.
///
/// ```swift
/// let pipeline = try Pipeline {
///     RateLimit(100, per: .seconds(60))                    // Of each name: stops a loop that tracks.
///     RateLimit(300, per: .seconds(60), per: .distinctID)  // Of each user: a noisy one doesn't use up the others' share.
///     …
/// }
/// ```
///
/// Each key has a token bucket. It can use its whole number in one burst, and its bucket is refilled evenly over the
/// window. So in any period as long as the window, at most twice the number passes. Further events are dropped as
/// ``Sluice/DropReason/rateLimited``.
///
/// ## Memory
///
/// The filter keeps the buckets of up to 10,000 keys, in less than 1 MB, however long the keys are. For another one, it
/// forgets the 5,000 keys with the fullest buckets, which then begin with a full one. So a key that has used up its number
/// stays limited while fewer than 5,000 others have used as much, and no key uses up the number of another one. To bound
/// the sum of all keys as well, list a second filter with one key for all events.
///
/// You can call it from any thread.
public final class RateLimit: Processor {
    /// The number of buckets that it keeps at most.
    static let capacity = 10_000

    private struct Bucket {
        var events: Double
        var filledAt: Duration
    }

    /// Connects this plugin to its pipelines.
    public let context = PluginContext()
    private let limit: Int
    private let window: Duration
    private let key: Key
    /// By the hashes of the keys: a key can be long, or secret.
    private let buckets = Locked<[Int: Bucket]>([:])

    /// The number of keys that it remembers.
    package var keyCount: Int { buckets.withLock { $0.count } }

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - events: The number of events of one key, at least 1.
    ///   - window: The period for this number, by the continuous clock. At least one millisecond.
    ///   - key: The events that share a number: by default, those with the same name.
    public init(_ events: Int, per window: Duration, per key: Key = .eventName) {
        limit = events
        self.window = window
        self.key = key
    }

    /// Checks the arguments.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for fewer than 1 event, or a window that is too short.
    public func prepare() throws {
        try SluiceError.require(
            limit >= 1, "a limit of \(limit) lets no event pass: choose at least 1, or use EventNames")
        try SluiceError.require(
            window >= .milliseconds(1), "a window of \(window): choose at least a millisecond")
    }

    /// Drops the event if its key has used up its bucket.
    public func process(_ event: inout Event) -> Disposition {
        guard let hash = key.hash(event) else { return .keep }
        let now = context.time.continuousTime()
        let passes = buckets.withLock { buckets in
            if buckets.count >= RateLimit.capacity, buckets[hash] == nil { forgetFullest(of: &buckets, at: now) }
            return take(from: &buckets[hash, default: Bucket(events: Double(limit), filledAt: now)], at: now)
        }
        return passes ? .keep : .drop(.rateLimited)
    }

    private func take(from bucket: inout Bucket, at now: Duration) -> Bool {
        bucket.events = level(of: bucket, at: now)
        bucket.filledAt = now
        guard bucket.events >= 1 else { return false }
        bucket.events -= 1
        return true
    }

    /// The number of events that the bucket lets pass now.
    private func level(of bucket: Bucket, at now: Duration) -> Double {
        let limit = Double(limit)
        return min(limit, bucket.events + limit * max(0, (now - bucket.filledAt) / window))
    }

    /// Half of the buckets, so that many new keys in a row don't sort them each time.
    private func forgetFullest(of buckets: inout [Int: Bucket], at now: Duration) {
        let levels = buckets.mapValues { level(of: $0, at: now) }.sorted { $0.value > $1.value }
        for (hash, _) in levels.prefix(RateLimit.capacity / 2) { buckets[hash] = nil }
    }
}

extension RateLimit {
    /// The events that share a number.
    ///
    /// ```swift
    /// RateLimit(300, per: .seconds(60), per: .distinctID)
    /// RateLimit(50, per: .seconds(60), per: .init { $0.properties["tenant"] })
    /// RateLimit(10, per: .seconds(60), per: .init { [$0.name, $0.distinctID] })  // Of each name of each user.
    /// RateLimit(5_000, per: .seconds(60), per: .init { _ in "all" })
    /// ```
    public struct Key: Sendable {
        let hash: @Sendable (Event) -> Int?

        /// The events with the same name. Names are compared by their characters.
        public static let eventName = Key { $0.name }

        /// The events with the same distinct id. Ids are compared by their bytes. Events without one share a number.
        ///
        /// List the filter below `Identity`, so that the events have their ids.
        public static let distinctID = Key { Array(($0.distinctID ?? "").utf8) }

        /// Creates a key of your own.
        ///
        /// - Parameter value: Returns a value of the event, or nil if the event isn't limited. Equal values share a
        ///   number: texts by their characters, so return `Array(id.utf8)` for an id. The closure runs inside `track`,
        ///   on any thread: return quickly.
        public init(_ value: @escaping @Sendable (Event) -> (any Hashable)?) {
            hash = { value($0)?.hashValue }
        }
    }
}
