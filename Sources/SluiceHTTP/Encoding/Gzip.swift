/// Writes gzip files (RFC 1952) with one member and without a name or time. Equal bytes become equal files.
enum Gzip {
    /// Returns nil if the deflater fails.
    static func file(of bytes: [UInt8], by deflater: Deflater) -> [UInt8]? {
        guard let stream = deflater.deflate(bytes) else { return nil }
        // Deflate, no flags, no time, no hints, system unknown.
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF] + stream + littleEndian(deflater.crc32(bytes))
            + littleEndian(UInt32(truncatingIfNeeded: bytes.count))
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}

extension HTTPRequest {
    /// The size up to which bodies aren't compressed, because compression saves next to nothing.
    static let gzipThreshold = 255

    /// Compresses the body if that makes it smaller, unless it already has an encoding.
    mutating func gzip(by deflater: Deflater) {
        guard isCompressible, body.count > HTTPRequest.gzipThreshold, header("Content-Encoding") == nil,
            let file = Gzip.file(of: body, by: deflater), file.count < body.count
        else { return }
        body = file
        setHeader("Content-Encoding", "gzip")
    }
}
