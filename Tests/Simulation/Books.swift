import Sluice
import SluiceJSONL

/// What an all-knowing observer notes of every event, and what it finds wrong.
final class Books: Sendable {
    struct Record {
        let life: Int
        let priority: Event.Priority
        let durability: JSONLStore.Durability
        let trackedAt: Duration
        let line: [UInt8]
        /// The receiver has it.
        var isDelivered = false
        /// The life that was told so; it must not send it again.
        var acceptedIn: Int?
        var isRejected = false
        /// The process in which it became a dead letter, and was not replayed since. It must not send it again.
        var rejectedIn: Int?
        /// Its dead letter was evicted or has expired before its batch was settled.
        var isBuried = false
        /// Whether it became a waiting event again.
        var isReplayed = false
        /// Whether a process was killed while it replayed the event: it may be in the file of its batch, too.
        var mayBeTwice = false
        /// Whether it was given to a transport.
        var isOffered = false
        /// Its batch was settled, and the file removed.
        var isSettled = false
        /// Who has written it. If a write of theirs could not be taken back, it may lie in two files.
        let process: SimulatedProcess
        /// The host had it deleted, and was told that it is.
        var isDeleted = false
        /// The lives that have erased it, and were told so. They must not send it.
        var erasedBy: Set<Int> = []
        /// Why it may be missing without anybody's fault.
        var excuse: String?
        /// Whether a line of it is damaged, and is no event any more. It may be missing for another reason too.
        var isDamaged = false

        var isDone: Bool { isDelivered || isRejected }
    }

    /// A batch that a store has handed out, and that isn't settled.
    struct HandedOut {
        /// What the transport is still to answer for.
        var serials: [Int]
        /// Dead letters: if they are replayed, they wait in another file, and the one that they came from is still in flight.
        var rejected: [Int] = []
    }

    struct State {
        var records: [Int: Record] = [:]
        var handedOut: [Int: [UInt64: HandedOut]] = [:]
        var deletions: [Deletion] = []
        /// Selections of the erasures that have ended. They may be repeated in folders whose processes end later.
        var erasures: [@Sendable (Int) -> Bool] = []
        var shutDownLives: Set<Int> = []
        /// Lives whose stores delete events that they don't read.
        var livesThatDelete: Set<Int> = []
        /// Lives in which dead letters wait again, beside their first batches until these are settled.
        var replayingLives: Set<Int> = []
        var lastDeletion = 0
        var lastInOrder: [Event.Priority: Int] = [:]
        var isOrderKept = true
        var shortestAge = Duration.seconds(1_000_000_000)
        var hasSetClock = false
        var lastPowerLoss: Duration?
        var delayed: Set<Int> = []
        var refused: [Int: SimulatedProcess] = [:]
        /// The answers of each life that decide whether an event can be rejected because others are accepted.
        var answers: [Int: Answers] = [:]
        /// Events that were rejected for that reason.
        var confirmed = 0
        var violations: [String] = []
        var acknowledged = 0
        var duplicates = 0
        var delivered = 0
        var evicted = 0
        var expired = 0
    }

    let state = Locked(State())
    let isVerbose: Bool

    init(isVerbose: Bool) {
        self.isVerbose = isVerbose
    }

    var violations: [String] { state.withLock { $0.violations } }

    var summary: (acknowledged: Int, delivered: Int, duplicates: Int, evicted: Int, expired: Int) {
        state.withLock { ($0.acknowledged, $0.delivered, $0.duplicates, $0.evicted, $0.expired) }
    }

    func violated(_ text: String) {
        if isVerbose { print("  WRONG: \(text)") }
        state.withLock { $0.violations.append(text) }
    }

    /// From now on events may overtake each other: lives run side by side, or segments are set aside.
    func orderIsOff() {
        state.withLock { $0.isOrderKept = false }
    }

    /// A life has begun in which events expire at this age.
    func began(maximumAge: Duration) {
        state.withLock { $0.shortestAge = min($0.shortestAge, maximumAge) }
    }

    func clockWasSet() { state.withLock { $0.hasSetClock = true } }

    /// Whether no process can know how much time has passed since an event was tracked: only the wall clock tells how long the
    /// machine was off.
    func hasUnknownAge(_ record: Record) -> Bool {
        state.withLock { state in
            state.hasSetClock && state.lastPowerLoss.map { $0 >= record.trackedAt } ?? false
        }
    }

    func record(_ serial: Int) -> Record? {
        state.withLock { $0.records[serial] }
    }

    // MARK: The way of an event

    func acknowledged(_ serial: Int, _ record: Record) {
        if isVerbose { print("  \(serial) is stored, \(record.priority)") }
        state.withLock { $0.records[serial] = record }
    }

    /// The event was not stored after all, or its process died before it could say so.
    func withdrawn(_ serial: Int) {
        state.withLock { $0.records[serial] = nil }
    }

    /// The host was told that an event is not kept: it must not come up later, unless its bytes could not be taken back.
    func refused(_ serial: Int, by process: SimulatedProcess) {
        state.withLock { $0.refused[serial] = process }
    }

    func sent(_ line: EventLine, by life: Int) {
        guard let serial = Books.serial(line.bytes) else {
            return violated(
                "life \(life) sends a line without a number: \(String(decoding: line.bytes, as: UTF8.self))")
        }
        state.withLock { state in
            if let process = state.refused[serial], !process.failedToTruncate {
                state.violations.append("\(serial) is sent by life \(life), although it was refused")
            }
            state.records[serial]?.isOffered = true
            guard let record = state.records[serial], !record.process.failedToTruncate else { return }
            // Replayed before its batch was settled, and after a crash, it is there twice.
            if record.isReplayed || record.mayBeTwice { return }
            if record.rejectedIn == life {
                state.violations.append("\(serial) sent by life \(life) after its rejection")
            }
            if record.acceptedIn == life { state.violations.append("\(serial) sent again in life \(life)") }
            if record.erasedBy.contains(life) {
                state.violations.append("\(serial) sent by life \(life), which has erased it")
            }
            if record.isDeleted { state.violations.append("\(serial) sent by life \(life) after it was deleted") }
            if record.isBuried {
                state.violations.append("\(serial) sent by life \(life) after its dead letter was evicted")
            }
            if record.isSettled { state.violations.append("\(serial) sent by life \(life) after it was settled") }
        }
    }

    /// - Returns: whether the receiver had it before.
    func received(_ line: EventLine, from life: Int, at now: Duration) -> Bool {
        guard let serial = Books.serial(line.bytes) else { return false }
        if isVerbose { print("  \(serial) arrives from life \(life)") }
        return state.withLock { state in
            guard var record = state.records[serial] else {
                // It was written, and the process died before it could say so: it may come, and may not.
                return false
            }
            if record.line != Array(line.bytes) || record.priority != line.priority {
                state.violations.append("\(serial) was altered: \(String(decoding: line.bytes, as: UTF8.self))")
            }
            let isKnown = record.isDelivered
            if isKnown {
                state.duplicates += 1
            } else {
                state.delivered += 1
                // After a failure, probes can be any events, and others are set aside.
                if state.answers[life]?.failures.isEmpty == false { state.delayed.insert(serial) }
                // What has expired, but could not be removed, may come up again in a later life.
                if now - record.trackedAt < state.shortestAge { state.checkOrder(of: serial, record.priority) }
            }
            record.isDelivered = true
            state.records[serial] = record
            return isKnown
        }
    }

    // MARK: The store

    func handedOut(_ batch: Batch, in life: Int) {
        let serials = batch.events.compactMap { Books.serial($0.bytes) }
        if isVerbose { print("  \(batch.id) handed out: \(serials)") }
        state.withLock { state in
            let taken = Set(state.handedOut[life, default: [:]].values.flatMap(\.serials))
            // An event whose bytes could not be taken back, or that was replayed, may lie in two files. One without a record
            // was written by a process that died before it could say so, and may have been replayed too.
            let twice = serials.filter { serial in
                guard taken.contains(serial), let record = state.records[serial] else { return false }
                return !record.process.failedToTruncate && !record.isReplayed && !record.mayBeTwice
            }
            if !twice.isEmpty { state.violations.append("\(twice) handed out twice in life \(life)") }
            state.handedOut[life, default: [:]][batch.id] = HandedOut(serials: serials)
        }
    }

    func rejects(_ events: [DeadLetter], _ batch: Batch.ID, in life: Int) {
        state.withLock { state in
            for letter in events {
                guard let serial = Books.serial(letter.line.bytes) else { continue }
                state.checkConfirmed(letter, serial, in: life)
                state.records[serial]?.isRejected = true
                state.records[serial]?.rejectedIn = life
                state.handedOut[life]?[batch]?.serials.removeAll { $0 == serial }
                state.handedOut[life]?[batch]?.rejected.append(serial)
            }
        }
    }

    /// Dead letters wait again, behind later events.
    func replays(_ serials: [Int], in life: Int, isUnsafe: Bool) {
        state.withLock { state in
            state.replayingLives.insert(life)
            for serial in serials {
                // It may be lost with the process's buffer, or nobody knows whether it waits again.
                if isUnsafe { state.records[serial]?.excuse = "replayed into a buffer" }
                state.delayed.insert(serial)
                state.records[serial]?.isRejected = false
                state.records[serial]?.rejectedIn = nil
                state.records[serial]?.isReplayed = true
                // If it was replayed before, and the file of the dead letter could not be removed, there are two copies. The other
                // one can be accepted and not yet settled.
                if let record = state.records[serial], !record.mayBeTwice, !record.isReplayed {
                    state.records[serial]?.acceptedIn = nil
                }
                state.records[serial]?.isSettled = false
            }
        }
    }

    /// Events of a batch are stored once more. As with replayed dead letters, their first copies wait until the batch is settled.
    func givesBack(_ serials: [Int], in life: Int) {
        mayHaveReplayed(serials)
        state.withLock { state in
            state.replayingLives.insert(life)
            for serial in serials { state.records[serial]?.isReplayed = true }
        }
    }

    /// The store has them, and their batch is about to be settled.
    func gaveBack(_ serials: [Int], in life: Int) {
        state.withLock { state in
            for batch in state.handedOut[life, default: [:]].keys {
                state.handedOut[life]?[batch]?.serials.removeAll(where: serials.contains)
            }
        }
    }

    /// A process was killed while it replayed dead letters.
    func mayHaveReplayed(_ serials: [Int]) {
        state.withLock { state in
            for serial in serials { state.records[serial]?.mayBeTwice = true }
        }
    }

    func discards(_ serials: [Int]) {
        state.withLock { state in
            for serial in serials { state.records[serial]?.excuse = "discarded" }
        }
    }

    /// Notes events that are among the dead letters on the disk at the end.
    func found(deadLetters serials: some Sequence<Int>) {
        state.withLock { state in
            for serial in serials { state.records[serial]?.isRejected = true }
        }
    }

    func settles(_ batch: Batch.ID, in life: Int) {
        state.withLock { state in
            let serials = state.handedOut[life]?[batch]?.serials ?? []
            let isDeleting = state.deletions.contains { $0.life == life }
            for serial in serials {
                guard let record = state.records[serial] else { continue }
                guard record.acceptedIn != life, !record.isRejected else { continue }
                if isDeleting || state.erasures.contains(where: { $0(serial) }) {
                    state.records[serial]?.excuse = "deleted"
                } else {
                    state.violations.append("\(serial) settled in life \(life), but neither accepted nor rejected")
                }
            }
        }
    }

    /// - Parameter isGone: whether the file was removed, and not just given up.
    func settled(_ batch: Batch.ID, in life: Int, isGone: Bool) {
        state.withLock { state in
            for serial in state.handedOut[life]?.removeValue(forKey: batch)?.serials ?? [] where isGone {
                state.records[serial]?.isSettled = true
            }
        }
    }

    func isInFlight(_ serials: [Int], in life: Int) -> Bool {
        state.withLock { state in
            guard let batches = state.handedOut[life] else { return false }
            let serials = Set(serials)
            return batches.values.contains { !serials.isDisjoint(with: $0.serials + $0.rejected) }
        }
    }

    func hasReplayed(_ life: Int) -> Bool {
        state.withLock { $0.replayingLives.contains(life) }
    }

    func hasInFlight(_ life: Int) -> Bool {
        state.withLock { $0.handedOut[life]?.isEmpty == false }
    }

    func left(life: Int) {
        for deletion in state.withLock({ $0.deletions }) where deletion.life == life { ended(deletion, isDone: false) }
        state.withLock { _ = $0.handedOut.removeValue(forKey: life) }
    }
}

extension Books.State {
    /// Within a priority, what was tracked first arrives first, unless the receiver itself put it off.
    fileprivate mutating func checkOrder(of serial: Int, _ priority: Event.Priority) {
        guard isOrderKept, !delayed.contains(serial), records[serial]?.excuse == nil else { return }
        if let last = lastInOrder[priority], serial < last {
            violations.append("\(serial) arrived after \(last)")
        }
        lastInOrder[priority] = serial
    }
}
