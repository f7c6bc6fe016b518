/// A batch on its way: which of its events still wait for a final verdict, and how large its parts may be.
///
/// Pure: it sends nothing itself. An event leaves it once, as delivered or as rejected.
struct BatchProgress: Sendable {
    let id: Batch.ID
    private(set) var unresolved: [EventLine]
    private(set) var rejected: [RejectedEvent] = []
    private(set) var delivered = 0
    private(set) var duplicates = 0
    /// Refused even alone, but no other event was accepted yet that would prove it to be their fault.
    private var suspects: [RejectedEvent] = []
    private var partEvents = Int.max
    /// Parts are small in search of an event that is refused: beyond it they may grow again.
    private var isSearching = false

    init(_ batch: Batch) {
        id = batch.id
        unresolved = batch.events
    }

    var isResolved: Bool { unresolved.isEmpty && suspects.isEmpty }

    /// The next events to send: as many of the first as fit into `limit`, at least one.
    func nextPart(_ limit: BatchSize) -> Batch {
        var bytes = 0
        var count = 0
        for line in unresolved.prefix(min(limit.events, partEvents)) {
            bytes += line.bytes.count
            if count > 0, bytes > limit.bytes { break }
            count += 1
        }
        return Batch(id: id, events: Array(unresolved.prefix(count)))
    }

    /// Takes in the verdicts on the part that ``nextPart(_:)`` gave.
    mutating func apply(_ verdicts: Verdicts, toFirst count: Int) -> DeliveryMachine.Outcome {
        let each: [Verdict]
        switch verdicts {
        case .all(let verdict): each = Array(repeating: verdict, count: count)
        case .each(let list) where list.count == count: each = list
        case .each: each = Array(repeating: .retry(after: nil), count: count)
        }

        let part = unresolved.prefix(count)
        let before = delivered
        var kept: [EventLine] = []
        var retryAfter: Duration?
        var mustRetry = false
        var mustHold = false
        var mustSplit = false
        for (line, verdict) in zip(part, each) {
            switch verdict {
            case .accepted:
                delivered += 1
                continue
            case .duplicate:
                delivered += 1
                duplicates += 1
                continue
            case .rejected(let reason):
                rejected.append(RejectedEvent(line: line, reason: reason))
                continue
            case .split(.tooLarge) where count == 1:
                rejected.append(RejectedEvent(line: line, reason: "too large for the receiver by itself"))
                continue
            case .split(.refused(let reason)) where count == 1:
                suspects.append(RejectedEvent(line: line, reason: reason))
                continue
            case .split(let reason):
                mustSplit = true
                isSearching = reason != .tooLarge
            case .hold: mustHold = true
            case .retry(let after):
                mustRetry = true
                retryAfter = [retryAfter, after].compactMap(\.self).max()
            }
            kept.append(line)
        }
        unresolved.replaceSubrange(0..<count, with: kept)
        if mustSplit {
            partEvents = max(1, count / 2)
        } else if isSearching, count >= partEvents, delivered == before + count {
            partEvents = count * 2
        }
        if mustHold { return .held }
        if mustRetry { return .failed(retryAfter: retryAfter) }
        return convictSuspects()
    }

    private mutating func convictSuspects() -> DeliveryMachine.Outcome {
        guard !suspects.isEmpty else { return .progress }
        if delivered > 0 {
            rejected += suspects
            suspects = []
        } else if unresolved.isEmpty {
            // All were refused, so it is not the events: they wait for a receiver that takes any.
            unresolved = suspects.map(\.line)
            suspects = []
            partEvents = .max
            return .held
        }
        return .progress
    }
}
