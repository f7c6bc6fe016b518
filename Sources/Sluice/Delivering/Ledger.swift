/// Counts by cause: what became of every event that was tracked.
///
/// For every route, `received + recovered = delivered + rejected + dropped + held + waiting`, always; and
/// `tracked = dropped + held + (received - inserted)` for the pipeline. A snapshot; nothing in it changes any more.
public struct Ledger: Sendable, Hashable {
    /// Calls of `track`, by the host and by plugins.
    public internal(set) var tracked = 0
    /// Events that ended before the routes, by reason.
    public internal(set) var dropped: [DropReason: Int] = [:]
    /// Events that a processor above the routes holds back at present, such as `Consent` before the user has answered.
    public internal(set) var held = 0
    /// Events of which something was cut, by cause.
    public internal(set) var sanitized: [Sanitization: Int] = [:]
    /// In the order in which the builder names them; a pipeline without `Route` has one, called `main`.
    public internal(set) var routes: [RouteLedger] = []

    /// The route of that name.
    public subscript(route name: String) -> RouteLedger? {
        routes.first { $0.name == name }
    }

    /// Whether every event that was tracked can be accounted for, also against what the stores say they hold.
    ///
    /// Meaningful while nothing is being tracked and delivered, such as after a shutdown.
    public var isBalanced: Bool {
        routes.allSatisfy { route in
            tracked == dropped.total + held + route.received - route.inserted && held >= 0 && route.held >= 0
                && route.waiting >= 0 && route.waiting == route.stored
        }
    }
}

/// The part of the ``Ledger`` that belongs to one route.
public struct RouteLedger: Sendable, Hashable {
    public internal(set) var name: String
    /// Events that reached the route.
    public internal(set) var received = 0
    /// Events that a processor of the route has made; they are part of ``received`` and not of ``Ledger/tracked``.
    public internal(set) var inserted = 0
    /// Events that a processor of the route holds back at present.
    public internal(set) var held = 0
    /// Events of earlier lives that the store has come upon in this one.
    public internal(set) var recovered = 0
    /// Events that the receiver has, ``duplicates`` included.
    public internal(set) var delivered = 0
    /// Events which the receiver had already when they were sent.
    public internal(set) var duplicates = 0
    /// Events that the receiver will never take; dead letters where the store keeps those.
    public internal(set) var rejected = 0
    /// Events lost on the way to the store or out of it, by reason.
    public internal(set) var dropped: [DropReason: Int] = [:]
    /// Batches, and parts of them, that were given to the transport and of which it has said what came.
    public internal(set) var sends = 0
    /// Sends that failed, or met a receiver that takes nothing, and were, or will be, repeated. A batch that is sent on in
    /// parts has not failed.
    public internal(set) var failedAttempts = 0
    /// Those of ``failedAttempts`` that met a receiver which takes nothing, for a reason that lies not in the events.
    public internal(set) var heldAttempts = 0
    /// Sends of which the receiver has refused something, or the size, so that parts of them are sent.
    public internal(set) var splitAttempts = 0
    /// Why the last send failed, or nothing could be sent; nil again after one that has not failed.
    public internal(set) var lastFailure: String?
    /// What the store itself says it holds, without those events of a batch under way that are delivered already;
    /// equal to ``waiting`` whenever nothing is under way.
    public internal(set) var stored = 0
    /// How far the receiver's clock is ahead of this system's wall clock; zero while that may be right, and nil if the
    /// transport does not find out, or has not yet.
    public internal(set) var clockSkew: Duration?

    /// Events that are still to be delivered, by count: all that came in and did not go.
    public var waiting: Int {
        received + recovered - delivered - rejected - held - dropped.total
    }
}

extension [DropReason: Int] {
    /// All reasons together.
    public var total: Int { values.reduce(0, +) }

    mutating func add(_ count: Int, _ reason: DropReason) {
        self[reason, default: 0] += count
    }
}
