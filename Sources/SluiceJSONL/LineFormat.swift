internal import CSluiceJSONL
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

/// CRC-32C. It finds every change of up to 32 adjacent bits, and misses one in 2³² of the others.
enum Checksum {
    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBytes { sluice_crc32c($0.baseAddress, $0.count) }
    }
}

/// A line that is ready to be written. Making it is the longer part of the work and needs no lock.
struct StoredLine {
    private let bytes: ArraySlice<UInt8>
    private let checksum: UInt32
    /// The length of the event's own line, before encryption.
    let eventBytes: Int

    /// - Throws: the error of the encryption.
    init(_ event: ArraySlice<UInt8>, _ encryption: LineEncryption?) throws(SluiceError) {
        eventBytes = event.count
        if let encryption { bytes = try encryption.encrypted(event) } else { bytes = event }
        checksum = Checksum.of(bytes)
    }

    /// The length in the file.
    var size: Int { bytes.count + LineFormat.overhead }

    func append(to buffer: inout [UInt8]) {
        LineFormat.append(bytes, checksum: checksum, to: &buffer)
    }
}

/// The format of a line in a segment: the event with its checksum as the last key, `…,"crc":"1a2b3c4d"}`, and a newline.
///
/// The file is therefore plain JSON Lines. The checksum is that of the line before it was added.
enum LineFormat {
    // Constants of the compiler. Stored arrays would be looked up and retained for each line.
    private static var suffixStart: UnsafeBufferPointer<UInt8> { bytes(of: #","crc":""#) }
    private static var suffixEnd: UnsafeBufferPointer<UInt8> { bytes(of: #""}"#) }
    /// The bytes after the comma, with room for the checksum.
    private static let suffixTemplate =
        Array(suffixStart.dropFirst()) + Array(repeating: 0, count: 8) + suffixEnd + [newline]
    private static var suffixLength: Int { suffixStart.count + 8 + suffixEnd.count }

    static let newline = UInt8(ascii: "\n")
    private static let openBrace = UInt8(ascii: "{")
    private static let closeBrace = UInt8(ascii: "}")

    /// The number of bytes that a stored line is longer than the event: the checksum and the newline.
    static var overhead: Int { suffixLength }

    /// Whether ``event(in:at:)`` returns these bytes after ``append(_:checksum:to:)``.
    static func canStore(_ line: ArraySlice<UInt8>) -> Bool {
        line.count > 2 && line.first == openBrace && line.last == closeBrace && newlineIndex(in: line) == nil
    }

    static func append(_ line: ArraySlice<UInt8>, checksum: UInt32, to buffer: inout [UInt8]) {
        // Exactly one line, unless the buffer has to grow with each of many.
        if buffer.isEmpty { buffer.reserveCapacity(line.count + overhead) }
        buffer.append(contentsOf: line)
        // The comma replaces the brace, which is written again after the checksum.
        buffer[buffer.count - 1] = UInt8(ascii: ",")
        let digits = buffer.count + suffixStart.count - 1
        buffer.append(contentsOf: suffixTemplate)
        buffer.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: hexadecimalDigits(checksum).bigEndian, toByteOffset: digits, as: UInt64.self)
        }
    }

    /// Finds the event in the stored line at `range`, which excludes the newline, and puts the brace back in place of the
    /// checksum. Returns nil if the line is damaged.
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
        // mutant: ignore-checksum
        return Checksum.of(buffer[event]) == expected ? event : nil
    }

    /// Returns the offset of the first newline from the start of `bytes`.
    static func newlineIndex(in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = memchr(base, CInt(newline), buffer.count) else {
                return nil
            }
            return UnsafeRawPointer(found) - base
        }
    }

    private static func bytes(of text: StaticString) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    // Upper case was never written, so it is damage.
    private static func hexadecimalValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
