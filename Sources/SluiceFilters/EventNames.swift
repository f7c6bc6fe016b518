public import Sluice

/// Filters events by name.
///
/// ```swift
/// let pipeline = try Pipeline {
///     EventNames(denied: ["Debug*", "Heartbeat"])
///     …
/// }
/// ```
///
/// A name that ends with `*` is a prefix. Names are compared by characters. All other events are dropped as
/// ``Sluice/DropReason/filtered``.
public struct EventNames: Processor {
    private let isAllowList: Bool
    private let names: NamePatterns

    /// Keeps only events that have one of these names. Include the events of plugins, such as `$AppStart`.
    ///
    /// ```swift
    /// let filter = EventNames(allowed: ["Purchase", "Search", "$*"])
    /// ```
    ///
    /// - Parameter names: Names and prefixes.
    public init(allowed names: Set<String>) {
        (isAllowList, self.names) = (true, NamePatterns(names))
    }

    /// Drops events that have one of these names, and keeps all others.
    ///
    /// - Parameter names: Names and prefixes.
    public init(denied names: Set<String>) {
        (isAllowList, self.names) = (false, NamePatterns(names))
    }

    /// Checks the names.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if a name is blank, has a blank or an invisible
    ///   character at an end, or contains a control character or a `*` that isn't at its end.
    public func prepare() throws {
        try SluiceError.require(names: names.listed, of: isAllowList ? "allowed" : "denied", prefixes: true)
    }

    /// Drops the event if its name is not allowed.
    public func process(_ event: inout Event) -> Disposition {
        names.contains(event.name) == isAllowList ? .keep : .drop(.filtered)
    }
}
