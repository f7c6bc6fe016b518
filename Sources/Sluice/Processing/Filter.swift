/// Keeps the events for which your closure returns true, and drops the others.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Filter { $0.name != "Debug" }
///     Filter(droppingAs: DropReason(rawValue: "internal")) { $0.properties["staff"] == nil }
///     MemoryStore()
///     StdoutTransport()
/// }
/// ```
///
/// You can list any number of filters, anywhere. For state of your own, write a ``Processor``.
public struct Filter: Processor {
    private let reason: DropReason
    private let isKept: @Sendable (Event) -> Bool

    /// Creates a stage from a closure.
    ///
    /// - Parameters:
    ///   - reason: The ledger counts dropped events with this reason: ``DropReason/filtered`` by default.
    ///   - isKept: Returns whether the event continues. It runs on the thread that tracks the event, on any number of threads
    ///     at the same time. Return quickly.
    public init(droppingAs reason: DropReason = .filtered, _ isKept: @escaping @Sendable (Event) -> Bool) {
        self.reason = reason
        self.isKept = isKept
    }

    /// Drops the event, or leaves it as it is.
    public func process(_ event: inout Event) -> Disposition { isKept(event) ? .keep : .drop(reason) }
}
