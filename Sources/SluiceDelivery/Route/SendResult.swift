/// The outcome of one send attempt, with its reason. The schedule, the ledger and the diagnostics all read this type.
struct SendResult: Sendable {
    enum Effect: Sendable, Hashable {
        /// The receiver handled the events. Sending can go on.
        case progress
        /// The receiver deferred all events that it did not refuse. Others can go on after a short pause.
        case deferred
        /// The attempt failed. Sending goes on after a back-off, and not before `after`.
        case retry(after: Duration?)
        /// The receiver takes nothing. Sending goes on with a probe.
        case hold
    }

    /// The events of the request.
    var offered = 0
    var effect = Effect.progress
    /// Why the effect isn't ``Effect/progress``; nil if it is.
    var reason: String?
    /// Why the batch is sent in smaller parts; nil if it isn't.
    var splitReason: String?
    /// The places in the batch of the events that the receiver has, including ``duplicates``.
    var acceptedPlaces: [Int] = []
    var duplicates = 0
    /// See ``Verdicts/status``.
    var status: Int?
    var rejected: [Rejection] = []
    /// The time that the receiver asked for with a hold.
    var holdTime: Duration?
    /// Whether the answer can be about the contents of the events, although it doesn't say so: see ``Refusals``.
    var isSuspected = false
    /// The reason of an event that was answered so alone, and that only an acceptance is missing to reject.
    var suspect: String?
    /// Whether events were rejected because the receiver accepts others.
    var isConfirmed = false
    /// Whether a request was sent.
    var isAttempt = true
    /// The number of the erasure that took events out of the batch, and the places of these events. It is no attempt.
    var erasure: Int?
    var erasedPlaces: [Int] = []

    /// One event that becomes a dead letter.
    struct Rejection: Sendable {
        let line: EventLine
        /// Its place in the batch.
        let place: Int
        let reason: String
        var status: Int?
        var response: String?
        /// Whether the receiver refused it. Otherwise the transport could not send it.
        let isRefusal: Bool
    }

    /// Whether all flushes end now, because more sending must wait.
    var endsFlushes: Bool {
        switch effect {
        case .progress, .deferred: false
        case .retry, .hold: true
        }
    }

    /// Whether the transport could send none of the events. Such an attempt shows nothing about the receiver.
    var isUnsent: Bool {
        status == nil && offered > 0 && rejected.count == offered && rejected.allSatisfy { !$0.isRefusal }
    }

    /// Events that the receiver has.
    var accepted: Int { acceptedPlaces.count }

    /// Events that need no further attempt.
    var resolved: Int { accepted + rejected.count + erasedPlaces.count }
}
