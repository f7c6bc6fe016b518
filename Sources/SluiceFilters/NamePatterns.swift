import Sluice

/// Names, and prefixes of names, compared by characters.
struct NamePatterns: Sendable {
    /// As a host writes them: a name that ends with `*` is a prefix.
    let listed: [String]
    private let names: NameSet
    private let prefixes: [String]

    init(_ listed: some Sequence<String>) {
        self.listed = Array(listed)
        names = NameSet(listed.filter { !$0.hasSuffix("*") })
        prefixes = listed.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
    }

    func contains(_ name: String) -> Bool {
        names.contains(name) || prefixes.contains(where: name.hasPrefix)
    }
}
