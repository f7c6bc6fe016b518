public import Sluice

/// Makes events critical by name: they are sent first, soon, and evicted last.
///
/// ```swift
/// let pipeline = try Pipeline(delivery: DeliveryPolicy(criticalInterval: .zero)) {
///     CriticalEvents(named: ["Purchase", "SignUp"])
///     …
/// }
/// ```
///
/// Critical events are sent within the `criticalInterval` of the route's policy: 3 s by default, immediately if it is zero.
public struct CriticalEvents: Processor {
    private let names: Set<String>

    /// Creates the processor.
    ///
    /// - Parameter names: The names of the critical events.
    public init(named names: Set<String>) {
        self.names = names
    }

    /// Makes the event critical if its name is listed.
    public func process(_ event: inout Event) -> Disposition {
        if names.contains(event.name) { event.priority = .critical }
        return .keep
    }
}
