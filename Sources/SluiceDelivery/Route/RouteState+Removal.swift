// What the host has removed: all waiting events, or the events that it selects.

extension RouteState {
    // MARK: Deletion

    var mustDelete: Bool { !isStopped && waiters.wantDeletion && !erasures.isRunning }

    /// Counts a deleted batch. The store could remove it if `isComplete`.
    mutating func deleted(_ batch: Batch.ID, isComplete: Bool) {
        journal.deleted(batches.remove(batch))
        if !isComplete { isDeletionComplete = false }
        waiters.changed()
    }

    /// Counts a batch that was taken in order to delete it.
    ///
    /// - Returns: whether the deletion goes on; false after the deadline of a shutdown.
    mutating func took(toDelete batch: Batch) -> Bool {
        batches.beginTake()
        batches.took(BatchProgress(batch), size: BatchSize(events: .max, bytes: .max))
        return gate.isOpen
    }

    /// Ends the deletion that ``BatchStep/deleteAll(_:)`` began.
    mutating func deletedAll(isComplete: Bool) {
        waiters.endDeletion(success: isComplete && isDeletionComplete)
        isDeletionComplete = true
        gate.leave()
        // The workers end the flushes, unless they find events that came in the meantime.
        waiters.changed()
    }

    // MARK: Erasure

    /// Whether workers must pass their batches through an erasure, and take no others.
    var mustErase: Bool { !isStopped && erasures.current != nil }

    /// Adds an erasure behind the ones that go on.
    mutating func beginErasure(_ isMatch: @escaping @Sendable (EventLine) -> Bool) -> Erasure {
        defer { waiters.changed() }
        return erasures.add(isMatch)
    }

    /// Decides the next step of the caller of an erasure.
    mutating func nextStep(of erasure: Erasure) -> ErasureStep {
        if isStopped { return .stop }
        // mutant: erase-in-flight
        guard erasures.current?.number == erasure.number, !mustDelete, batches.isQuiet(for: erasure.number),
            gate.enter()
        else { return .wait(inputs: waiters.inputs) }
        erasures.isRunning = true
        return .erase(batches.deferred.map(\.batch))
    }

    /// Counts the events that were taken out of a deferred batch. The store has removed a batch without other events.
    mutating func erased(_ result: SendResult, from batch: BatchProgress) {
        journal.record(result, [])
        erasures.count(result)
        batches.erased(result, from: batch)
        if batch.isResolved { batches.remove(batch.id) }
    }

    /// Ends an erasure, and counts the store's part of it.
    ///
    /// - Returns: the report with the events of the batches that are out.
    mutating func endErasure(_ erasure: Erasure, _ report: ErasureReport) -> ErasureReport {
        reported { $0.erased(report) }
        var report = report
        report.events += erasures.remove(erasure)
        waiters.changed()
        return report
    }
}

/// The host's selection of events to erase.
struct Erasure: Sendable {
    /// From 1, unique in the route.
    let number: Int
    let isMatch: @Sendable (EventLine) -> Bool
}

/// The erasures that the host waits for, one after the other.
struct Erasures: Sendable {
    private var waiting: [Erasure] = []
    private var last = 0
    /// Events that were taken out of batches for the current one.
    private var erased = 0
    /// Whether the store erases. No worker uses it then.
    var isRunning = false

    /// The one that goes on or must begin.
    var current: Erasure? { waiting.first }

    mutating func add(_ isMatch: @escaping @Sendable (EventLine) -> Bool) -> Erasure {
        last += 1
        let erasure = Erasure(number: last, isMatch: isMatch)
        waiting.append(erasure)
        return erasure
    }

    mutating func count(_ result: SendResult) { erased += result.erasedPlaces.count }

    /// - Returns: the events that were taken out of batches.
    mutating func remove(_ erasure: Erasure) -> Int {
        guard current?.number == erasure.number else {
            waiting.removeAll { $0.number == erasure.number }
            return 0
        }
        waiting.removeFirst()
        defer { (erased, isRunning) = (0, false) }
        return erased
    }
}

/// The next step of the caller of an erasure.
enum ErasureStep: Sendable {
    /// Erase in these deferred batches and in the store. The caller is at the gate.
    case erase([BatchProgress])
    /// Wait until ``Waiters/inputs`` has another value.
    case wait(inputs: Int)
    case stop
}
