#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A line of a file, without its newline.
struct Line {
    let bytes: ArraySlice<UInt8>
    /// The offset of its first byte in the file.
    let offset: Int
    /// Whether the line is longer than ``LineReader/longest``. Its bytes are then only the beginning.
    let isCut: Bool
}

/// Reads a file in blocks, and splits it into lines. It never holds more than one line and one block in memory.
struct LineReader {
    /// The longest line to read as a whole. A host's events are at most 1 MB, unless it asks for more.
    static let longest = 16_777_216

    private static let block = 65_536
    private var buffer = [UInt8](repeating: 0, count: LineReader.block)

    /// Calls `body` with each complete line from `offset` on.
    ///
    /// - Returns: The place behind the last complete line, and the number of bytes behind it.
    mutating func read(
        _ file: ReadOnlyFile, from offset: Int = 0, _ body: (Line) -> Void
    ) throws(FileProblem) -> (end: Int, rest: Int) {
        // A host overwrites a reused file in order. While it does, a look at the file can find empty lines and behind them a part
        // of a line, so the end is found by an earlier look.
        let limit = file.isReused ? try endOfLines(of: file, from: offset) : .max
        var base = offset
        var filled = 0
        var isSkipping = false
        while true {
            if filled == buffer.count {
                if buffer.count < LineReader.longest {
                    buffer.append(contentsOf: repeatElement(0, count: buffer.count))
                } else {
                    if !isSkipping { body(Line(bytes: buffer[..<filled], offset: base, isCut: true)) }
                    isSkipping = true
                    base += filled
                    filled = 0
                }
            }
            let count = min(try fill(from: filled, file, at: base + filled), max(0, limit - base - filled))
            if count == 0 { return (base, filled) }
            filled += count
            var start = 0
            while let end = newline(in: start..<filled) {
                if !isSkipping { body(Line(bytes: buffer[start..<end], offset: base + start, isCut: false)) }
                isSkipping = false
                start = end + 1
            }
            guard start > 0 else { continue }
            buffer.withUnsafeMutableBytes { bytes in
                bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<filled]))
            }
            base += start
            filled -= start
        }
    }

    /// The place behind the last line that isn't empty.
    private mutating func endOfLines(of file: ReadOnlyFile, from offset: Int) throws(FileProblem) -> Int {
        var (place, end) = (offset, offset)
        while true {
            let count = try fill(from: 0, file, at: place)
            if count == 0 { return end }
            if let last = buffer[..<count].lastIndex(where: { $0 != 0x0A }) { end = place + last + 2 }
            place += count
        }
    }

    /// Reads a whole file, and numbers its lines from 1.
    ///
    /// - Returns: The place behind the last complete line, and the number of bytes behind it. Nil if the file is gone.
    mutating func readAll(
        of path: String, _ body: (_ number: Int, Line) -> Void
    ) throws(FileProblem) -> (lines: Int, end: Int, rest: Int)? {
        var number = 0
        do throws(FileProblem) {
            let (end, rest) = try read(ReadOnlyFile(path)) { line in
                number += 1
                body(number, line)
            }
            return (number, end, rest)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    private mutating func fill(from start: Int, _ file: ReadOnlyFile, at offset: Int) throws(FileProblem) -> Int {
        try buffer.withUnsafeMutableBufferPointer { (bytes) throws(FileProblem) in
            let free = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: bytes[start...]))
            return try file.read(into: free, at: offset)
        }
    }

    private func newline(in range: Range<Int>) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = memchr(base + range.lowerBound, 0x0A, range.count) else {
                return nil
            }
            return UnsafeRawPointer(found) - base
        }
    }
}
