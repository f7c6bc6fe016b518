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

    var usage: Usage { Usage(count: 1, eventBytes: eventBytes, fileBytes: size) }
}

/// Stored lines that are not in a file yet.
struct LineBuffer {
    // Longer than its contents. Appending to an array checks its uniqueness and its capacity for each piece of a line.
    private var memory: [UInt8] = []
    private var count = 0
    /// See ``SegmentName/seed``.
    private var seed: UInt32 = 0

    mutating func append(_ line: StoredLine) {
        let newCount = count + line.size
        if newCount > memory.count { grow(to: newCount) }
        memory.withUnsafeMutableBytes { memory in
            let target = UnsafeMutableRawBufferPointer(rebasing: memory[count..<newCount])
            LineFormat.write(line.bytes, checksum: line.checksum ^ seed, to: target)
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

    /// Changes the checksums of all lines to the ones for another segment.
    mutating func setSeed(_ newSeed: UInt32) {
        guard newSeed != seed else { return }
        let change = seed ^ newSeed
        seed = newSeed
        memory.withUnsafeMutableBytes { memory in
            var start = 0
            while start < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: memory[start..<count])
                guard let length = UnsafeRawBufferPointer(rest).index(of: LineFormat.newline) else { return }
                LineFormat.changeChecksum(
                    of: UnsafeMutableRawBufferPointer(rebasing: rest[..<length]), by: change)
                start += length + 1
            }
        }
    }

    /// Removes the line that was appended last.
    mutating func removeLast(_ line: StoredLine) { count -= line.size }

    /// Removes all lines, and keeps the memory.
    mutating func removeAll() { count = 0 }

    var bytes: ArraySlice<UInt8> { memory[..<count] }
}

/// The format of a line in a segment: the event with its checksum as the last key, `…,"crc":"1a2b3c4d"}`, and a newline.
///
/// The file is therefore plain JSON Lines. The checksum is that of the line before it was added. In a reused file, it is
/// combined with the seed of the segment's name by exclusive or.
///
/// An event that needs no further attempt has the key `xrc` in place of `crc`. It is one byte, so a crash or a loss of power
/// can't leave half of the change, and the other lines keep their places.
enum LineFormat {
    // Constants of the compiler. Stored arrays would be looked up and retained for each line.
    private static var suffixStart: UnsafeBufferPointer<UInt8> { bytes(of: #","crc":""#) }
    private static var settledStart: UnsafeBufferPointer<UInt8> { bytes(of: #","xrc":""#) }
    private static var suffixEnd: UnsafeBufferPointer<UInt8> { bytes(of: #""}"#) }
    private static var suffixLength: Int { suffixStart.count + 8 + suffixEnd.count }

    static let newline = UInt8(ascii: "\n")
    private static let openBrace = UInt8(ascii: "{")
    private static let closeBrace = UInt8(ascii: "}")

    /// The number of bytes that a stored line is longer than the event: the checksum and the newline.
    static var overhead: Int { suffixLength }

    /// Whether ``events(in:)`` returns these bytes after ``write(_:checksum:to:)``.
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

    /// Combines the checksum of a stored line without its newline with `change`.
    fileprivate static func changeChecksum(of line: UnsafeMutableRawBufferPointer, by change: UInt32) {
        let digits = line.count - suffixEnd.count - 8
        guard let checksum = checksum(in: UnsafeRawBufferPointer(line), at: digits) else { return }
        line.storeBytes(
            of: hexadecimalDigits(checksum ^ change).bigEndian, toByteOffset: digits, as: UInt64.self)
    }

    private static func checksum(in line: UnsafeRawBufferPointer, at offset: Int) -> UInt32? {
        hexadecimalValue(line.loadUnaligned(fromByteOffset: offset, as: UInt64.self).bigEndian)
    }

    /// Differs from the byte that it replaces in four bits.
    static let settledMark = UInt8(ascii: "x")

    /// The distance from the comma before the checksum to the byte that ``settledMark`` replaces.
    static let markOffset = 2

    /// Whether the suffix of a line, which begins at the comma, has this checksum of an event.
    static func hasChecksum(_ checksum: UInt32, _ suffix: UnsafeRawBufferPointer) -> Bool {
        suffix.starts(with: UnsafeRawBufferPointer(suffixStart))
            && suffix.loadUnaligned(fromByteOffset: suffixStart.count, as: UInt64.self).bigEndian
                == hexadecimalDigits(checksum)
    }

    private enum Finding {
        case event(LinePlace)
        case skipped, damaged
    }

    /// Finds the places of the events in a file, and puts their braces back in place of the checksums.
    static func events(in file: inout [UInt8], seed: UInt32) -> SegmentReader.Contents {
        // One access to the array, which otherwise checks its uniqueness and its bounds for each piece of a line.
        file.withUnsafeMutableBytes { file in
            var (lines, start) = (SegmentReader.Contents(), 0)
            while start < file.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: file[start...])
                guard let count = UnsafeRawBufferPointer(rest).index(of: newline) else {
                    lines.damaged += 1
                    break
                }
                let line = UnsafeMutableRawBufferPointer(rebasing: rest[..<count])
                if count > 0 {
                    switch find(in: line, at: start, seed: seed) {
                    case .event(let place): lines.places.append(place)
                    case .skipped: lines.skipped += 1
                    case .damaged: lines.damaged += 1
                    }
                }
                start += count + 1
            }
            return lines
        }
    }

    /// Looks at a stored line without its newline, which is at `start` of its file.
    private static func find(in line: UnsafeMutableRawBufferPointer, at start: Int, seed: UInt32) -> Finding {
        let comma = line.count - suffixLength
        let digits = comma + suffixStart.count
        // Longer than two braces, as ``canStore(_:)`` demands.
        guard comma > 1, line[0] == openBrace, has(suffixStart, line, at: comma), has(suffixEnd, line, at: digits + 8)
        else { return mayBeOwn(line) && !(comma > 1 && has(settledStart, line, at: comma)) ? .damaged : .skipped }
        line[comma] = closeBrace
        let checksum = Checksum.of(UnsafeRawBufferPointer(rebasing: line[...comma]))
        // The digits are compared as text. Only lower case is written, so upper case is damage.
        if line.loadUnaligned(fromByteOffset: digits, as: UInt64.self).bigEndian == hexadecimalDigits(checksum ^ seed) {
            return .event(LinePlace(event: start..<start + comma + 1, checksum: checksum ^ seed))
        }
        // Undamaged, and of an earlier segment: a loss of power can bring it back. Its event was delivered.
        let stored = Self.checksum(in: UnsafeRawBufferPointer(line), at: digits)
        return stored.map { ($0 ^ checksum) < seed } ?? false ? .skipped : .damaged
    }

    /// Whether a line that isn't an event may have been one. Otherwise it is text of another program, and costs nothing.
    ///
    /// A damaged line has a checksum or most of what stands before it, a torn one is half an object, and no text has bytes like
    /// the ones that a drive leaves after a loss of power.
    private static func mayBeOwn(_ line: UnsafeMutableRawBufferPointer) -> Bool {
        let equal = zip(line.suffix(suffixLength), suffixStart).count { $0 == $1 }
        if equal > suffixStart.count / 2 || line.contains(where: { $0 < 9 }) { return true }
        guard line.starts(with: #"{""#.utf8) else { return false }
        let fields = attempt(try JSONReader.fields(of: Array(line)[...]), or: [:])
        return fields.isEmpty || fields["crc"] != nil
    }

    private static func has(
        _ text: UnsafeBufferPointer<UInt8>, _ line: UnsafeMutableRawBufferPointer, at offset: Int
    ) -> Bool {
        guard let expected = text.baseAddress, let bytes = line.baseAddress else { return false }
        return memcmp(bytes + offset, expected, text.count) == 0
    }

    private static func bytes(of text: StaticString) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
