/// The sizes of batches and their parts: larger ones while a backlog drains. If large parts fail, the route halves them for a
/// while.
struct BatchSizes: Sendable {
    private let small: BatchSize
    private let large: BatchSize
    /// The most events of a part.
    private var limit = Int.max
    /// Parts that the receiver must accept before ``limit`` is doubled.
    private var pause = 0
    /// Failures since the last acceptance that can be due to the size of their part.
    private var failures = (count: 0, events: 0)

    /// One lost response says nothing about the size.
    private static let mostFailures = 2
    /// At a receiver that never takes larger ones, one request in twenty is refused. Twice as many would make a search slow,
    /// because smaller parts have fewer good events beside a bad one.
    private static let pause = 20

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
        size.events <= limit ? size : BatchSize(events: limit, bytes: size.bytes)
    }

    /// Records the answer to a part of so many events, while events are searched for or not.
    mutating func record(_ answer: Answer, events: Int, isSearching: Bool = false) {
        if answer.isOversized { return halve(events) }
        if let failure = answer.failure, events > 1 {
            if failure.isTooLarge {
                // A search sends ever smaller parts, whatever their size has to do with it.
                if !isSearching { failures = (Self.mostFailures, events) }
            } else if failure.status == nil, failure.kind == .passing, events > small.events {
                failures = (failures.count + 1, events)
            }
        }
        guard !answer.accepted.isEmpty else { return }
        if failures.count >= Self.mostFailures, failures.events > events {
            // The receiver works, and takes smaller parts.
            halve(failures.events)
        } else if pause > 0 {
            pause -= 1
            if pause == 0 { double() }
        }
        failures.count = 0
    }

    private mutating func halve(_ events: Int) {
        limit = max(1, min(limit, events) / 2)
        (pause, failures.count) = (Self.pause, 0)
    }

    private mutating func double() {
        limit = limit < large.events / 2 ? 2 * limit : .max
        if limit < .max { pause = Self.pause }
    }
}
