extension Collection where Element == UInt8 {
    /// The CRC-32 of gzip (RFC 1952, 8).
    var crc32: UInt32 {
        ~reduce(~0) { crc, byte in Checksums.crcTable[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ crc >> 8 }
    }

    /// FNV-1a of 64 bits: the same for the same bytes, in every process and on every machine.
    var fnv1a: UInt64 {
        reduce(0xCBF2_9CE4_8422_2325) { hash, byte in (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    /// The hash code that Java gives to a string of these characters, which must be ASCII.
    var javaHashCode: Int32 {
        reduce(0) { hash, byte in hash &* 31 &+ Int32(byte) }
    }
}

private enum Checksums {
    static let crcTable: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0xEDB8_8320 }
    }
}
