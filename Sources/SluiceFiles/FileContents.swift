import Sluice
import SluiceGzip

/// The bytes of a file, piece by piece: a batch and its file would take three times as much memory.
struct FileContents {
    private let events: [EventLine]
    private var position = 0
    private var gzip: Gzip?
    private var lines: [UInt8] = []

    /// Small enough for a processor's cache, so the system copies a piece twice as fast as a whole file.
    private static let pieceBytes = 65_536

    init(_ events: [EventLine], _ deflater: Deflater?) {
        self.events = events
        gzip = deflater.map { Gzip(by: $0) }
    }

    /// The next piece, which can be empty. Nil after the last one.
    mutating func next() throws(FileError) -> ArraySlice<UInt8>? {
        guard position < events.count else { return nil }
        lines.removeAll(keepingCapacity: true)
        while position < events.count, lines.count < Self.pieceBytes {
            lines += events[position].bytes
            lines.append(UInt8(ascii: "\n"))
            position += 1
        }
        let piece = lines[...].withPlainDates
        guard gzip != nil else { return piece }
        guard let compressed = gzip?.add(piece, isLast: position == events.count) else { throw .noMemory }
        return compressed[...]
    }
}
