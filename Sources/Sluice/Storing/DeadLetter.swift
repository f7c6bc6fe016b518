/// An event that the receiver rejected, as it is handed to ``Store/reject(_:in:)``.
public struct RejectedEvent: Sendable {
    /// The event.
    public let line: EventLine
    /// The receiver's reason, for people.
    public let reason: String
    /// How many events the receiver had refused in a row by then, this one included, without accepting one; zero if it
    /// accepted another event of the same response, or if the event was never sent. A long row means that the receiver
    /// is at fault. Stores keep the number, so that the events can be offered again when the receiver has recovered.
    public let refusalsInARow: Int

    /// Creates a rejected event.
    public init(line: EventLine, reason: String, refusalsInARow: Int = 0) {
        self.line = line
        self.reason = reason
        self.refusalsInARow = refusalsInARow
    }
}

/// A rejected event that a store keeps. You can list, replay and discard dead letters through ``Pipeline``.
public struct DeadLetter: Sendable, Identifiable {
    /// The store's number for a dead letter. It stays the same until the store is closed.
    public struct ID: RawRepresentable, Sendable, Hashable {
        /// The number.
        public let rawValue: UInt64
        /// Creates an id for a dead letter of your store.
        public init(rawValue: UInt64) { self.rawValue = rawValue }
    }

    /// The id, unique among the dead letters of the store.
    public let id: ID
    /// The event as it was stored.
    public let line: EventLine
    /// Why the event was rejected.
    public let reason: String
    /// When the event was rejected, by the wall clock of this system.
    public let date: Timestamp
    /// See ``RejectedEvent/refusalsInARow``.
    public let refusalsInARow: Int

    /// Creates a dead letter, in a store of your own or in a test.
    public init(id: ID, line: EventLine, reason: String, date: Timestamp, refusalsInARow: Int = 0) {
        self.id = id
        self.line = line
        self.reason = reason
        self.date = date
        self.refusalsInARow = refusalsInARow
    }

    /// Decodes the event.
    ///
    /// - Throws: ``SluiceError/Code/malformedLine`` if the line is not an event of this version.
    public func event() throws(SluiceError) -> Event { try line.event() }
}
