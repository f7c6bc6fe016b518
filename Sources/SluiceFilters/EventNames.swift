public import Sluice

/// Lets events pass by their names. The rest is dropped as ``Sluice/DropReason/filtered``.
///
/// ```swift
/// EventNames(allowed: ["Purchase", "Search", "$*"])
/// EventNames(denied: ["Debug*"])
/// ```
///
/// A name that ends with `*` stands for all names that begin so. Names that plugins make, such as `$AppStart`, are names
/// like any other.
public struct EventNames: Processor {
    private let isAllowList: Bool
    private let names: Set<String>
    private let prefixes: [[UInt8]]

    /// Only events of these names pass.
    public init(allowed names: Set<String>) {
        self.init(isAllowList: true, names)
    }

    /// All events pass but those of these names.
    public init(denied names: Set<String>) {
        self.init(isAllowList: false, names)
    }

    private init(isAllowList: Bool, _ names: Set<String>) {
        self.isAllowList = isAllowList
        self.names = names.filter { !$0.hasSuffix("*") }
        prefixes = names.filter { $0.hasSuffix("*") }.map { Array($0.utf8.dropLast()) }
    }

    public func process(_ event: inout Event) -> Disposition {
        let isListed = names.contains(event.name) || prefixes.contains { event.name.utf8.starts(with: $0) }
        return isListed == isAllowList ? .keep : .drop(.filtered)
    }
}
