public import Sluice

/// Makes events critical by name. Critical events are sent first and soon, and are evicted last.
///
/// ```swift
/// let pipeline = try Pipeline(delivery: DeliveryPolicy(criticalInterval: .zero)) {
///     CriticalEvents(named: ["Purchase", "SignUp"])
///     …
/// }
/// ```
///
/// Critical events are sent within the `criticalInterval` of the route's policy, which is 3 s by default. If it is
/// zero, they are sent immediately.
public struct CriticalEvents: Processor {
    private let names: Set<String>

    /// Creates the processor.
    ///
    /// - Parameter names: The names of the critical events.
    public init(named names: Set<String>) {
        self.names = names
    }

    /// Checks the names.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if a name is blank, has a blank or an invisible
    ///   character at an end, or contains a control character or a `*`.
    public func prepare() throws { try SluiceError.require(names: names, of: "named") }

    /// Makes the event critical if its name is listed.
    public func process(_ event: inout Event) -> Disposition {
        if names.contains(event.name) { event.priority = .critical }
        return .keep
    }
}
