/// A batch on its way: which of its events still wait for a final verdict, and how large its parts may be.
///
/// Pure: it sends nothing itself. An event leaves it once, as delivered or as rejected.
///
/// An event that the receiver refuses is a suspect at first: only when the receiver takes another one is it the event's
/// fault, and not the receiver's. So nothing that a receiver says empties a store.
struct BatchProgress: Sendable {
    /// What the verdicts on one part came to.
    enum Outcome: Sendable, Equatable {
        case progress
        case failed(retryAfter: Duration?)
        case held
        /// Some were refused, even alone, and none was accepted: the receiver may be at fault, or these events.
        case refused
    }

    let id: Batch.ID
    private(set) var unresolved: [EventLine]
    private(set) var rejected: [RejectedEvent] = []
    private(set) var delivered = 0
    private(set) var duplicates = 0
    private var suspects: [RejectedEvent] = []
    private var partEvents = Int.max
    /// Parts are small in search of an event that is refused: beyond it they may grow again.
    private var isSearching = false
    /// The receiver has accepted something, and refused nothing alone since.
    private var hasProof = false
    /// How many suspects it takes, while nothing is accepted, to think of the receiver instead. It doubles with every
    /// attempt, so that no number of bad events in front hides the good ones for ever.
    private(set) var patience: Int

    init(_ batch: Batch, patience: Int = 8) {
        id = batch.id
        unresolved = batch.events
        self.patience = patience
    }

    var isResolved: Bool { unresolved.isEmpty && suspects.isEmpty }

    var hasSuspects: Bool { !suspects.isEmpty }

    /// Events that are neither delivered nor rejected.
    var waiting: Int { unresolved.count + suspects.count }

    /// Events that have left it.
    var resolved: Int { delivered + rejected.count }

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
    mutating func apply(_ verdicts: Verdicts, toFirst count: Int) -> Outcome {
        let each: [Verdict]
        switch verdicts {
        case .all(let verdict): each = Array(repeating: verdict, count: count)
        case .each(let list) where list.count == count: each = list
        case .each: each = Array(repeating: .retry(after: nil), count: count)
        }

        let before = delivered
        var kept: [EventLine] = []
        var retryAfter: Duration?
        var mustRetry = false
        var mustHold = false
        var mustSplit = false
        for (line, verdict) in zip(unresolved.prefix(count), each) {
            switch verdict {
            case .accepted:
                delivered += 1
                continue
            case .duplicate:
                delivered += 1
                duplicates += 1
                continue
            case .rejected(let reason), .unsendable(let reason):
                suspects.append(RejectedEvent(line: line, reason: reason))
                continue
            case .split(let reason) where count == 1:
                suspects.append(RejectedEvent(line: line, reason: reason.text))
                continue
            case .split(let reason):
                mustSplit = true
                isSearching = reason != .tooLarge
            case .hold: mustHold = true
            case .retry(let after, _):
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
        if delivered > before {
            hasProof = true
            convict()
        } else if hasProof, count == 1, hasSuspects {
            // One acceptance convicts one event after it, so that a receiver that breaks in mid batch empties nothing.
            hasProof = false
            convict()
        }
        if mustHold { return .held }
        if mustRetry { return .failed(retryAfter: retryAfter) }
        return hasSuspects && (unresolved.isEmpty || suspects.count >= patience) ? .refused : .progress
    }

    /// The receiver has taken another event: the suspects are at fault.
    mutating func convict() {
        rejected += suspects
        suspects = []
    }

    /// The receiver takes nothing at present: the suspects are to be sent again when it may, one by one until it does.
    mutating func acquit() {
        unresolved = suspects.map(\.line) + unresolved
        suspects = []
        partEvents = 1
        isSearching = true
        hasProof = false
        patience = min(patience * 2, 1 << 20)
    }
}

extension Verdict.Split {
    fileprivate var text: String {
        switch self {
        case .tooLarge: "too large for the receiver by itself"
        case .refused(let reason): reason
        }
    }
}
