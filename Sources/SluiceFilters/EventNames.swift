public import Sluice

/// Lets events pass by name. All others are dropped as ``Sluice/DropReason/filtered``.
///
/// ```swift
/// EventNames(allowed: ["Purchase", "Search", "$*"])
/// EventNames(denied: ["Debug*"])
/// ```
///
/// A name that ends with `*` is a prefix. Remember events of plugins, such as `$AppStart`.
public struct EventNames: Processor {
    private let isAllowList: Bool
    private let names: Set<String>
    private let prefixes: [[UInt8]]

    /// Lets only events of these names pass.
    ///
    /// - Parameter names: Names and prefixes.
    public init(allowed names: Set<String>) {
        self.init(isAllowList: true, names)
    }

    /// Lets all events pass except those of these names.
    ///
    /// - Parameter names: Names and prefixes.
    public init(denied names: Set<String>) {
        self.init(isAllowList: false, names)
    }

    private init(isAllowList: Bool, _ names: Set<String>) {
        self.isAllowList = isAllowList
        self.names = names.filter { !$0.hasSuffix("*") }
        prefixes = names.filter { $0.hasSuffix("*") }.map { Array($0.utf8.dropLast()) }
    }

    /// Drops the event if its name is not allowed.
    public func process(_ event: inout Event) -> Disposition {
        let isListed = names.contains(event.name) || prefixes.contains { event.name.utf8.starts(with: $0) }
        return isListed == isAllowList ? .keep : .drop(.filtered)
    }
}
