/// What one look at the bytes of a property's name tells.
struct NameFingerprint {
    /// In bytes of UTF-8.
    let length: Int
    let isASCII: Bool
    /// One bit of 64, which is the same for the same name: a set of them tells most other names from its own.
    ///
    /// Names that begin with a letter never share it with those that begin with a mark such as `$`, and it does not
    /// depend on the case of an ASCII letter.
    let bit: UInt64

    @inline(__always)
    init(_ name: borrowing String) {
        // Every native string lends its bytes; one of Objective-C has to be asked in another way.
        let traits = name.utf8.withContiguousStorageIfAvailable { NameFingerprint(utf8: $0) }
        self = traits ?? Array(name.utf8).withUnsafeBufferPointer { NameFingerprint(utf8: $0) }
    }

    @inline(__always)
    private init(utf8: UnsafeBufferPointer<UInt8>) {
        length = utf8.count
        isASCII = NameFingerprint.isASCII(utf8)
        let first = utf8.isEmpty ? 0 : utf8[0]
        bit = 1 << UInt64((first & 0x40) >> 1 | (first &+ UInt8(truncatingIfNeeded: length) &* 5) & 31)
    }

    @inline(__always)
    private static func isASCII(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(utf8)
        guard bytes.count >= 8 else { return bytes.allSatisfy { $0 < 0x80 } }
        // The last eight, some of which are looked at again below.
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

    /// The same as `==` if both are ASCII; most that differ do so in their lengths.
    @inline(__always)
    func isSameASCII(as other: String) -> Bool {
        utf8.count == other.utf8.count && self == other
    }
}
