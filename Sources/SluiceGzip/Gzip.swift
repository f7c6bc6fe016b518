/// Writes gzip files (RFC 1952) with one member and without a name or time. Equal pieces become equal files.
package struct Gzip {
    private let deflater: Deflater
    private let stream: Deflater.Stream
    // Deflate, no flags, no time, no hints, system unknown.
    private var header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
    private var crc: UInt32 = 0
    private var count = 0

    package init(by deflater: Deflater) {
        self.deflater = deflater
        stream = deflater.begin()
    }

    /// Takes the next piece of the contents.
    ///
    /// - Returns: The next piece of the file, which can be empty. Nil if there is not enough memory.
    package mutating func add(_ piece: ArraySlice<UInt8>, isLast: Bool) -> [UInt8]? {
        guard let next = stream(piece, isLast) else { return nil }
        defer { header = [] }
        crc = deflater.crc32(piece, crc)
        count += piece.count
        guard isLast else { return header + next }
        return header + next + littleEndian(crc) + littleEndian(UInt32(truncatingIfNeeded: count))
    }

    /// The file of all bytes. Nil if there is not enough memory.
    package static func file(of bytes: [UInt8], by deflater: Deflater) -> [UInt8]? {
        var file = Gzip(by: deflater)
        return file.add(bytes[...], isLast: true)
    }

    private func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
