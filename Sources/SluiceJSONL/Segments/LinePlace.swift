internal import Sluice

/// The place of an event's line in its file, and the checksum that it had there.
///
/// Other programs can change the file after it was read. So a place is used only as long as the line there has the checksum.
struct LinePlace: Hashable {
    /// The event, whose last brace is where the stored line has the comma before its checksum.
    let event: Range<Int>
    let checksum: UInt32

    /// The stored line, with its newline.
    var line: Range<Int> { event.lowerBound..<event.upperBound + LineFormat.overhead }

    /// Marks the event as one that needs no further attempt, if its line is still there.
    func mark(in file: OpenFile, of files: any FileSystem) throws(FileError) {
        let comma = event.upperBound - 1
        var suffix = (UInt64(0), UInt64(0))
        let isThere = try withUnsafeMutableBytes(of: &suffix) { bytes throws(FileError) in
            try files.read(from: file.descriptor, into: bytes, at: comma) == bytes.count
                && LineFormat.hasChecksum(checksum, UnsafeRawBufferPointer(bytes))
        }
        var written = 0
        if isThere { try file.write([LineFormat.settledMark], at: comma + LineFormat.markOffset, &written) }
    }

    /// Whether the line is still there in the bytes of its file.
    func isIn(_ file: [UInt8]) -> Bool {
        line.upperBound <= file.count
            && file[(event.upperBound - 1)...].withUnsafeBytes { LineFormat.hasChecksum(checksum, $0) }
    }
}
