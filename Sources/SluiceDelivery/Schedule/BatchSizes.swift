/// The sizes of batches and their parts: larger ones while a backlog drains. If large parts fail, the route sends small ones for
/// a while.
struct BatchSizes: Sendable {
    private let small: BatchSize
    private let large: BatchSize
    /// Attempts with a large part that had no response, since the last one with an acceptance.
    private var failures = 0
    /// Small parts that the receiver must accept before a large one is tried again.
    private var pause = 0
    private var nextPause = BatchSizes.shortestPause

    /// One lost response says nothing about the size. The first repetition is the same request, so receivers recognize it.
    private static let mostFailures = 2
    private static let shortestPause = 20
    private static let longestPause = 10_240

    init(_ policy: DeliveryPolicy, maximum: BatchSize) {
        func size(_ size: BatchSize) -> BatchSize {
            BatchSize(
                events: min(size.events, maximum.events, Passes.unknown / 2), bytes: min(size.bytes, maximum.bytes))
        }
        (small, large) = (size(policy.batch), size(policy.backlogBatch))
    }

    /// The size of the next batch, of so many events that can be taken.
    func next(takeable: Int) -> BatchSize { pause == 0 && takeable > large.events ? large : small }

    /// The size of the next part of a batch that was taken with this size. It stays the same while the route tracks and sends
    /// other events, because a repeated request must have the same events.
    func part(of size: BatchSize) -> BatchSize {
        pause == 0 ? size : BatchSize(events: min(size.events, small.events), bytes: min(size.bytes, small.bytes))
    }

    /// Records the result of an attempt.
    mutating func record(_ result: SendResult) {
        guard result.isAttempt else { return }
        guard result.offered > small.events else {
            if result.accepted > 0, pause > 0 { pause -= 1 }
            return
        }
        if result.accepted > 0 {
            (failures, nextPause) = (0, BatchSizes.shortestPause)
        } else if result.splitReason != nil {
            shrink()
        } else if case .retry = result.effect, result.status == nil, pause == 0 {
            failures += 1
            if failures >= BatchSizes.mostFailures { shrink() }
        }
    }

    private mutating func shrink() {
        // Batches that were in flight together fail together.
        guard pause == 0 else { return }
        (failures, pause) = (0, nextPause)
        nextPause = min(2 * nextPause, BatchSizes.longestPause)
    }
}
