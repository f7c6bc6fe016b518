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
        let (first, last) = utf8.isEmpty ? (0, 0) : (utf8[0], utf8[utf8.count - 1])
        // The case of a letter is in its sixth bit, which is set here, so that both cases have the same hash.
        hash = (first | 0x20) &* 37 &+ (last | 0x20) &* 101 &+ UInt8(truncatingIfNeeded: utf8.count) &* 59
        // Eight bits for names that begin with a digit or a symbol such as `$`, 56 for the others, which are more.
        bit = 1 << (first & 0x40 == 0 ? UInt64(hash) & 7 : 8 + (UInt64(hash) &* 56) >> 8)
    }

    /// Checks eight bytes together, because each name of each event is checked.
    @inline(__always)
    private static func isASCII(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(utf8)
        if bytes.count < 4 { return bytes.allSatisfy { $0 < 0x80 } }
        if bytes.count < 8 {
            // The first four and the last four bytes, which may overlap.
            let first = bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
            return (first | bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)) & 0x8080_8080 == 0
        }
        // The last eight bytes, which overlap with the loop's.
        var union = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
        var offset = 0
        while offset < bytes.count - 8 {
            union |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        return union & 0x8080_8080_8080_8080 == 0
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
    /// Without the differences of case.
    private let names: NameSet
    /// The union of the fingerprints' bits that an equal name in ASCII can have.
    private let bits: UInt64
    /// Whether all names are ASCII without the differences of case. Then nearly no name beyond ASCII is equal to one.
    private let areASCII: Bool

    package init(_ names: [String]) {
        let folded = names.map(\.caseFolded)
        self.names = NameSet(folded)
        areASCII = folded.allSatisfy(\.isASCII)
        // A fingerprint is one of bytes, and a name beyond ASCII can be equal to one in ASCII.
        bits = areASCII ? folded.reduce(0) { $0 | NameFingerprint($1).bit } : .max
    }

    @inline(__always)
    package func contains(_ name: borrowing String) -> Bool {
        let fingerprint = NameFingerprint(name)
        return (bits & fingerprint.bit != 0 || !fingerprint.isASCII) && isAmong(copy name, isASCII: fingerprint.isASCII)
    }

    @inline(never)
    private func isAmong(_ name: String, isASCII: Bool) -> Bool {
        // Folding takes ten times as long as this look at the first letter beyond ASCII.
        if !isASCII, areASCII, !name.unicodeScalars.allSatisfy(\.foldsToASCII) { return false }
        return names.contains(name.caseFolded)
    }

    /// Whether a list of properties with these bounds may have one of the names. The bits of a name beyond ASCII don't show
    /// which names it is equal to.
    func mayContain(aNameWithin bounds: PropertyBounds) -> Bool {
        bounds.nameBits & bits != 0 || !bounds.hasOnlyASCIINames
    }
}

extension Unicode.Scalar {
    /// The ASCII character that people read: for one in full width, such as U+FF1D for an equals sign, for a digit of any script
    /// and for a dash.
    package var narrow: Unicode.Scalar {
        switch properties.generalCategory {
        case _ where (0xFF01...0xFF5E).contains(value): Unicode.Scalar(UInt8(value - 0xFEE0))
        case .decimalNumber: Unicode.Scalar(UInt8(ascii: "0") + UInt8(properties.numericValue ?? 0))
        case _ where properties.isDash: "-"
        default: value == 0x3000 ? " " : self
        }
    }

    /// Whether it is ASCII without the differences of case and of Unicode's spellings, such as the Kelvin sign.
    fileprivate var foldsToASCII: Bool {
        switch value {
        case 0..<0x80, 0xDF, 0x131, 0x17F, 0x37E, 0x1E9E, 0x1FEF, 0x212A, 0xFB00...0xFB06: true
        default: false
        }
    }
}

extension String {
    /// The text without the differences of case: the same for `stra\u{DF}e`, `STRASSE` and `STRA\u{1E9E}E`.
    package var caseFolded: String { isASCII ? lowercased() : lowercased().uppercased().lowercased() }
}
