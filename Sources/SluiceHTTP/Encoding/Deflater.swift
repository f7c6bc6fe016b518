#if canImport(Compression)
    import Compression
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Compresses bytes into a raw DEFLATE stream (RFC 1951). Equal bytes become equal streams.
struct Deflater: Sendable {
    /// Returns nil if there is not enough memory.
    let deflate: @Sendable ([UInt8]) -> [UInt8]?
    /// The CRC-32 of RFC 1952.
    var crc32: @Sendable ([UInt8]) -> UInt32 = { $0.crc32 }

    /// Writes stored (uncompressed) blocks, for bodies that must be gzip on systems without zlib.
    static let storing = Deflater { bytes in
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + bytes.count / 0xFFFF * 5 + 5)
        var start = 0
        repeat {
            let block = bytes[start..<min(start + 0xFFFF, bytes.count)]
            start = block.endIndex
            let count = UInt16(block.count)
            result.append(start == bytes.count ? 1 : 0)
            for half in [count, ~count] { result += [UInt8(truncatingIfNeeded: half), UInt8(half >> 8)] }
            result += block
        } while start < bytes.count
        return result
    }
}

#if canImport(Compression)
    extension Deflater {
        /// The system's Compression framework.
        static let system: Deflater? = Deflater { bytes in
            let capacity = bytes.count + bytes.count / 0xFFFF * 5 + 1_024
            let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                guard let base = buffer.baseAddress else { return }
                count = compression_encode_buffer(base, capacity, bytes, bytes.count, nil, COMPRESSION_ZLIB)
            }
            return result.isEmpty ? nil : result
        }
    }
#else
    extension Deflater {
        // These functions take no structures and therefore need no header.
        private typealias Compress =
            @convention(c) (
                UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CUnsignedLong>, UnsafePointer<UInt8>, CUnsignedLong,
                CInt
            ) -> CInt
        private typealias Bound = @convention(c) (CUnsignedLong) -> CUnsignedLong
        private typealias Checksum =
            @convention(c) (CUnsignedLong, UnsafePointer<UInt8>?, CUnsignedInt) -> CUnsignedLong

        /// On batches of events, level 3 takes as long as level 1, and makes bodies 10 to 14 % longer than level 6, which
        /// takes three times as long.
        private static let level: CInt = 3

        #if canImport(Android)
            private static let libraryName = "libz.so"
        #else
            private static let libraryName = "libz.so.1"
        #endif

        /// The system's zlib, loaded on first use and never unloaded. Nil if the system has no zlib.
        static let system: Deflater? = {
            guard let library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL),
                let compressSymbol = dlsym(library, "compress2"), let boundSymbol = dlsym(library, "compressBound"),
                let checksumSymbol = dlsym(library, "crc32")
            else { return nil }
            let compress = unsafeBitCast(compressSymbol, to: Compress.self)
            let bound = unsafeBitCast(boundSymbol, to: Bound.self)
            let checksum = unsafeBitCast(checksumSymbol, to: Checksum.self)
            let deflate = { @Sendable (bytes: [UInt8]) -> [UInt8]? in
                var count = bound(CUnsignedLong(bytes.count))
                var isDone = false
                let stream = [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, initialized in
                    isDone = compress(buffer.baseAddress, &count, bytes, CUnsignedLong(bytes.count), level) == 0
                    initialized = isDone ? Int(count) : 0
                }
                // Remove zlib's header of 2 bytes and its checksum of 4.
                guard isDone, stream.count > 6 else { return nil }
                return Array(stream[2..<stream.count - 4])
            }
            return Deflater(deflate: deflate) { bytes in
                // Bodies have at most a few megabytes.
                UInt32(truncatingIfNeeded: checksum(0, bytes, CUnsignedInt(clamping: bytes.count)))
            }
        }()
    }
#endif
