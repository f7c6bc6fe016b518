extension Collection where Element == UInt8 {
    /// The CRC-32 of gzip (RFC 1952, 8), after that of the bytes before these.
    package func crc32(after crc: UInt32 = 0) -> UInt32 {
        ~reduce(~crc) { crc, byte in crcTable[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ crc >> 8 }
    }
}

private let crcTable: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0xEDB8_8320 }
}
