/// An event that becomes a dead letter.
struct RejectedEvent: Sendable {
    let line: EventLine
    let reason: String
    /// See ``DeadLetter/refusalsInARow``.
    var refusalsInARow = 0
}

/// Counts the events that the receiver refuses in a row, and decides when that is the receiver's fault.
///
/// A receiver that refuses many events in a row without accepting one is probably broken. The route then goes on hold, and
/// each probe offers the next event. When the receiver accepts one, the dead letters of that row are put back once.
struct Refusals: Sendable {
    /// This many refusals in a row put the route on hold.
    static let limit = 20

    /// Refusals since the last acceptance, in this process.
    private(set) var inARow = 0
    /// Refusals with which an earlier process ended, which count until the first acceptance.
    private var carried = 0
    /// Events that were put back. They are not put back a second time.
    private var replayed: Set<EventID> = []
    /// Whether the store may have dead letters of a long row that were not put back.
    private var mayHaveLongRow = false

    var isHolding: Bool { inARow >= Refusals.limit }

    /// Continues with the dead letters that an earlier process left.
    mutating func start(with letters: [DeadLetter]) {
        carried = Refusals.rows(in: letters).last?.map(\.refusalsInARow).max() ?? 0
        mayHaveLongRow = !Refusals.longRows(in: letters).isEmpty
    }

    /// Counts one result, and returns the rejected events with their place in the row.
    ///
    /// - Returns: the events for the store, and whether the dead letters of a long row must be put back now.
    mutating func record(_ result: SendResult) -> (rejected: [RejectedEvent], mustReplay: Bool) {
        if result.accepted > 0 {
            let mustReplay = mayHaveLongRow
            (inARow, carried, mayHaveLongRow) = (0, 0, false)
            return (result.rejected.map { RejectedEvent(line: $0.line, reason: $0.reason) }, mustReplay)
        }
        let rejected = result.rejected.map { rejection in
            if rejection.isRefusal { inARow += 1 }
            let isSecondTime = rejection.line.id.map { replayed.contains($0) } ?? false
            let counts = rejection.isRefusal && !isSecondTime
            return RejectedEvent(
                line: rejection.line, reason: rejection.reason, refusalsInARow: counts ? carried + inARow : 0)
        }
        if carried + inARow >= Refusals.limit { mayHaveLongRow = true }
        return (rejected, false)
    }

    /// The dead letters that must be put back after an acceptance. They are remembered as put back.
    mutating func lettersToReplay(from letters: [DeadLetter]) -> Set<DeadLetter.ID> {
        let rows = Refusals.longRows(in: letters).filter { letter in
            letter.line.id.map { !replayed.contains($0) } ?? true
        }
        replayed.formUnion(rows.compactMap(\.line.id))
        return Set(rows.map(\.id))
    }

    /// The dead letters of all rows of at least ``limit`` refusals.
    private static func longRows(in letters: [DeadLetter]) -> [DeadLetter] {
        rows(in: letters).filter { $0.contains { $0.refusalsInARow >= limit } }.flatMap(\.self)
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
