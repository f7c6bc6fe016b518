/// A batch that the store has handed out, with the events that still have no final verdict.
struct OpenBatch: Sendable {
    let batch: Batch
    /// The requested size, which limits its parts.
    let size: BatchSize
    /// The rest: the places of the events without a final verdict, in their order.
    var rest: [Int]
    /// Whether a worker sends a part of it, or tells the store an answer.
    var isInFlight = false
    /// Failed attempts since an acceptance without a failure.
    var retries = 0

    init(_ batch: Batch, size: BatchSize) {
        (self.batch, self.size) = (batch, size)
        rest = Array(batch.events.indices)
    }

    var id: Batch.ID { batch.id }

    /// The size of all its events, including those with a final verdict.
    var bytes: Int { batch.events.reduce(0) { $0 + $1.bytes.count } }

    func key(_ place: Int) -> EventKey { EventKey(batch: id, place: place) }

    /// The first of these places that fit into `limit`, and at least one.
    func prefix(_ places: [Int], _ limit: BatchSize) -> [Int] {
        var bytes = 0
        let fitting = places.prefix(limit.events).prefix { place in
            bytes += batch.events[place].bytes.count
            return bytes <= limit.bytes
        }
        return fitting.count == places.count ? places : Array(places.prefix(max(1, fitting.count)))
    }
}

extension [Int] {
    /// Takes out these places, if they are there. Both lists are in order.
    mutating func remove(_ places: [Int]) {
        // Usually a part is everything that is left, and hashing each place takes 250 instructions twice.
        if places == self { return removeAll() }
        let gone = Set(places)
        removeAll(where: gone.contains)
    }
}

/// An event of an open batch.
struct EventKey: Hashable, Sendable {
    let batch: Batch.ID
    let place: Int
}

/// Events of one batch that are sent together.
struct Part: Sendable {
    let batch: Batch
    /// Their places in the open batch, in order.
    let places: [Int]

    init(_ open: OpenBatch, _ places: [Int]) {
        self.places = places
        // The usual part is the whole batch, which needs no other array.
        let all = open.batch.events
        let events = places.count == all.count ? all : places.map { all[$0] }
        batch = Batch(id: open.id, events: events, retryCount: open.retries)
    }
}
