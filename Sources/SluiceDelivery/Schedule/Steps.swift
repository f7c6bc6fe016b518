/// The permission to send one part of a batch.
struct Permit: Sendable {
    let size: BatchSize
    /// The size of the whole batch's parts: ``size`` without the limits of a probe.
    let batchSize: BatchSize
    /// See ``BackOff/epoch``.
    let epoch: Int
    /// See ``Refusals/Stage``.
    var stage = Refusals.Stage()
    /// The value of ``Waiters/inputs`` when this was decided.
    let inputs: Int
    /// The erasure whose events the worker must take out of the batch, instead of sending a part of it.
    var erasure: Erasure?
}

/// The next step of a worker without a batch.
enum BatchStep: Sendable {
    /// Take a batch and send its first part. The worker is at the gate.
    case take(Permit)
    /// Continue with a batch whose deferral has ended.
    case resume(BatchProgress, Permit)
    /// Delete everything in the store and these batches. The worker is at the gate.
    case deleteAll([BatchProgress])
    /// Wait until ``Waiters/inputs`` has another value.
    case wait(inputs: Int)
    case stop
}

/// The next step of a worker with a batch.
enum PartStep: Sendable {
    /// Send a part or take events out, and record the result.
    case send(Permit)
    /// Take another batch. This one is deferred: see ``DeliverySchedule/takeDetour()``.
    case leave
    case delete
    /// Wait until ``Waiters/inputs`` has another value.
    case wait(inputs: Int)
    case stop
}

/// The store's part of the result of a send attempt.
struct StoreWork: Sendable {
    let result: SendResult
    /// Rejected events to keep as dead letters.
    let rejected: [RejectedEvent]
    /// Whether the dead letters of a hold must be put back.
    let mustReplay: Bool
    /// Whether the batch is resolved and must be removed.
    let mustSettle: Bool
    /// Whether the rest of the batch goes back to the store, because too many batches wait for deferred events.
    var mustGiveBack = false
    /// Whether the store has it.
    var hasGivenBack = false
    /// When the rest of the batch is sent, if the receiver has deferred all of it, or other events must be sent before.
    var deferral: (notBefore: Duration, until: Duration)?

    init(
        _ result: SendResult, _ recorded: (rejected: [RejectedEvent], mustReplay: Bool), mustSettle: Bool
    ) {
        (self.result, self.mustSettle) = (result, mustSettle)
        (rejected, mustReplay) = recorded
    }

    var isDeferred: Bool { deferral != nil }
    /// Whether the worker must use the store.
    var isNeeded: Bool { !rejected.isEmpty || mustReplay || mustSettle || mustGiveBack }
}

/// The actions that follow from a change of ``RouteState``. Run them without the lock.
struct Actions: Sendable {
    let waiters: [(Waiters.Waiter, Bool)]
    let diagnostics: [Diagnostic]
    let mustClose: Bool
}
