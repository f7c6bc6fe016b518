import Sluice

/// Names, and prefixes of names, that a backend reserves, regardless of the case of ASCII letters.
struct ReservedNames: Sendable {
    let names: CaseInsensitiveNames
    private let prefixes: [[UInt8]]
    let isEmpty: Bool

    /// - Parameter names: A name that ends with `*` is a prefix.
    init(_ names: Set<String>) {
        isEmpty = names.isEmpty
        self.names = CaseInsensitiveNames(names.filter { !$0.hasSuffix("*") })
        prefixes = names.filter { $0.hasSuffix("*") }.map { $0.utf8.dropLast().map(\.lowercasedLetter) }
    }

    var hasPrefixes: Bool { !prefixes.isEmpty }

    func contains(_ name: String) -> Bool {
        names.contains(name)
            || prefixes.contains { prefix in
                name.utf8.count >= prefix.count && zip(name.utf8, prefix).allSatisfy { $0.lowercasedLetter == $1 }
            }
    }
}

extension UInt8 {
    fileprivate var lowercasedLetter: UInt8 { isLetter ? self | 0x20 : self }
}
