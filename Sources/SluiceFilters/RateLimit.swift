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

    private let limit: Int
    private let window: Duration
    private let time: any TimeSource
    private let buckets = Locked<[String: Bucket]>([:])

    /// - Parameters:
    ///   - events: how many of one name, at least 1. With fewer, or a shorter window than is allowed, the pipeline throws
    ///     ``Sluice/SluiceError/Code/invalidArgument`` when it is built.
    ///   - window: in what time, at least a millisecond; by the continuous clock.
    ///   - time: the clock.
    public init(_ events: Int, per window: Duration, time: any TimeSource = SystemTime()) {
        limit = events
        self.window = window
        self.time = time
    }

    public func attach(to outlet: EventOutlet) throws {
        guard limit >= 1 else {
            throw SluiceError(
                .invalidArgument, "a RateLimit of \(limit) lets no event pass: choose 1 at least, or use EventNames")
        }
        guard window >= .milliseconds(1) else {
            throw SluiceError(.invalidArgument, "a RateLimit per \(window): choose a millisecond at least")
        }
    }

    public func process(_ event: inout Event) -> Disposition {
        if Consent.isLettingGo { return .keep }
        let now = time.continuousTime()
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
