/// The checksum of a stored line, written from the published definition of CRC-32C, so that it doesn't share an error
/// with the store's own.
enum CRC32C {
    /// Eight tables: entry `n` of table `t` is the checksum of byte `n` followed by `t` zero bytes.
    private static let tables: [UInt32] = {
        var tables = (UInt32(0)..<256).map { byte in
            (0..<8).reduce(byte) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
        }
        for index in 256..<2_048 {
            let before = tables[index - 256]
            tables.append(before >> 8 ^ tables[Int(before & 0xFF)])
        }
        return tables
    }()

    /// Returns the checksum of `bytes` followed by one more byte.
    static func checksum(of bytes: ArraySlice<UInt8>, then last: UInt8) -> UInt32 {
        let crc = tables.withUnsafeBufferPointer { tables in
            bytes.withUnsafeBytes { bytes in
                var crc = ~UInt32(0)
                var index = 0
                while index + 8 <= bytes.count {
                    let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                    let low = UInt32(truncatingIfNeeded: word) ^ crc
                    let high = UInt32(truncatingIfNeeded: word >> 32)
                    let first = tables[1_792 + Int(low & 0xFF)] ^ tables[1_536 + Int(low >> 8 & 0xFF)]
                    let second = tables[1_280 + Int(low >> 16 & 0xFF)] ^ tables[1_024 + Int(low >> 24)]
                    let third = tables[768 + Int(high & 0xFF)] ^ tables[512 + Int(high >> 8 & 0xFF)]
                    let fourth = tables[256 + Int(high >> 16 & 0xFF)] ^ tables[Int(high >> 24)]
                    crc = first ^ second ^ third ^ fourth
                    index += 8
                }
                while index < bytes.count {
                    crc = crc >> 8 ^ tables[Int((crc ^ UInt32(bytes[index])) & 0xFF)]
                    index += 1
                }
                return crc
            }
        }
        return ~(crc >> 8 ^ tables[Int((crc ^ UInt32(last)) & 0xFF)])
    }
}
