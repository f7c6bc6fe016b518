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
    private let names: Set<String>
    private let prefixes: [String]

    /// Keeps only events that have one of these names. Include the events of plugins, such as `$AppStart`.
    ///
    /// ```swift
    /// let filter = EventNames(allowed: ["Purchase", "Search", "$*"])
    /// ```
    ///
    /// - Parameter names: Names and prefixes.
    public init(allowed names: Set<String>) {
        self.init(isAllowList: true, names)
    }

    /// Drops events that have one of these names, and keeps all others.
    ///
    /// - Parameter names: Names and prefixes.
    public init(denied names: Set<String>) {
        self.init(isAllowList: false, names)
    }

    private init(isAllowList: Bool, _ names: Set<String>) {
        self.isAllowList = isAllowList
        self.names = names.filter { !$0.hasSuffix("*") }
        prefixes = names.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
    }

    /// Drops the event if its name is not allowed.
    public func process(_ event: inout Event) -> Disposition {
        let isListed = names.contains(event.name) || prefixes.contains { event.name.hasPrefix($0) }
        return isListed == isAllowList ? .keep : .drop(.filtered)
    }
}
