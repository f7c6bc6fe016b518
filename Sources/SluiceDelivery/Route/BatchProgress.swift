/// A batch on its way: the events that still need a final verdict, and the size of the next part.
///
/// This is a value without I/O. Each event leaves it once, as accepted or as rejected.
struct BatchProgress: Sendable {
    let id: Batch.ID
    /// The number of events in the batch.
    let count: Int
    /// How many of them are critical: all or none.
    let critical: Int
    /// Events that can be sent now.
    private(set) var unresolved: [EventLine]
    /// Events that the receiver deferred while it handled others.
    private(set) var deferred: [EventLine] = []
    /// The places of ``unresolved`` and of ``deferred`` in the batch.
    private var places: [Int]
    private var deferredPlaces: [Int] = []
    /// The longest time that the receiver asked for, since ``deferred`` was empty.
    private(set) var deferral = Duration.zero
    /// How often the batch waited only for deferred events.
    private(set) var deferrals = 0
    /// How often the next events were sent without a result, and how often the deferred ones were.
    private var retries = 0
    private var deferredRetries = 0
    private var partEvents = Int.max
    /// Whether parts are small in search of a refused event. After it is found, they may grow.
    private var isSearching = false

    init(_ batch: Batch) {
        id = batch.id
        count = batch.events.count
        critical = batch.events.first?.priority == .critical ? count : 0
        unresolved = batch.events
        places = Array(batch.events.indices)
    }

    /// Events without a final verdict.
    var waiting: Int { unresolved.count + deferred.count }

    /// Events that were accepted or rejected.
    var resolved: Int { count - waiting }

    var isResolved: Bool { waiting == 0 }

    /// The next events to send: as many as fit into `limit`, but at least one.
    func nextPart(_ limit: BatchSize) -> Batch {
        var bytes = 0
        var count = 0
        for line in unresolved.prefix(min(limit.events, partEvents)) {
            bytes += line.bytes.count
            if count > 0, bytes > limit.bytes { break }
            count += 1
        }
        return Batch(id: id, events: Array(unresolved.prefix(count)), retryCount: retries)
    }

    /// Applies the verdicts for the first `count` unresolved events.
    mutating func apply(_ verdicts: Verdicts, toFirst count: Int) -> SendResult {
        var result = SendResult()
        let each: [Verdict]
        var areNamed = false
        result.status = verdicts.status
        switch verdicts.kind {
        case .all(let verdict): each = Array(repeating: verdict, count: count)
        case .each(let list) where list.count == count: (each, areNamed) = (list, true)
        case .each(let list):
            let reason = "the transport returned \(list.count) verdicts for \(count) events"
            each = Array(repeating: .retry(after: nil, reason: reason), count: count)
        }
        var kept: [Int] = []
        var sendAgain = false
        for (index, verdict) in each.enumerated() {
            let (place, reason) = (places[index], verdict.reason)
            switch verdict.kind {
            case .accepted: result.acceptedPlaces.append(place)  // mutant: take-retry-for-acceptance
            case .duplicate:
                result.acceptedPlaces.append(place)
                result.duplicates += 1
            case .rejected:
                // mutant: offer-refused-event-again
                result.rejected.append(.init(line: unresolved[index], place: place, reason: reason, isRefusal: true))
            case .unsendable:
                result.rejected.append(.init(line: unresolved[index], place: place, reason: reason, isRefusal: false))
            case .tooLarge where count == 1:
                // It was this event that was too large, not the parts before it.
                isSearching = true
                result.rejected.append(
                    .init(
                        line: unresolved[index], place: place, reason: "the event alone is too large for the receiver",
                        isRefusal: true))
            case .tooLarge:
                result.splitReason = result.splitReason ?? reason
                isSearching = false
                kept.append(index)
            case .split where count == 1:
                isSearching = true
                result.rejected.append(.init(line: unresolved[index], place: place, reason: reason, isRefusal: true))
            case .split:
                result.splitReason = result.splitReason ?? reason
                isSearching = true
                kept.append(index)
            case .hold:
                (result.effect, result.reason) = (.hold, reason)
                kept.append(index)
            case .retry(.zero?) where areNamed:
                sendAgain = true
                kept.append(index)
            case .retry(let after):
                if areNamed {
                    deferred.append(unresolved[index])
                    deferredPlaces.append(place)
                    deferral = max(deferral, after ?? .zero)
                } else {
                    kept.append(index)
                }
                if result.effect != .hold {
                    result.effect = areNamed ? .deferred : .retry(after: after)
                    if result.reason?.isEmpty ?? true { result.reason = reason }
                }
            }
        }
        places.replaceSubrange(0..<count, with: kept.map { places[$0] })
        unresolved.replaceSubrange(0..<count, with: kept.map { unresolved[$0] })  // mutant: forget-partial-delivery
        switch result.effect {
        // The receiver works, and others can go on.
        case .deferred where result.accepted > 0 || sendAgain: (result.effect, result.reason) = (.progress, nil)
        // Nothing has changed, so the same request would follow without a pause.
        case .progress where sendAgain && result.resolved == 0:
            (result.effect, result.reason) = (.retry(after: nil), "")
        case .progress, .deferred, .retry, .hold: break
        }
        if !deferred.isEmpty { deferredRetries = max(deferredRetries, retries + 1) }
        // A smaller part is another request.
        retries = result.resolved == 0 && !sendAgain && result.splitReason == nil ? retries + 1 : 0
        if result.reason?.isEmpty ?? false { result.reason = "the receiver asked for a retry" }
        if result.splitReason != nil {
            partEvents = max(1, count / 2)
        } else if isSearching, count >= partEvents, result.accepted == count {
            partEvents = count * 2
        }
        return result
    }

    /// Whether only deferred events are left.
    var isDeferred: Bool { unresolved.isEmpty && !deferred.isEmpty }

    /// Ends the deferral: the deferred events can be sent now.
    mutating func resume() {
        unresolved += deferred
        places += deferredPlaces
        (deferred, deferredPlaces) = ([], [])
        deferral = .zero
        deferrals += 1
        (retries, deferredRetries) = (deferredRetries, 0)
    }
}
