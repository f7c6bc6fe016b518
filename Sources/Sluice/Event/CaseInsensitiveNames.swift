/// Names to look for in many lists of properties, whatever the case of their ASCII letters.
package struct CaseInsensitiveNames: Sendable {
    private let names: [[UInt8]]
    /// Of all names: by these alone most others are known not to be among them.
    let bits: UInt64

    package init(_ names: [String]) {
        self.names = names.map { $0.utf8.map(lowercased) }
        bits = names.reduce(0) { $0 | NameFingerprint($1).bit }
    }

    @inline(__always)
    package func contains(_ name: borrowing String) -> Bool {
        bits & NameFingerprint(name).bit != 0 && isAmong(copy name)
    }

    @inline(never)
    private func isAmong(_ name: String) -> Bool {
        names.contains { $0.count == name.utf8.count && zip($0, name.utf8).allSatisfy { $0 == lowercased($1) } }
    }
}

/// Only ASCII: the rest has no case that is the same in every language.
private func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
