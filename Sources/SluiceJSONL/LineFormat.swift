internal import CSluiceJSONL
internal import Sluice
import SluiceLibC

/// CRC-32C. It finds every change of up to 32 adjacent bits, and misses one in 2³² of the others.
enum Checksum {
    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.withUnsafeBytes(of) }

    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 { sluice_crc32c(bytes.baseAddress, bytes.count) }
}

/// A line that is ready to be written. Making it is the longer part of the work and needs no lock.
struct StoredLine {
    fileprivate let bytes: ArraySlice<UInt8>
    fileprivate let checksum: UInt32
    /// The length of the event's own line, before encryption.
    let eventBytes: Int

    /// - Throws: the error of the encryption.
    // Borrowing, because an initializer takes ownership of its arguments by default, and the caller would copy both.
    init(_ event: borrowing ArraySlice<UInt8>, _ encryption: borrowing LineEncryption?) throws(SluiceError) {
        eventBytes = event.count
        if let encryption = copy encryption { bytes = try encryption.encrypted(copy event) } else { bytes = copy event }
        checksum = Checksum.of(bytes)
    }

    /// The length in the file.
    var size: Int { bytes.count + LineFormat.overhead }
}

/// Stored lines that are not in a file yet.
struct LineBuffer {
    // Longer than its contents. Appending to an array checks its uniqueness and its capacity for each piece of a line.
    private var memory: [UInt8] = []
    private var count = 0

    mutating func append(_ line: StoredLine) {
        let newCount = count + line.size
        if newCount > memory.count { grow(to: newCount) }
        memory.withUnsafeMutableBytes { memory in
            let target = UnsafeMutableRawBufferPointer(rebasing: memory[count..<newCount])
            LineFormat.write(line.bytes, checksum: line.checksum, to: target)
        }
        count = newCount
    }

    /// A buffer of one line has its exact size. With more lines, the size doubles.
    private mutating func grow(to newCount: Int) {
        if count == 0 {
            memory = []
            memory = [UInt8](repeating: 0, count: newCount)
        } else {
            memory.append(contentsOf: repeatElement(0, count: max(newCount, 2 * memory.count) - memory.count))
        }
    }

    /// Removes the line that was appended last.
    mutating func removeLast(_ line: StoredLine) { count -= line.size }

    /// Removes all lines, and keeps the memory.
    mutating func removeAll() { count = 0 }

    func write(to file: OpenFile) throws(FileError) { try file.write(memory[..<count]) }
}

/// The format of a line in a segment: the event with its checksum as the last key, `…,"crc":"1a2b3c4d"}`, and a newline.
///
/// The file is therefore plain JSON Lines. The checksum is that of the line before it was added.
enum LineFormat {
    // Constants of the compiler. Stored arrays would be looked up and retained for each line.
    private static var suffixStart: UnsafeBufferPointer<UInt8> { bytes(of: #","crc":""#) }
    private static var suffixEnd: UnsafeBufferPointer<UInt8> { bytes(of: #""}"#) }
    private static var suffixLength: Int { suffixStart.count + 8 + suffixEnd.count }

    static let newline = UInt8(ascii: "\n")
    private static let openBrace = UInt8(ascii: "{")
    private static let closeBrace = UInt8(ascii: "}")

    /// The number of bytes that a stored line is longer than the event: the checksum and the newline.
    static var overhead: Int { suffixLength }

    /// Whether ``event(in:at:)`` returns these bytes after ``write(_:checksum:to:)``.
    static func canStore(_ line: ArraySlice<UInt8>) -> Bool {
        line.count > 2 && line.first == openBrace && line.last == closeBrace && line.index(of: newline) == nil
    }

    /// Fills `target`, which is longer than the line by ``overhead``.
    static func write(_ line: ArraySlice<UInt8>, checksum: UInt32, to target: UnsafeMutableRawBufferPointer) {
        line.withUnsafeBytes { target.copyMemory(from: $0) }
        // The comma replaces the brace, which is written again after the checksum.
        let suffix = UnsafeMutableRawBufferPointer(rebasing: target[(line.count - 1)...])
        suffix.copyMemory(from: UnsafeRawBufferPointer(suffixStart))
        suffix.storeBytes(
            of: hexadecimalDigits(checksum).bigEndian, toByteOffset: suffixStart.count, as: UInt64.self)
        let end = UnsafeMutableRawBufferPointer(rebasing: suffix[(suffixStart.count + 8)...])
        end.copyMemory(from: UnsafeRawBufferPointer(suffixEnd))
        end[suffixEnd.count] = newline
    }

    /// Finds the event in the stored line at `range`, which excludes the newline, and puts the brace back in place of the
    /// checksum. Returns nil if the line is damaged.
    static func event(in buffer: inout [UInt8], at range: Range<Int>) -> Range<Int>? {
        let comma = range.upperBound - suffixLength
        // Longer than two braces, as ``canStore(_:)`` demands.
        guard comma > range.lowerBound + 1 else { return nil }
        // One access to the array. The loop of a reader would otherwise check it for each piece of a line.
        let isUndamaged = buffer.withUnsafeMutableBytes { buffer in
            let suffix = UnsafeRawBufferPointer(rebasing: buffer[comma..<range.upperBound])
            let digits = suffixStart.count..<suffixStart.count + 8
            guard buffer[range.lowerBound] == openBrace, suffix[..<digits.lowerBound].elementsEqual(suffixStart),
                suffix[digits.upperBound...].elementsEqual(suffixEnd)
            else { return false }
            var expected: UInt32 = 0
            for digit in suffix[digits] {
                guard let value = hexadecimalValue(digit) else { return false }
                expected = expected << 4 | UInt32(value)
            }
            buffer[comma] = closeBrace
            // mutant: ignore-checksum
            return Checksum.of(UnsafeRawBufferPointer(rebasing: buffer[range.lowerBound...comma])) == expected
        }
        return isUndamaged ? range.lowerBound..<comma + 1 : nil
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
