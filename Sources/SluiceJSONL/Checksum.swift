internal import CSluiceJSONL

/// CRC-32C, which finds every change of up to 32 adjacent bits, and all but one in 2³² of the others.
enum Checksum {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        sluice_crc32c(bytes.baseAddress, bytes.count)
    }

    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBytes { of($0) }
    }
}
