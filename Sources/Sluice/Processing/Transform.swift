/// Changes every event with your closure.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Transform { $0.properties["build"] = "beta" }
///     MemoryStore()
///     StdoutTransport()
/// }
/// ```
///
/// You can list any number of transforms, anywhere. For state of your own, write a ``Processor``.
public struct Transform: Processor {
    private let change: @Sendable (inout Event) -> Void

    /// Creates a stage from a closure.
    ///
    /// - Parameter change: Changes the event, as ``Processor/process(_:)`` does: it runs on the thread that tracks the event,
    ///   on any number of threads at the same time. Return quickly.
    public init(_ change: @escaping @Sendable (inout Event) -> Void) {
        self.change = change
    }

    /// Changes the event.
    public func process(_ event: inout Event) -> Disposition {
        change(&event)
        return .keep
    }
}
