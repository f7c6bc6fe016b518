public import Sluice

/// Limits how many events of each name pass in a period, for example to stop a loop that tracks.
///
/// ```swift
/// let pipeline = try Pipeline {
///     RateLimit(100, per: .seconds(60))
///     …
/// }
/// ```
///
/// Each name has a token bucket. A name can use its whole number in one burst, and its bucket is refilled evenly over
/// the window. To bound memory, all names after the first 1,000 share one bucket. Further events are dropped as
/// ``Sluice/DropReason/rateLimited``.
public final class RateLimit: Processor {
    static let maximumNames = 1_000

    private struct Bucket {
        var events: Double
        var filledAt: Duration
    }

    /// Connects this plugin to its pipelines.
    public let context = PluginContext()
    private let limit: Int
    private let window: Duration
    private let buckets = Locked<[String: Bucket]>([:])

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - events: The number of events of one name, at least 1.
    ///   - window: The period for this number, by the continuous clock. At least one millisecond.
    public init(_ events: Int, per window: Duration) {
        limit = events
        self.window = window
    }

    /// Checks the arguments.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for fewer than 1 event, or a window that is too short.
    public func prepare() throws {
        guard limit >= 1 else {
            throw SluiceError(
                .invalidArgument, "a limit of \(limit) lets no event pass: choose at least 1, or use EventNames")
        }
        guard window >= .milliseconds(1) else {
            throw SluiceError(.invalidArgument, "a window of \(window): choose at least a millisecond")
        }
    }

    /// Drops the event if its name has used up its bucket.
    public func process(_ event: inout Event) -> Disposition {
        let now = context.time.continuousTime()
        let passes = buckets.withLock { buckets in
            var name = event.name
            if buckets[name] == nil, buckets.count >= RateLimit.maximumNames { name = "" }
            return take(from: &buckets[name, default: Bucket(events: Double(limit), filledAt: now)], at: now)
        }
        return passes ? .keep : .drop(.rateLimited)
    }

    private func take(from bucket: inout Bucket, at now: Duration) -> Bool {
        let limit = Double(limit)
        bucket.events = min(limit, bucket.events + limit * max(0, (now - bucket.filledAt) / window))
        bucket.filledAt = now
        guard bucket.events >= 1 else { return false }
        bucket.events -= 1
        return true
    }
}
