/// The length and a hash of a property's name, computed in one pass over its bytes.
struct NameFingerprint {
    /// The length in bytes of UTF-8.
    let length: Int
    let isASCII: Bool
    /// One of 64 bits, equal for equal names. If a union of bits doesn't contain it, no name in the union is equal.
    ///
    /// It doesn't depend on the case of ASCII letters. Names that begin with a letter never share a bit with names that
    /// begin with a symbol such as `$`.
    let bit: UInt64
    /// The hash. It distinguishes most names that have the same ``bit``.
    let hash: UInt8

    @inline(__always)
    init(_ name: borrowing String) {
        // A string bridged from Objective-C has no contiguous storage.
        let fingerprint = name.utf8.withContiguousStorageIfAvailable { NameFingerprint(utf8: $0) }
        self = fingerprint ?? Array(name.utf8).withUnsafeBufferPointer { NameFingerprint(utf8: $0) }
    }

    @inline(__always)
    private init(utf8: UnsafeBufferPointer<UInt8>) {
        length = utf8.count
        isASCII = NameFingerprint.isASCII(utf8)
        (bit, hash) = NameFingerprint.hash(of: utf8)
    }

    @inline(__always)
    static func hash(of utf8: UnsafeBufferPointer<UInt8>) -> (bit: UInt64, hash: UInt8) {
        let (first, last) = utf8.isEmpty ? (0, 0) : (utf8[0], utf8[utf8.count - 1])
        // The case of a letter is in its sixth bit, which is set here, so that both cases have the same hash.
        let hash = (first | 0x20) &* 37 &+ (last | 0x20) &* 101 &+ UInt8(truncatingIfNeeded: utf8.count) &* 59
        // Eight bits for names that begin with a digit or a symbol such as `$`, 56 for the others, which are more.
        return (1 << (first & 0x40 == 0 ? UInt64(hash) & 7 : 8 + (UInt64(hash) &* 56) >> 8), hash)
    }

    /// Checks eight bytes together, because each name of each event is checked.
    @inline(__always)
    private static func isASCII(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(utf8)
        guard bytes.count >= 8 else { return isASCII(short: bytes) }
        // The last eight bytes, which overlap with the loop's.
        var union = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
        var offset = 0
        while offset < bytes.count - 8 {
            union |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        return union & 0x8080_8080_8080_8080 == 0
    }

    @inline(__always)
    private static func isASCII(short bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 4 else { return bytes.allSatisfy { $0 < 0x80 } }
        // The first four and the last four bytes, which may overlap.
        let union =
            bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
            | bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
        return union & 0x8080_8080 == 0
    }
}

extension String {
    @inline(__always)
    var isASCII: Bool { NameFingerprint(self).isASCII }

    /// Equivalent to `==` if both are ASCII. Most different names differ in length.
    @inline(__always)
    func isSameASCII(as other: String) -> Bool {
        utf8.count == other.utf8.count && self == other
    }
}

/// A set of names that finds out from its fingerprint that most names aren't in it.
package struct NameSet: Sendable, ExpressibleByArrayLiteral {
    private let names: Set<String>
    /// Whether a name can have a hash, for each of the 256 hashes.
    private let hashes: [Bool]

    package init(_ names: some Sequence<String>) {
        self.names = Set(names)
        // A hash is one of bytes, and a name that isn't ASCII can be equal to one that is.
        var hashes = [Bool](repeating: !self.names.allSatisfy(\.isASCII), count: 256)
        for name in self.names { hashes[Int(NameFingerprint(name).hash)] = true }
        self.hashes = hashes
    }

    package init(arrayLiteral names: String...) { self.init(names) }

    @inline(__always)
    package func contains(_ name: borrowing String) -> Bool {
        let fingerprint = NameFingerprint(name)
        return (hashes[Int(fingerprint.hash)] || !fingerprint.isASCII) && names.contains(copy name)
    }
}

/// A set of names that are compared without regard to case, and by characters: a letter with an accent is the same as the
/// letter and the accent.
package struct CaseInsensitiveNames: Sendable {
    /// The names in ASCII, whose bytes are compared.
    private let names: [[UInt8]]
    /// The others, in lower case.
    private let others: Set<String>
    /// The union of the fingerprints' bits.
    let bits: UInt64

    package init(_ names: [String]) {
        let ascii = names.filter(\.isASCII)
        self.names = ascii.map { $0.utf8.map(lowercased) }
        others = Set(names.filter { !$0.isASCII }.map { $0.lowercased() })
        // A fingerprint is one of bytes.
        bits = others.isEmpty ? ascii.reduce(0) { $0 | NameFingerprint($1).bit } : .max
    }

    @inline(__always)
    package func contains(_ name: borrowing String) -> Bool {
        // A string bridged from Objective-C has no contiguous storage.
        let isContained = name.utf8.withContiguousStorageIfAvailable { contains($0) }
        return isContained ?? Array(name.utf8).withUnsafeBufferPointer { contains($0) }
    }

    @inline(__always)
    private func contains(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        bits & NameFingerprint.hash(of: name).bit != 0 && isAmong(name)
    }

    @inline(never)
    private func isAmong(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        names.contains { $0.count == name.count && zip($0, name).allSatisfy { $0 == lowercased($1) } }
            || !others.isEmpty && others.contains(String(decoding: name, as: UTF8.self).lowercased())
    }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
