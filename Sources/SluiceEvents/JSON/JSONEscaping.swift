/// The escapes of a JSON string: for the quote, the backslash and the control characters below U+0020.
enum JSONEscaping {
    /// Copies bytes, and finds out whether one of them has to be escaped, in one pass. It takes sixteen bytes at a time, because
    /// all text of an event is copied here.
    ///
    /// - Returns: false if one has to be escaped. The copy is useless then.
    @inline(__always)
    static func copyUnescaped(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Bool {
        let count = bytes.count
        guard count >= 16 else { return copyUnescaped(short: bytes, to: target) }
        // The last sixteen bytes, which may overlap with the loop's.
        let last = bytes.loadUnaligned(fromByteOffset: count - 16, as: SIMD2<UInt64>.self)
        target.storeBytes(of: last, toByteOffset: count - 16, as: SIMD2<UInt64>.self)
        var escaped = escapedBits(last)
        var offset = 0
        while offset < count - 16 {
            let words = bytes.loadUnaligned(fromByteOffset: offset, as: SIMD2<UInt64>.self)
            target.storeBytes(of: words, toByteOffset: offset, as: SIMD2<UInt64>.self)
            escaped |= escapedBits(words)
            offset += 16
        }
        return escaped[0] | escaped[1] == 0
    }

    @inline(__always)
    private static func copyUnescaped(short bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Bool {
        let count = bytes.count
        guard count >= 4 else {
            for offset in 0..<count {
                if isEscaped(bytes[offset]) { return false }
                target.storeBytes(of: bytes[offset], toByteOffset: offset, as: UInt8.self)
            }
            return true
        }
        guard count < 8 else {
            // The first eight and the last eight bytes, which may overlap.
            let first = bytes.loadUnaligned(as: UInt64.self)
            let last = bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
            target.storeBytes(of: first, as: UInt64.self)
            target.storeBytes(of: last, toByteOffset: count - 8, as: UInt64.self)
            let escaped = escapedBits(SIMD2(first, last))
            return escaped[0] | escaped[1] == 0
        }
        // The first four and the last four bytes, which may overlap.
        let first = bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
        let last = bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
        target.storeBytes(of: first, as: UInt32.self)
        target.storeBytes(of: last, toByteOffset: count - 4, as: UInt32.self)
        return escapedBits(SIMD2(repeating: UInt64(first) << 32 | UInt64(last)))[0] == 0
    }

    /// The number of bytes before the first one that has to be escaped.
    static func plainLength(of bytes: UnsafeRawBufferPointer) -> Int {
        var offset = 0
        while offset + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let escaped = escapedBits(SIMD2(repeating: word))[0]
            // A borrow changes only bytes behind the first match.
            if escaped != 0 { return offset + escaped.trailingZeroBitCount / 8 }
            offset += 8
        }
        while offset < bytes.count, !isEscaped(bytes[offset]) { offset += 1 }
        return offset
    }

    /// Returns nil for a byte that needs no escape.
    static func escape(for byte: UInt8) -> [UInt8]? {
        switch byte {
        case UInt8(ascii: "\""): Array(#"\""#.utf8)
        case UInt8(ascii: "\\"): Array(#"\\"#.utf8)
        case 0x08: Array(#"\b"#.utf8)
        case 0x09: Array(#"\t"#.utf8)
        case 0x0A: Array(#"\n"#.utf8)
        case 0x0C: Array(#"\f"#.utf8)
        case 0x0D: Array(#"\r"#.utf8)
        case ..<0x20:
            Array(#"\u00"#.utf8) + withUnsafeBytes(of: hexadecimalDigits(UInt32(byte)).bigEndian) { $0.suffix(2) }
        default: nil
        }
    }

    @inline(__always)
    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Checks sixteen bytes together. XOR with 2 moves the quote to 0x20, and the control characters among themselves:
    /// one comparison finds both. XOR with a backslash makes it zero. Subtracting sets the highest bit of a byte that
    /// is less. A borrow can only come from a byte that matches.
    ///
    /// - Returns: zero if no byte has to be escaped.
    @inline(__always)
    private static func escapedBits(_ words: SIMD2<UInt64>) -> SIMD2<UInt64> {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = (words ^ SIMD2(repeating: ones &* 0x02)) &- SIMD2(repeating: ones &* 0x21)
        let backslashes = (words ^ SIMD2(repeating: ones &* 0x5C)) &- SIMD2(repeating: ones)
        return (quotes | backslashes) & ~words & SIMD2(repeating: 0x8080_8080_8080_8080)
    }
}
