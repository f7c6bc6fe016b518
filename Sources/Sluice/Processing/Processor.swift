/// Synchronous middleware: sees every event on its way to the store and may change or drop it.
///
/// ## Conforming
/// - ``process(_:)`` runs on the caller's thread inside `track`, from any number of threads at once. It must not
///   wait, and must not track events itself (an event that it made would come back to it) unless it sees to it that
///   those make no further ones. What it cuts it reports by ``Event/report(_:)``, so that nothing is lost uncounted.
/// - State is the conforming type's own, under a lock of its own; usually a `final class` with one lock around one
///   struct. A processor without state is a `struct`.
/// - Verbs of the plugin, such as `login` or `start`, are methods of the plugin that the host holds.
/// - Hold it to `ProcessorContract` of SluiceTesting.
public protocol Processor: Sendable {
    /// Changes the event, or has it dropped. Processors run in the order of their lines in the builder.
    func process(_ event: inout Event) -> Disposition

    /// Called once for each pipeline that is built with this processor, before any event.
    ///
    /// A processor that makes events of its own, such as `$AppStart`, keeps the outlet for that.
    ///
    /// - Throws: whatever makes it unusable; the pipeline is then not built.
    func attach(to outlet: EventOutlet) throws

    /// Hears what the host's platform reports, on the thread that reports it, in the order of the stages.
    func receive(_ signal: Signal)

    /// Whether a second one of this type in the same pipeline can only be a mistake.
    ///
    /// The same object twice is always one. The default is false.
    static var isUnique: Bool { get }
}

extension Processor {
    public func attach(to outlet: EventOutlet) throws {}
    public func receive(_ signal: Signal) {}
    public static var isUnique: Bool { false }
}

/// What becomes of an event after a processor.
public enum Disposition: Sendable, Hashable {
    case keep
    case drop(DropReason)
}

/// Why an event was not stored or did not stay stored. The ledger counts the events of each reason.
///
/// Plugins add reasons of their own: `extension DropReason { static let tooBoring = DropReason(rawValue: "tooBoring") }`.
public struct DropReason: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The event has an empty name.
    public static let emptyName = DropReason(rawValue: "emptyName")
    /// As JSON the event is longer than the pipeline or the store accepts.
    public static let tooLarge = DropReason(rawValue: "tooLarge")
    /// The pipeline had been shut down.
    public static let shutDown = DropReason(rawValue: "shutDown")
    /// A filter let it not pass.
    public static let filtered = DropReason(rawValue: "filtered")
    /// The store was full of events that may not make room for this one.
    public static let storeFull = DropReason(rawValue: "storeFull")
    /// The store could not write it.
    public static let storeFailed = DropReason(rawValue: "storeFailed")
    /// It was stored, and had to make room for newer or more urgent ones.
    public static let evicted = DropReason(rawValue: "evicted")
    /// It was stored, and grew older than the store's age limit.
    public static let expired = DropReason(rawValue: "expired")
    /// It was stored, and what was read back were not the bytes that had been written.
    public static let corrupt = DropReason(rawValue: "corrupt")
    /// It was stored, and the host had it deleted: ``Pipeline/deleteAll()``.
    public static let deleted = DropReason(rawValue: "deleted")
    /// It was stored, and its place was deleted by someone else.
    public static let vanished = DropReason(rawValue: "vanished")
}
