/// A batch on its way: the events that still need a final verdict, and the size of the next part.
///
/// This is a value without I/O. Each event leaves it once, as accepted or as rejected.
struct BatchProgress: Sendable {
    let id: Batch.ID
    /// All events of the batch. The others below are their places.
    let events: [EventLine]
    /// How many of them are critical: all or none.
    let critical: Int
    /// Events that can be sent now.
    private(set) var unresolved: [Int]
    /// Events that the receiver deferred while it handled others, and suspects that wait for an acceptance.
    private(set) var deferred: [Int] = []
    /// Answers to single events that can be about their contents.
    private var suspects: [Int: Suspect] = [:]
    /// Whether an answer to some of the events can be about their contents.
    private(set) var isSuspected = false
    /// Failures that can be about the contents since the last acceptance.
    private var failures = 0
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
        events = batch.events
        critical = events.first?.priority == .critical ? batch.events.count : 0
        unresolved = Array(events.indices)
    }

    /// The number of events in the batch.
    var count: Int { events.count }

    /// Events without a final verdict.
    var waiting: Int { unresolved.count + deferred.count }

    /// Events that were accepted or rejected.
    var resolved: Int { count - waiting }

    var isResolved: Bool { waiting == 0 }

    /// The next events to send: as many as fit into `limit`, but at least one.
    func nextPart(_ limit: BatchSize) -> Batch {
        var bytes = 0
        var count = 0
        for place in unresolved.prefix(min(limit.events, partEvents)) {
            bytes += events[place].bytes.count
            if count > 0, bytes > limit.bytes { break }
            count += 1
        }
        let places = unresolved.prefix(count)
        // The usual part is the whole batch, which needs no other array.
        let isWhole = places.elementsEqual(events.indices)
        return Batch(id: id, events: isWhole ? events : places.map { events[$0] }, retryCount: retries)
    }

    /// Applies the verdicts for the first `count` unresolved events, which were offered in `stage`.
    mutating func apply(
        _ verdicts: Verdicts, toFirst count: Int, in stage: Refusals.Stage = Refusals.Stage()
    ) -> SendResult {
        var result = SendResult()
        let each: [Verdict]
        var areNamed = false
        (result.offered, result.status) = (count, verdicts.status)
        switch verdicts.kind {
        // The usual answer: 2 % of the instructions of a delivery.
        case .all(.accepted): (each, result.acceptedPlaces) = ([], Array(unresolved.prefix(count)))
        case .all(let verdict): each = Array(repeating: verdict, count: count)
        case .each(let list) where list.count == count: (each, areNamed) = (list, !verdicts.areCommon)
        case .each(let list):
            let reason =
                "the transport must return one verdict for each event; verdicts: \(list.count), events: \(count)"
            each = Array(repeating: .retry(after: nil, reason: reason), count: count)
        }
        var kept: [Int] = []
        var suspected: Verdict?
        var sendAgain = false
        func rejection(_ index: Int, _ reason: String, isRefusal: Bool = true) -> SendResult.Rejection {
            let (status, response) = (each[index].status ?? verdicts.status, each[index].response ?? verdicts.response)
            return .init(
                line: events[unresolved[index]], place: unresolved[index], reason: reason, status: status,
                response: response, isRefusal: isRefusal)
        }
        for index in each.indices {
            // No copy of an accepted event's verdict.
            var verdict: Verdict { each[index] }
            var reason: String { each[index].reason }
            switch each[index].kind {
            case .accepted: result.acceptedPlaces.append(unresolved[index])  // mutant: take-retry-for-acceptance
            case .duplicate:
                result.acceptedPlaces.append(unresolved[index])
                result.duplicates += 1
            case .rejected:
                // mutant: offer-refused-event-again
                result.rejected.append(rejection(index, reason))
            case .unsendable:
                let place = unresolved[index]
                result.rejected.append(.init(line: events[place], place: place, reason: reason, isRefusal: false))
            case .tooLarge where count == 1:
                // It was this event that was too large, not the parts before it.
                isSearching = true
                result.rejected.append(rejection(index, "the event alone is too large for the receiver"))
            case .tooLarge:
                result.splitReason = result.splitReason ?? reason
                isSearching = false
                kept.append(index)
            case .split where count == 1:
                isSearching = true
                result.rejected.append(rejection(index, reason))
            case .split:
                result.splitReason = result.splitReason ?? reason
                isSearching = true
                kept.append(index)
            case .hold:
                (result.effect, result.reason, result.holdTime) = (.hold, reason, verdict.holdTime)
                suspected = suspected ?? verdict
                kept.append(index)
            case .retry(.zero?) where areNamed:
                sendAgain = true
                kept.append(index)
            case .retry(let after):
                if areNamed {
                    deferred.append(unresolved[index])
                    deferral = max(deferral, after ?? .zero)
                } else {
                    suspected = suspected ?? verdict
                    kept.append(index)
                }
                if result.effect != .hold {
                    result.effect = areNamed ? .deferred : .retry(after: after)
                    if result.reason?.isEmpty ?? true { result.reason = reason }
                }
            }
        }
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
        if result.accepted > 0 {
            accepted(in: stage, &result)
        } else if var suspected, result.splitReason == nil, !sendAgain {
            suspected.response = suspected.response ?? verdicts.response
            suspect(kept.count, suspected, in: stage, &result)
        }
        return result
    }

    /// Takes the events of an erasure out. No request is needed.
    mutating func erase(_ erasure: Erasure) -> SendResult {
        var result = SendResult()
        (result.isAttempt, result.erasure) = (false, erasure.number)
        result.erasedPlaces = (unresolved + deferred).filter { erasure.isMatch(events[$0]) }
        let erased = Set(result.erasedPlaces)
        unresolved.removeAll(where: erased.contains)
        deferred.removeAll(where: erased.contains)  // mutant: spare-deferred-on-erase
        return result
    }

    /// Events without a final verdict, in their order.
    var rest: [EventLine] { (unresolved + deferred).sorted().map { events[$0] } }

    /// Whether only deferred events are left.
    var isDeferred: Bool { unresolved.isEmpty && !deferred.isEmpty }

    /// Ends the deferral: the deferred events can be sent now, in their order.
    mutating func resume() {
        resume { _ in true }
        deferral = .zero
        deferrals += 1
        (retries, deferredRetries) = (deferredRetries, 0)
    }

    /// Moves deferred events back between the events that can be sent.
    private mutating func resume(where isMatch: (_ place: Int) -> Bool) {
        unresolved = (unresolved + deferred.filter(isMatch)).sorted()
        deferred.removeAll(where: isMatch)
        guard isSuspected else { return }
        // The suspects are offered in halves.
        (partEvents, isSearching) = (max(1, unresolved.count / 2), true)
    }
}

// MARK: - Suspects

extension BatchProgress {
    /// An event that was answered alone.
    private struct Suspect: Sendable {
        let verdict: Verdict
        let status: Int?
        /// The row in which only acceptances are missing to reject the event. A probe's is over with its answer. Nil if the
        /// event must be offered once more.
        var row: Int?
        /// Acceptances that must follow its answers. Any event can be hit once by an outage or a wrong key.
        var missing = 2

        var isConfirmed: Bool { missing == 0 }
    }

    /// Whether there are events to send that were not answered alone.
    var hasUntried: Bool { unresolved.contains { suspects[$0] == nil } }

    /// Whether events wait, and all of them were answered alone.
    var isTried: Bool { !hasUntried && !isResolved }

    /// Whether offering the batch's events shows nothing until the receiver accepts another one.
    func awaitsAcceptance(in stage: Refusals.Stage) -> Bool {
        guard isSuspected, unresolved.isEmpty || stage.mode == .probing else { return false }
        return stage.mode == .probing
            || deferred.allSatisfy { awaitsAcceptance($0, in: stage.row) }
    }

    private func awaitsAcceptance(_ place: Int, in row: Int) -> Bool {
        suspects[place].map { $0.row == row && !$0.isConfirmed } ?? false
    }

    /// Moves the next event that was not answered alone to the front, because a probe doesn't offer an event twice. After
    /// all of them were, each probe offers another event.
    mutating func prepare(for stage: Refusals.Stage) {
        var index = 0
        switch stage.mode {
        case .normal: return
        case .probing:
            let untried = unresolved.indices.filter { suspects[unresolved[$0]] == nil }
            guard let first = untried.first else {
                index = deferrals % max(1, unresolved.count)
                break
            }
            index = stage.lastProbe.map { untried[Int($0 % UInt64(untried.count))] } ?? first
        case .searching:
            // They are the last ones. One of them shows whether the receiver has changed, each time another one.
            guard isSuspected, unresolved.allSatisfy({ awaitsAcceptance($0, in: stage.row) }) else { return }
            (partEvents, index) = (1, deferrals % unresolved.count)
        }
        if index == 0 { return }
        unresolved.insert(unresolved.remove(at: index), at: 0)
    }

    /// The first `count` events got an answer that can be about their contents.
    private mutating func suspect(
        _ count: Int, _ verdict: Verdict, in stage: Refusals.Stage, _ result: inout SendResult
    ) {
        let isHold = result.effect == .hold
        if !isHold {
            // mutant: search-nothing
            guard Refusals.canConcernContents(result.status) else { return }
            failures += 1
            let isKnown = stage.mode == .probing || stage.mode == .searching && isSuspected
            // A process of a moment would never make ten attempts.
            guard isKnown || stage.lastProbe != nil || failures >= Refusals.suspiciousFailures else { return }
        }
        (isSuspected, result.isSuspected) = (true, true)
        switch stage.mode {
        // A hold of an event alone is the answer to a probe. A failure is repeated first.
        case .normal: if count == 1, isHold { setAside(verdict, result.status, row: stage.row) }
        case .probing: if count == 1 { setAside(verdict, result.status, row: stage.row) }
        case .searching where count == 1:
            let isKnown = awaitsAcceptance(unresolved[0], in: stage.row)
            if !isKnown { result.suspect = verdict.reason }
            isSearching = true
            setAside(verdict, result.status, row: stage.row)
            // Nothing has changed for the others either.
            if isKnown, unresolved.allSatisfy({ awaitsAcceptance($0, in: stage.row) }) {
                deferred += unresolved
                unresolved = []
            }
        case .searching:
            result.splitReason = verdict.reason
            (isSearching, partEvents) = (true, max(1, count / 2))
        }
        // The receiver is well. After a failure, the route backs off all the same.
        guard isHold, stage.mode == .searching, result.holdTime == nil else { return }
        (result.effect, result.reason) = (.progress, nil)
    }

    private mutating func setAside(_ verdict: Verdict, _ status: Int?, row: Int) {
        let place = unresolved.removeFirst()
        var suspect = Suspect(verdict: verdict, status: status, row: row)
        if let former = suspects[place], former.row == nil || former.row == row { suspect.missing = former.missing }
        suspects[place] = suspect
        deferred.append(place)
        retries = 0
    }

    /// Rejects confirmed suspects, and offers the others once more.
    private mutating func accepted(in stage: Refusals.Stage, _ result: inout SendResult) {
        failures = 0
        guard isSuspected, stage.mode != .normal else { return }
        let areConfirmed = confirm(stage.row)
        let suspects = suspects
        if areConfirmed {
            result.rejected += deferred.filter(isConfirmed).map(confirmed)  // mutant: reject-all-suspects
            deferred.removeAll { suspects[$0]?.isConfirmed ?? false }
            result.isConfirmed = true
        }
        let mustOffer = { place in suspects[place].map { stage.mode == .probing || $0.row == nil } ?? false }
        guard stage.mode == .probing || deferred.contains(where: mustOffer) else { return }
        resume(where: mustOffer)
        // It is known which of them must be alone.
        if stage.mode == .searching { partEvents = 1 }
    }

    /// Notes an acceptance that comes after the answers to the suspects of this row.
    ///
    /// - Returns: whether some events are rejected with it.
    mutating func confirm(_ row: Int) -> Bool {
        var areConfirmed = false
        // mutant: confirm-every-suspect
        for (place, suspect) in suspects where suspect.row == row && !suspect.isConfirmed {
            suspects[place]?.missing -= 1
            if suspect.missing == 1 { areConfirmed = true } else { suspects[place]?.row = nil }
        }
        return areConfirmed
    }

    /// Takes the events out that were confirmed while the batch waited. No request is needed. Nil without such events.
    mutating func takeConfirmed() -> SendResult? {
        if suspects.isEmpty { return nil }
        var result = SendResult()
        result.rejected = unresolved.filter(isConfirmed).map(confirmed)
        guard !result.rejected.isEmpty else { return nil }
        (result.isAttempt, result.isConfirmed) = (false, true)
        let suspects = suspects
        unresolved.removeAll { suspects[$0]?.isConfirmed ?? false }
        return result
    }

    private func isConfirmed(_ place: Int) -> Bool { suspects[place]?.isConfirmed ?? false }

    private func confirmed(_ place: Int) -> SendResult.Rejection {
        let suspect = suspects[place]
        return .init(
            line: events[place], place: place, reason: "the receiver accepts others: \(suspect?.verdict.reason ?? "")",
            status: suspect?.status, response: suspect?.verdict.response, isRefusal: false)
    }
}
