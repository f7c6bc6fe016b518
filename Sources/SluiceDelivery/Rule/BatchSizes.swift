/// The sizes of batches and their parts: larger ones while a backlog drains. If large parts fail, the route halves them for a
/// while.
struct BatchSizes: Sendable {
    private let small: BatchSize
    private let large: BatchSize
    /// The most events of a part, and the parts that the receiver must accept before it is doubled.
    private var limit = (events: Int.max, left: 0)
    /// Failures since the last acceptance that can be due to the size of their part.
    private var failures = (count: 0, events: 0)

    /// One lost response says nothing about the size.
    private static let mostFailures = 2
    /// At a receiver that never takes larger ones, one request in twenty is refused. Twice as many would make a search slow,
    /// because smaller parts have fewer good events beside a bad one.
    private static let acceptances = 20

    init(_ policy: DeliveryPolicy, maximum: BatchSize) {
        func size(_ size: BatchSize) -> BatchSize {
            BatchSize(
                events: min(size.events, maximum.events, Passes.unknown / 2), bytes: min(size.bytes, maximum.bytes))
        }
        (small, large) = (size(policy.batch), size(policy.backlogBatch))
    }

    /// The size of the next batch, of so many events that can be taken.
    func next(takeable: Int) -> BatchSize { part(of: takeable > large.events ? large : small) }

    /// The size of the next part of a batch that was taken with this size.
    func part(of size: BatchSize) -> BatchSize {
        size.events <= limit.events ? size : BatchSize(events: limit.events, bytes: size.bytes)
    }

    /// Records the answer to a part of so many events. `isBlamed` tells whether some of them are.
    mutating func record(_ answer: Answer, events: Int, isBlamed: Bool = false) {
        if answer.isOversized { return halve(events) }
        if let failure = answer.failure, events > 1 {
            if failure.isTooLarge {
                // A search sends ever smaller parts, whatever their size has to do with it.
                if !isBlamed { failures = (Self.mostFailures, events) }
            } else if failure.status == nil, failure.kind == .passing, events > small.events {
                failures = (failures.count + 1, events)
            }
        }
        guard !answer.accepted.isEmpty else { return }
        if failures.count >= Self.mostFailures, failures.events > events {
            // The receiver works, and takes smaller parts.
            halve(failures.events)
        } else if limit.left > 0 {
            limit.left -= 1
            if limit.left == 0 {
                limit = limit.events < large.events / 2 ? (2 * limit.events, Self.acceptances) : (.max, 0)
            }
        }
        failures.count = 0
    }

    private mutating func halve(_ events: Int) {
        limit = (max(1, min(limit.events, events) / 2), Self.acceptances)
        failures.count = 0
    }
}
