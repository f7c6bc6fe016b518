#if canImport(Compression)
    import Compression
#else
    import SluiceLibC
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
        /// The system's zlib, loaded on first use and never unloaded. Nil if the system has no zlib.
        static let system: Deflater? = ZLib().map { zlib in
            Deflater(deflate: { zlib.deflate($0) }, crc32: { zlib.crc32($0) })
        }
    }

    /// The functions of zlib.
    private struct ZLib: Sendable {
        #if canImport(Android)
            private static let libraryName = "libz.so"
        #else
            private static let libraryName = "libz.so.1"
        #endif

        /// The compression level: as fast as level 1 on batches of events. Level 6 makes shorter bodies, but is slow.
        private static let level: CInt = 3

        /// The `z_stream` of zlib.h.
        private struct Stream {
            var nextInput: UnsafePointer<UInt8>?
            var availableInput: CUnsignedInt
            var totalInput: CUnsignedLong = 0
            var nextOutput: UnsafeMutablePointer<UInt8>?
            var availableOutput: CUnsignedInt
            var totalOutput: CUnsignedLong = 0
            var message: UnsafePointer<CChar>?
            var state: OpaquePointer?
            var allocate: OpaquePointer?
            var free: OpaquePointer?
            var opaque: OpaquePointer?
            var dataType: CInt = 0
            var checksum: CUnsignedLong = 0
            var reserved: CUnsignedLong = 0
        }

        // `Stream` isn't a type of C, so a raw pointer represents its address.
        private typealias Initialize =
            @convention(c) (
                UnsafeMutableRawPointer, CInt, CInt, CInt, CInt, CInt, UnsafePointer<CChar>, CInt
            ) -> CInt
        private typealias Deflate = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
        private typealias End = @convention(c) (UnsafeMutableRawPointer) -> CInt
        private typealias Bound = @convention(c) (CUnsignedLong) -> CUnsignedLong
        private typealias Checksum =
            @convention(c) (CUnsignedLong, UnsafePointer<UInt8>?, CUnsignedInt) -> CUnsignedLong

        private let initialize: Initialize
        private let deflate: Deflate
        private let end: End
        private let bound: Bound
        private let checksum: Checksum

        init?() {
            guard let library = dlopen(ZLib.libraryName, RTLD_NOW | RTLD_LOCAL),
                let initialize = dlsym(library, "deflateInit2_"), let deflate = dlsym(library, "deflate"),
                let end = dlsym(library, "deflateEnd"), let bound = dlsym(library, "compressBound"),
                let checksum = dlsym(library, "crc32")
            else { return nil }
            self.initialize = unsafeBitCast(initialize, to: Initialize.self)
            self.deflate = unsafeBitCast(deflate, to: Deflate.self)
            self.end = unsafeBitCast(end, to: End.self)
            self.bound = unsafeBitCast(bound, to: Bound.self)
            self.checksum = unsafeBitCast(checksum, to: Checksum.self)
        }

        // Bodies have at most a few megabytes.
        func crc32(_ bytes: [UInt8]) -> UInt32 {
            UInt32(truncatingIfNeeded: checksum(0, bytes, CUnsignedInt(clamping: bytes.count)))
        }

        func deflate(_ bytes: [UInt8]) -> [UInt8]? {
            guard bytes.count < CInt.max / 2 else { return nil }
            let capacity = Int(bound(CUnsignedLong(bytes.count)))
            let result = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
                count = bytes.withUnsafeBufferPointer { deflate($0, to: output) }
            }
            return result.isEmpty ? nil : result
        }

        /// Returns the length of the result, and 0 if there is not enough memory.
        private func deflate(
            _ input: UnsafeBufferPointer<UInt8>, to output: UnsafeMutableBufferPointer<UInt8>
        ) -> Int {
            var stream = Stream(
                nextInput: input.baseAddress, availableInput: CUnsignedInt(input.count),
                nextOutput: output.baseAddress, availableOutput: CUnsignedInt(output.count))
            // zlib notices if the structure moves between two calls.
            return withUnsafeMutablePointer(to: &stream) { stream in
                // Method 8 is DEFLATE. A negative window means no header and no checksum, because gzip has its own. 8 and 0
                // are the default memory and strategy. zlib compares the size with its own.
                let size = CInt(MemoryLayout<Stream>.size)
                guard initialize(stream, ZLib.level, 8, -15, 8, 0, "1.2.0", size) == 0 else { return 0 }
                defer { _ = end(stream) }
                // 4: this is all of the input. 1: the end of the result has been written.
                guard deflate(stream, 4) == 1 else { return 0 }
                return output.count - Int(stream.pointee.availableOutput)
            }
        }
    }
#endif
