/// Blanks as people and typesetting programs put them between the groups of a number.
extension UnsafeBufferPointer<UInt8> {
    /// How many bytes the blank at an offset has: a space, or one of the blanks beyond ASCII (no-break, thin, narrow
    /// no-break, …); 0 if there is none. Tabs are none: they part columns.
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

    /// How many bytes the blank beyond ASCII has that ends at an offset; 0 if there is none.
    func typographicBlankLength(before position: Int) -> Int {
        if position >= 2, blankLength(at: position - 2) == 2 { return 2 }
        return position >= 3 && blankLength(at: position - 3) == 3 ? 3 : 0
    }
}
