/// Why an event was not stored or did not stay stored. The ledger counts the events of each reason:
///
/// ```swift
/// let filtered = pipeline.ledger.dropped[.filtered] ?? 0
/// ```
///
/// Your plugin can add reasons of its own:
///
/// ```swift
/// extension DropReason {
///     nonisolated static let tooBoring = DropReason(rawValue: "tooBoring")
/// }
/// ```
public struct DropReason: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The name of the reason in the ledger.
    public let rawValue: String

    /// Creates a reason of your own.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The name of the reason.
    public var description: String { rawValue }

    /// The event has an empty name.
    public static let emptyName = DropReason(rawValue: "emptyName")
    /// The event's JSON is longer than the pipeline or the store accepts.
    public static let tooLarge = DropReason(rawValue: "tooLarge")
    /// The pipeline had been shut down.
    public static let shutDown = DropReason(rawValue: "shutDown")
    /// A plugin tracked it before the pipeline was built, and 1,000 earlier events of that plugin were waiting already.
    public static let beforePipeline = DropReason(rawValue: "beforePipeline")
    /// A processor tracked it for an event of its own, in `process(_:)`, at the eighth level.
    public static let recursion = DropReason(rawValue: "recursion")
    /// A filter dropped it.
    public static let filtered = DropReason(rawValue: "filtered")
    /// The store is full of events that are at least as urgent.
    public static let storeFull = DropReason(rawValue: "storeFull")
    /// The store could not write it.
    public static let storeFailed = DropReason(rawValue: "storeFailed")
    /// It was stored, and evicted for newer or more urgent events.
    public static let evicted = DropReason(rawValue: "evicted")
    /// It was stored, and exceeded the store's age limit.
    public static let expired = DropReason(rawValue: "expired")
    /// It was stored, and other bytes were read back.
    public static let corrupt = DropReason(rawValue: "corrupt")
    /// It was stored or held, and deleted by `Pipeline.deleteWaitingEvents()`, `erase(where:)` or `eraseEverything()`.
    public static let deleted = DropReason(rawValue: "deleted")
    /// It was stored, and is gone: something else deleted its file, or the store lost it without a report.
    public static let vanished = DropReason(rawValue: "vanished")
    /// In the child of a `fork`: the event was tracked with the parent's pipeline, or it waits in the parent's store.
    public static let leftToParentProcess = DropReason(rawValue: "leftToParentProcess")
}
