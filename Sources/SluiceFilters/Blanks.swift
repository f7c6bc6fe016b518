/// The blanks that people and typesetting programs put between the groups of a number.
extension UnsafeBufferPointer<UInt8> {
    /// The length in bytes of the blank at an offset, or 0 without a blank. A blank is a space or one of the blanks
    /// beyond ASCII: no-break, thin, narrow no-break and others. A tab doesn't count, because it separates columns.
    func blankLength(at position: Int) -> Int {
        guard position < count else { return 0 }
        switch self[position] {
        case UInt8(ascii: " "): return 1
        case 0xC2: return position + 1 < count && self[position + 1] == 0xA0 ? 2 : 0
        case 0xE2:
            guard position + 2 < count, self[position + 1] == 0x80 else { return 0 }
            return (0x80...0x8A).contains(self[position + 2]) || self[position + 2] == 0xAF ? 3 : 0
        default: return 0
        }
    }

    /// The length in bytes of the blank beyond ASCII that ends at an offset, or 0 without one.
    func typographicBlankLength(before position: Int) -> Int {
        if position >= 2, blankLength(at: position - 2) == 2 { return 2 }
        return position >= 3 && blankLength(at: position - 3) == 3 ? 3 : 0
    }
}
