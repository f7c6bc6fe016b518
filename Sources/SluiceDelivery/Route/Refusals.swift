/// An event that becomes a dead letter.
struct RejectedEvent: Sendable {
    let line: EventLine
    let reason: String
    /// See ``DeadLetter/refusalsInARow``.
    var refusalsInARow = 0
    /// See ``DeadLetter/status``.
    var status: Int?
    /// See ``DeadLetter/response``.
    var response: String?
}

/// Decides whether an answer is about the receiver or about the contents of events.
///
/// A receiver that refuses many events in a row without accepting one is probably broken. The route then goes on hold, and
/// each probe offers the next event. When the receiver accepts one, the dead letters of that row are put back once.
///
/// Any other answer that isn't an acceptance can be about contents too, and doesn't say so: a hold, or the tenth failure
/// without an acceptance in between. ``Stage`` has the steps in which this is found out. Nothing is rejected before.
struct Refusals: Sendable {
    /// How the next part is offered.
    struct Stage: Sendable, Equatable {
        enum Mode: Sendable {
            case normal
            /// The receiver accepts nothing. Each probe offers the next event alone.
            case probing
            /// The receiver accepts events. Events that it doesn't accept are searched for. If one of them is answered so
            /// alone, it is rejected with the next acceptance.
            case searching
        }

        var mode = Mode.normal
        /// Changes when the receiver may have failed. An event whose answer is of another row is offered once more.
        var row = 0
        /// A random number while the process may be about to end, and otherwise nil. It selects the event of the last probe.
        /// With the first event of the batch each time, one bad event in front would stop every short process.
        var lastProbe: UInt64?
    }

    /// This many refusals in a row put the route on hold.
    static let limit = 20
    /// This many failures without an acceptance in between can be about the contents, whatever their statuses are.
    static let suspiciousFailures = 10

    private(set) var stage = Stage()
    /// Refusals since the last acceptance, in this process.
    private(set) var inARow = 0
    /// Refusals with which an earlier process ended, which count until the first acceptance.
    private var carried = 0
    /// Events that were put back. They are not put back a second time.
    private var replayed: Set<EventID> = []
    /// Whether the store may have dead letters of a long row that were not put back.
    private var mayHaveLongRow = false
    /// Whether the last row of the store counts as a long one: no acceptance shows that the receiver was well.
    private var isLastRowLong = false
    private var hasAccepted = false
    /// Whether the receiver has answered some events in its own way and accepted others. The next such answer is searched
    /// without a wait, until a row of refusals puts the route on hold.
    private var judgesContents = false

    /// Whether the receiver accepts nothing, and is offered one event at a time.
    var isHolding: Bool { stage.mode == .probing }

    /// Whether only one batch may be in flight. When the receiver has once accepted events beside others, each batch can be
    /// searched for itself.
    var isAlone: Bool { isHolding || stage.mode == .searching && !judgesContents }

    /// Whether a failure with this status can be about the contents. A timeout or a limit of requests can't.
    static func canConcernContents(_ status: Int?) -> Bool {
        switch status {
        case nil, 408, 429: false
        default: true
        }
    }

    /// Continues with the dead letters that an earlier process left.
    mutating func start(with letters: [DeadLetter]) {
        let rows = Refusals.rows(in: letters)
        carried = rows.last?.map(\.refusalsInARow).max() ?? 0
        // An earlier process can have ended without an acceptance after its last row.
        (mayHaveLongRow, isLastRowLong) = (!rows.isEmpty, !rows.isEmpty)
    }

    /// Call this when no event is left to be sent. A row that ends here, and without any acceptance before it, shows nothing
    /// about its events.
    mutating func nothingWaits() {
        if inARow > 0, !hasAccepted { (mayHaveLongRow, isLastRowLong) = (true, true) }
    }

    /// Counts one result, and returns the rejected events with their place in the row.
    ///
    /// - Parameters:
    ///   - result: the outcome of an attempt.
    ///   - hasSuspects: whether the route has events that are suspected to be the reason of an answer.
    /// - Returns: the events for the store, and whether the dead letters of a long row must be put back now.
    mutating func record(
        _ result: SendResult, hasSuspects: Bool = false
    ) -> (rejected: [RejectedEvent], mustReplay: Bool) {
        if result.isConfirmed { judgesContents = true }
        if result.accepted > 0 {
            let mustReplay = mayHaveLongRow
            (inARow, carried, mayHaveLongRow, hasAccepted) = (0, 0, false, true)
            stage.mode = hasSuspects || judgesContents && stage.mode != .normal ? .searching : .normal
            return (result.rejected.map { RejectedEvent($0) }, mustReplay)
        }
        let rejected = result.rejected.map { rejection in
            if rejection.isRefusal { inARow += 1 }
            let isSecondTime = rejection.line.id.map { replayed.contains($0) } ?? false
            let counts = rejection.isRefusal && !isSecondTime
            return RejectedEvent(rejection, refusalsInARow: counts ? carried + inARow : 0)
        }
        if result.suspect != nil { inARow += 1 }
        if carried + inARow >= Refusals.limit, !rejected.isEmpty { mayHaveLongRow = true }
        if result.isAttempt, !result.isUnsent { failed(result) }
        return (rejected, false)
    }

    private mutating func failed(_ result: SendResult) {
        // While others are accepted, a suspect's hold doesn't end the row, also if it names a time.
        let isExpected = result.isSuspected && (stage.mode == .searching || result.effect != .hold)
        let isFailure = result.endsFlushes && !isExpected
        if isHolding || isFailure { stage.row += 1 }  // mutant: believe-probes
        if inARow >= Refusals.limit {
            (stage.mode, judgesContents) = (.probing, false)
        } else if result.isSuspected, stage.mode == .normal {
            stage.mode = .probing
        }
    }

    /// Forgets the answers of a row that has put the route on hold: the receiver was at fault.
    mutating func forgetRow() { stage.row += 1 }

    /// The dead letters that must be put back after an acceptance. They are remembered as put back.
    mutating func lettersToReplay(from letters: [DeadLetter]) -> Set<DeadLetter.ID> {
        let all = Refusals.rows(in: letters)
        var rows = all.filter { $0.contains { $0.refusalsInARow >= Refusals.limit } }
        if isLastRowLong, let last = all.last { rows.append(last) }
        isLastRowLong = false
        let chosen = rows.flatMap(\.self).filter { letter in letter.line.id.map { !replayed.contains($0) } ?? true }
        replayed.formUnion(chosen.compactMap(\.line.id))
        return Set(chosen.map(\.id))
    }

    /// Divides letters into their rows. Letters without a place in a row are left out.
    ///
    /// A row ends where a number comes a second time. With several batches in flight, the store may get the letters of one
    /// row in another order.
    private static func rows(in letters: [DeadLetter]) -> [[DeadLetter]] {
        var rows: [[DeadLetter]] = []
        var numbers: Set<Int> = []
        for letter in letters where letter.refusalsInARow > 0 {
            if rows.isEmpty || numbers.contains(letter.refusalsInARow) {
                rows.append([])
                numbers = []
            }
            rows[rows.count - 1].append(letter)
            numbers.insert(letter.refusalsInARow)
        }
        return rows
    }
}

extension RejectedEvent {
    fileprivate init(_ rejection: SendResult.Rejection, refusalsInARow: Int = 0) {
        self.init(
            line: rejection.line, reason: rejection.reason, refusalsInARow: refusalsInARow, status: rejection.status,
            response: rejection.response)
    }
}
