/// Counts every event. A ledger is a snapshot.
///
/// ```swift
/// let ledger = pipeline.ledger
/// print(ledger.tracked, ledger.dropped.total, ledger.held)
/// ```
///
/// For the pipeline, `tracked = dropped + held + (received - inserted)` holds, with `received` and `inserted` of each
/// route. For a route, `received + recovered + replayed = delivered + rejected + dropped + held + waiting` by definition.
public struct Ledger: Sendable, Hashable {
    /// Calls of `track`, by the host and by plugins.
    public package(set) var tracked = 0
    /// Events that were dropped before they reached a route, by reason.
    public package(set) var dropped: [DropReason: Int] = [:]
    /// Events that a processor above the routes holds, such as `Consent` before the user has answered.
    public package(set) var held = 0
    /// Events that were truncated or otherwise sanitized, by kind.
    public package(set) var sanitized: [Sanitization: Int] = [:]
    /// The routes in the order of their lines. A pipeline without `Route` has one, called `main`.
    public package(set) var routes: [RouteLedger] = []

    package init() {}

    /// Returns the route with that name.
    ///
    /// ```swift
    /// let waiting = ledger[route: "main"]?.waiting ?? 0
    /// ```
    public subscript(route name: String) -> RouteLedger? { routes.first { $0.name == name } }

    /// Whether every event is accounted for, in the ledger of a shutdown also according to the stores.
    ///
    /// Use it while nothing is being tracked or delivered:
    ///
    /// ```swift
    /// let final = await pipeline.shutdown()
    /// assert(final.isBalanced)
    /// ```
    public var isBalanced: Bool {
        routes.allSatisfy { route in
            tracked == dropped.total + held + route.received - route.inserted && held >= 0 && route.held >= 0
                && route.waiting >= 0 && route.waiting == route.stored
        }
    }
}

/// The counts of one route in a ``Ledger``.
public struct RouteLedger: Sendable, Hashable {
    /// The name of the route.
    public package(set) var name: String
    /// Events that still have to be delivered.
    ///
    /// The route counts an event when the store has accepted or found it, and stops counting it when it is delivered,
    /// rejected, deleted or lost.
    public package(set) var waiting = 0
    /// Events that a processor of the route inserted. They are part of ``received`` and not of ``Ledger/tracked``.
    public package(set) var inserted = 0
    /// Events that a processor of the route holds.
    public package(set) var held = 0
    /// Events that wait while others go: they are blamed, failed alone, or the receiver has named a time for them. They are
    /// part of ``waiting``, and are tried until they are accepted or become dead letters. The store's age limit
    /// applies to them in the next process.
    public package(set) var setAside = 0
    /// Events of earlier processes that the store found.
    public package(set) var recovered = 0
    /// Events that the receiver has, including ``duplicates``.
    public package(set) var delivered = 0
    /// Events that the receiver already had when they were sent.
    public package(set) var duplicates = 0
    /// Events that became dead letters in this process.
    public package(set) var rejected = 0
    /// Dead letters that the host has turned back into waiting events.
    public package(set) var replayed = 0
    /// Dead letters in the store, of this process and of earlier ones. The route asks the store when it opens, when an event
    /// is rejected, when dead letters are replayed or discarded, after an erasure, and at the shutdown.
    public package(set) var deadLetters = 0
    /// Dead letters that are gone, by reason: discarded or erased by the host, or lost by the store, as with
    /// ``DropReason/evicted``, ``DropReason/expired`` or ``DropReason/corrupt``.
    public package(set) var droppedDeadLetters: [DropReason: Int] = [:]
    /// Events that the route's processors dropped, that were lost before or in the store, or that were deleted, by reason.
    public package(set) var dropped: [DropReason: Int] = [:]
    /// Waiting events according to the store, in the ledger of a shutdown. Events of an open batch that are already
    /// delivered or rejected don't count. It equals ``waiting`` if nothing is lost. A ledger that you read before the
    /// shutdown asks no store, and has the value of ``waiting`` here.
    public package(set) var stored = 0
    /// The size of waiting events of earlier processes that the store has not read yet. They are not part of ``waiting``,
    /// because only reading shows how many they are.
    public package(set) var unreadBytes = 0

    /// The attempts to send batches.
    public package(set) var attempts = Attempts()

    /// Events that reached the route, computed from the other counts.
    public var received: Int { waiting + delivered + rejected + held + dropped.total - recovered - replayed }
}

extension RouteLedger {
    /// The attempts of a route to send batches.
    ///
    /// ```swift
    /// if let failure = ledger[route: "main"]?.attempts.lastFailure { print(failure) }
    /// ```
    public struct Attempts: Sendable, Hashable {
        /// Calls of ``Transport/send(_:)`` that have returned. A call that is cancelled before a suspension, or that returns after
        /// the end of a shutdown, doesn't count.
        public package(set) var total = 0
        /// Attempts after which at least one event counts as failed, or that neither accepted an event nor made a dead
        /// letter. A part that the transport finds too large, and doesn't send, is no failure.
        public package(set) var failed = 0
        /// Why the last attempt failed; nil after an attempt that did not fail.
        public package(set) var lastFailure: String?
        /// The status of the receiver's last response, such as 503 of HTTP. Nil before the first response, or if the
        /// transport has no status.
        public package(set) var lastStatus: Int?

        mutating func record(_ answer: Answer) {
            total += 1
            if answer.failure != nil { failed += 1 }
            lastFailure = answer.failure?.reason
            lastStatus = answer.status ?? lastStatus
        }
    }
}

// MARK: Text

extension Ledger: CustomStringConvertible {
    /// The counts in one line, and one line for each route.
    ///
    /// ```swift
    /// print(ledger)
    /// // 120 tracked
    /// // main: 118 delivered, 2 waiting
    /// ```
    public var description: String {
        let counts = text(dropped, "dropped") + text(held, "held") + text(sanitized, "sanitized")
        return (["\(tracked) tracked\(counts)"] + routes.map(\.description)).joined(separator: "\n")
    }
}

extension RouteLedger: CustomStringConvertible {
    /// The name, ``delivered``, ``waiting``, all other counts that aren't zero, and the last failure, in one line. While
    /// ``unreadBytes`` are left, more events wait than are counted.
    public var description: String {
        "\(name): \(delivered) delivered, \(unreadBytes > 0 ? "at least " : "")\(waiting) waiting"
            + text(setAside, "set aside") + text(unreadBytes, "bytes unread") + text(rejected, "rejected")
            + text(held, "held") + text(dropped, "dropped") + text(recovered, "recovered") + text(inserted, "inserted")
            + text(duplicates, "duplicates") + text(replayed, "replayed")
            + text(deadLetters, deadLetters == 1 ? "dead letter" : "dead letters")
            + text(droppedDeadLetters, "dead letters dropped")
            + (attempts.lastFailure.map { "; the last attempt failed: \($0)" } ?? "")
    }
}

private func text(_ count: Int, _ name: String) -> String { count == 0 ? "" : ", \(count) \(name)" }

private func text<Reason: RawRepresentable<String>>(_ counts: [Reason: Int], _ name: String) -> String {
    let reasons = counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue): \($0.value)" }
    let total = counts.values.reduce(0, +)
    return total == 0 ? "" : ", \(total) \(name) (\(reasons.joined(separator: ", ")))"
}

extension [DropReason: Int] {
    /// The sum over all reasons.
    ///
    /// ```swift
    /// let lost = ledger.dropped.total
    /// ```
    public var total: Int { values.reduce(0, +) }

    /// - Returns: whether these are the first ones with the reason.
    @discardableResult
    package mutating func add(_ count: Int, _ reason: DropReason) -> Bool {
        updateValue(self[reason, default: 0] + count, forKey: reason) == nil
    }
}
