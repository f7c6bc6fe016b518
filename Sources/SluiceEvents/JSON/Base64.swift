/// Base64 with the standard alphabet and padding (RFC 4648, 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
    private static let values = (UInt8.min...UInt8.max).map { alphabet.firstIndex(of: $0).map { UInt8($0) } }

    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(bytes[start + offset]) : 0) }
            for offset in 0..<4 {
                text.append(offset <= count ? alphabet[Int(group >> (18 - 6 * UInt32(offset))) & 63] : padding)
            }
        }
        return text
    }

    /// Returns nil if the text isn't Base64.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let digits = text.suffix(2).last == padding ? text.dropLast(text.dropLast().last == padding ? 2 : 1) : text
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits = 0
        for digit in digits {
            guard let value = values[Int(digit)] else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return bytes
    }
}
