import Sluice

/// Names, and prefixes of names, that a backend reserves, compared by characters and regardless of case.
struct ReservedNames: Sendable {
    private let names: CaseInsensitiveNames
    private let prefixes: [String]
    let isEmpty: Bool

    /// - Parameter names: A name that ends with `*` is a prefix.
    init(_ names: Set<String>) {
        isEmpty = names.isEmpty
        self.names = CaseInsensitiveNames(names.filter { !$0.hasSuffix("*") })
        prefixes = names.filter { $0.hasSuffix("*") }.map { $0.dropLast().lowercased() }
    }

    func contains(_ name: String) -> Bool {
        names.contains(name) || !prefixes.isEmpty && prefixes.contains(where: name.lowercased().hasPrefix)
    }
}
