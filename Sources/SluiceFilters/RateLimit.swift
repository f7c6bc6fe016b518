public import Sluice

/// Lets so many events of each name pass in a time, and drops the rest as ``Sluice/DropReason/rateLimited``: against a
/// loop that tracks.
///
/// A name may use up its whole number at once; what it has used comes back evenly in the time. Of more than 1,000 names,
/// the further ones share one number, so that memory is bounded.
public final class RateLimit: Processor {
    static let maximumNames = 1_000

    private struct Bucket {
        var events: Double
        var filledAt: Duration
    }

    private let limit: Double
    private let window: Duration
    private let time: any TimeSource
    private let buckets = Locked<[String: Bucket]>([:])

    /// - Parameters:
    ///   - events: how many of one name, at least 1.
    ///   - window: in what time, at least a millisecond; by the continuous clock.
    ///   - time: the clock.
    public init(_ events: Int, per window: Duration, time: any TimeSource = SystemTime()) {
        limit = Double(max(1, events))
        self.window = max(.milliseconds(1), window)
        self.time = time
    }

    public func process(_ event: inout Event) -> Disposition {
        if Consent.isLettingGo { return .keep }
        let now = time.continuousTime()
        let passes = buckets.withLock { buckets in
            var name = event.name
            if buckets[name] == nil, buckets.count >= RateLimit.maximumNames { name = "" }
            return take(from: &buckets[name, default: Bucket(events: limit, filledAt: now)], at: now)
        }
        return passes ? .keep : .drop(.rateLimited)
    }

    private func take(from bucket: inout Bucket, at now: Duration) -> Bool {
        bucket.events = min(limit, bucket.events + limit * max(0, (now - bucket.filledAt) / window))
        bucket.filledAt = now
        guard bucket.events >= 1 else { return false }
        bucket.events -= 1
        return true
    }
}
