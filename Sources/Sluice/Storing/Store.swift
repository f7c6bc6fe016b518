/// Where encoded events wait until a transport has delivered them.
///
/// ## Conforming
/// - ``open(_:)`` comes first, once, and ``close()`` last. In between, ``append(_:)`` comes from any number of
///   threads, the rest from one delivery loop at a time.
/// - What ``append(_:)`` has accepted comes back from ``nextBatch(_:)`` byte for byte, in the order of acceptance
///   within a priority, unless a loss is reported through the ``StoreObserver``. Nothing is lost silently, and
///   nothing is reported as stored that is not.
/// - A batch that was handed out stays with its taker until ``settle(_:rejected:)`` or ``release(_:)``: it is
///   neither handed out again nor evicted.
/// - What a store promises about crashes is its own to say.
/// - Hold it to `StoreContract` of SluiceTesting.
public protocol Store: Sendable {
    /// Takes hold of the place where events are kept, and of the observer for all later losses.
    ///
    /// - Throws: ``SluiceError/Code/storageUnavailable`` if the place cannot be used, and
    ///   ``SluiceError/Code/invalidPipeline`` if it was opened before; the pipeline is then not built.
    func open(_ observer: StoreObserver) throws(SluiceError)

    /// Keeps one event. When it returns, the event is kept as well as this store ever promises.
    ///
    /// - Throws: ``SluiceError/Code/storageFull``, ``SluiceError/Code/eventTooLarge`` or another error; the event is
    ///   then not kept, and the pipeline counts it.
    func append(_ line: EventLine) throws(SluiceError)

    /// Hands out the next events to be sent: those of the highest priority, the oldest of them first.
    ///
    /// - Parameter size: the batch to aim at. A store whose unit of deletion is larger may exceed it; the delivery
    ///   loop then sends the batch in parts and settles it as a whole.
    /// - Returns: nil if nothing waits that is not handed out already. A batch is never empty.
    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch?

    /// Forgets a batch: each of its events was delivered, or is in `rejected`.
    ///
    /// - Parameters:
    ///   - batch: what ``nextBatch(_:)`` handed out.
    ///   - rejected: the events that no retry can bring home; a store that can keeps them as dead letters.
    /// - Throws: an error if the store could not forget them for good. It must not hand them out again in this life.
    func settle(_ batch: Batch.ID, rejected: [RejectedEvent]) throws(SluiceError)

    /// Takes a batch back unsettled: ``nextBatch(_:)`` may hand it out again, before younger events of its priority.
    func release(_ batch: Batch.ID)

    /// How much waits, handed-out batches included; also after ``close()``.
    var backlog: Backlog { get }

    /// Makes all accepted events as safe as this store can make them, whatever its ordinary promise.
    func synchronize() throws(SluiceError)

    /// Ends the use. Events that wait stay, if the store keeps them across lives; later appends throw
    /// ``SluiceError/Code/shutDown``. A second call does nothing.
    func close()
}

/// How much waits in a store.
public struct Backlog: Sendable, Hashable {
    /// Events that this life of the store knows of.
    public var events: Int
    /// Bytes of events, including ``unreadBytes``.
    public var bytes: Int
    /// Bytes that an earlier life left, in which the events have not been counted yet.
    public var unreadBytes: Int

    public init(events: Int, bytes: Int, unreadBytes: Int = 0) {
        self.events = events
        self.bytes = bytes
        self.unreadBytes = unreadBytes
    }

    public var isEmpty: Bool { events == 0 && unreadBytes == 0 }
}

/// How large a batch is to be.
public struct BatchSize: Sendable, Hashable {
    public var events: Int
    /// Bytes of the events' lines, without what a wire format adds.
    public var bytes: Int

    /// At least one event and one byte; less is raised to that.
    public init(events: Int, bytes: Int) {
        self.events = max(1, events)
        self.bytes = max(1, bytes)
    }
}

/// Events that are sent together.
public struct Batch: Sendable, Identifiable {
    /// The store's own number for what it handed out; parts of a batch share it.
    public struct ID: RawRepresentable, Sendable, Hashable {
        public let rawValue: UInt64
        public init(rawValue: UInt64) { self.rawValue = rawValue }
    }

    public let id: ID
    /// In the order in which they were tracked. Never empty.
    public let events: [EventLine]

    public init(id: ID, events: [EventLine]) {
        self.id = id
        self.events = events
    }
}

/// An event that no retry can bring home, and why.
public struct RejectedEvent: Sendable {
    public let line: EventLine
    public let reason: String

    public init(line: EventLine, reason: String) {
        self.line = line
        self.reason = reason
    }
}
