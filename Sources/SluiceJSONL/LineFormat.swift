internal import Sluice

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// How an event's line stands in a file: with its checksum as the last key, `…,"crc":"1a2b3c4d"}` and a newline.
///
/// The file thereby stays plain JSON Lines. The checksum is that of the line as it was appended.
enum LineFormat {
    private static let suffixStart = Array(#","crc":""#.utf8)
    private static let suffixEnd = Array(#""}"#.utf8)
    /// What follows the comma, with room for the checksum.
    private static let suffixTemplate =
        suffixStart.dropFirst() + Array(repeating: 0, count: 8) + suffixEnd + [newline]
    private static let suffixLength = suffixStart.count + 8 + suffixEnd.count

    static let newline = UInt8(ascii: "\n")
    private static let openBrace = UInt8(ascii: "{")
    private static let closeBrace = UInt8(ascii: "}")

    /// What a stored line is longer than the event's: the checksum in the place of the brace, and the newline.
    static let overhead = suffixLength

    /// Whether ``append(_:checksum:to:)`` can take these bytes so that ``event(in:at:)`` gives them back.
    static func canStore(_ line: ArraySlice<UInt8>) -> Bool {
        line.count > 2 && line.first == openBrace && line.last == closeBrace && newlineIndex(in: line) == nil
    }

    static func append(_ line: ArraySlice<UInt8>, checksum: UInt32, to buffer: inout [UInt8]) {
        buffer.reserveCapacity(buffer.count + line.count + overhead)
        buffer.append(contentsOf: line)
        // The comma takes the place of the brace, which comes again behind the checksum.
        buffer[buffer.count - 1] = suffixStart[0]
        let digits = buffer.count + suffixStart.count - 1
        buffer.append(contentsOf: suffixTemplate)
        buffer.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: hexadecimalDigits(checksum).bigEndian, toByteOffset: digits, as: UInt64.self)
        }
    }

    /// The event's bytes within the stored line at `range`, which is without its newline; nil if they are not what was
    /// written. Puts the brace back in place of the checksum.
    static func event(in buffer: inout [UInt8], at range: Range<Int>) -> Range<Int>? {
        let comma = range.upperBound - suffixLength
        guard comma > range.lowerBound, buffer[range.lowerBound] == openBrace,
            buffer[comma..<comma + suffixStart.count].elementsEqual(suffixStart),
            buffer[range.upperBound - suffixEnd.count..<range.upperBound].elementsEqual(suffixEnd)
        else { return nil }
        var expected: UInt32 = 0
        for digit in buffer[comma + suffixStart.count..<range.upperBound - suffixEnd.count] {
            guard let value = hexadecimalValue(digit) else { return nil }
            expected = expected << 4 | UInt32(value)
        }
        buffer[comma] = closeBrace
        let event = range.lowerBound..<comma + 1
        return Checksum.of(buffer[event]) == expected ? event : nil
    }

    /// Relative to the start of `bytes`.
    static func newlineIndex(in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = memchr(base, CInt(newline), buffer.count) else {
                return nil
            }
            return UnsafeRawPointer(found) - base
        }
    }

    // Upper case is not what was written.
    private static func hexadecimalValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
