/// What JSON cannot write into a string as it is: the quote, the backslash and the controls below U+0020.
enum JSONEscaping {
    /// Whether any of the bytes is to be escaped. Nearly no text has one, so this is asked of all before any is copied.
    static func isNeeded(in utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(utf8)
        guard bytes.count >= 8 else { return isNeeded(inShort: bytes) }
        var offset = 0
        while offset < bytes.count - 8 {
            if hasEscaped(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) { return true }
            offset += 8
        }
        // The last eight, some of which may have been looked at already.
        return hasEscaped(bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
    }

    private static func isNeeded(inShort bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 4 else { return bytes.contains { isEscaped($0) } }
        // The first four and the last four, which may overlap.
        let first = bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
        let last = bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
        return hasEscaped(UInt64(first) << 32 | UInt64(last))
    }

    /// Nil for a byte that needs none.
    static func escape(for byte: UInt8) -> [UInt8]? {
        switch byte {
        case UInt8(ascii: "\""): Array(#"\""#.utf8)
        case UInt8(ascii: "\\"): Array(#"\\"#.utf8)
        case 0x08: Array(#"\b"#.utf8)
        case 0x09: Array(#"\t"#.utf8)
        case 0x0A: Array(#"\n"#.utf8)
        case 0x0C: Array(#"\f"#.utf8)
        case 0x0D: Array(#"\r"#.utf8)
        case ..<0x20: Array(#"\u00"#.utf8) + [hexadecimal(byte >> 4), hexadecimal(byte & 15)]
        default: nil
        }
    }

    @inline(__always)
    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// The same of eight bytes at once. A byte becomes zero by what it is compared with, and a byte's highest bit tells
    /// whether one was subtracted from a zero, or 0x20 from less. A borrow can only come from a byte that was found.
    @inline(__always)
    private static func hasEscaped(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let borrowed =
            ((word &- ones &* 0x20) & ~word) | ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        return borrowed & 0x8080_8080_8080_8080 != 0
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}
