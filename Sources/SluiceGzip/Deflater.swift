#if canImport(Compression)
    import Compression
#else
    import SluiceLibC
#endif

/// Compresses bytes into raw DEFLATE streams (RFC 1951). Equal pieces become equal streams.
package struct Deflater: Sendable {
    /// Takes the next piece of the bytes, and returns the next piece of the stream, which can be empty. Nil if there is not enough
    /// memory.
    package typealias Stream = (_ piece: ArraySlice<UInt8>, _ isLast: Bool) -> [UInt8]?

    /// Begins a stream.
    package let begin: @Sendable () -> Stream
    /// The CRC-32 of RFC 1952 of further bytes, after that of the bytes before them, or 0.
    package let crc32: @Sendable (_ piece: ArraySlice<UInt8>, _ crc: UInt32) -> UInt32

    package init(
        begin: @escaping @Sendable () -> Stream,
        crc32: @escaping @Sendable (_ piece: ArraySlice<UInt8>, _ crc: UInt32) -> UInt32 = { $0.crc32(after: $1) }
    ) {
        self.begin = begin
        self.crc32 = crc32
    }

    /// Creates a deflater that compresses all pieces at the end. `deflate` returns nil if there is not enough memory.
    package init(deflate: @escaping @Sendable ([UInt8]) -> [UInt8]?) {
        self.init(begin: {
            var bytes: [UInt8] = []
            return { piece, isLast in
                bytes += piece
                return isLast ? deflate(bytes) : []
            }
        })
    }
}

#if canImport(Compression)
    extension Deflater {
        /// The system's Compression framework, which doesn't compute the checksum.
        package static let system: Deflater? = Deflater { bytes in
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
        package static let system: Deflater? = ZLib().map { Deflater(begin: $0.begin, crc32: $0.crc32) }
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
            var availableInput: CUnsignedInt = 0
            var totalInput: CUnsignedLong = 0
            var nextOutput: UnsafeMutablePointer<UInt8>?
            var availableOutput: CUnsignedInt = 0
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
        private let initialize:
            @convention(c) (UnsafeMutableRawPointer, CInt, CInt, CInt, CInt, CInt, UnsafePointer<CChar>, CInt) -> CInt
        private let deflate: @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
        private let end: @convention(c) (UnsafeMutableRawPointer) -> CInt
        private let bound: @convention(c) (CUnsignedLong) -> CUnsignedLong
        private let checksum: @convention(c) (CUnsignedLong, UnsafePointer<UInt8>?, CUnsignedInt) -> CUnsignedLong

        init?() {
            guard let library = dlopen(ZLib.libraryName, RTLD_NOW | RTLD_LOCAL),
                let initialize = dlsym(library, "deflateInit2_"), let deflate = dlsym(library, "deflate"),
                let end = dlsym(library, "deflateEnd"), let bound = dlsym(library, "compressBound"),
                let checksum = dlsym(library, "crc32")
            else { return nil }
            func function<Function>(_ symbol: UnsafeMutableRawPointer) -> Function {
                unsafeBitCast(symbol, to: Function.self)
            }
            self.initialize = function(initialize)
            self.deflate = function(deflate)
            self.end = function(end)
            self.bound = function(bound)
            self.checksum = function(checksum)
        }

        func crc32(_ piece: ArraySlice<UInt8>, _ crc: UInt32) -> UInt32 {
            piece.withUnsafeBufferPointer { piece in
                // Without bytes, it would return 0.
                guard let base = piece.baseAddress else { return crc }
                let sum = checksum(CUnsignedLong(crc), base, CUnsignedInt(clamping: piece.count))
                return UInt32(truncatingIfNeeded: sum)
            }
        }

        func begin() -> Deflater.Stream {
            let stream = DeflatedStream(self)
            return { piece, isLast in stream?.add(piece, isLast: isLast) }
        }

        /// A stream that is being compressed.
        final class DeflatedStream {
            private let zlib: ZLib
            // On the heap, because zlib notices if the structure moves.
            private let stream: UnsafeMutablePointer<Stream>

            /// Nil if there is not enough memory.
            init?(_ zlib: ZLib) {
                self.zlib = zlib
                stream = .allocate(capacity: 1)
                stream.initialize(to: Stream())
                // Method 8 is DEFLATE. A negative window means no header and no checksum, because gzip has its own. 8 and 0
                // are the default memory and strategy. zlib compares the size with its own.
                let size = CInt(MemoryLayout<Stream>.size)
                guard zlib.initialize(stream, ZLib.level, 8, -15, 8, 0, "1.2.0", size) == 0 else { return nil }
            }

            deinit {
                // It only returns an error if there was not enough memory to begin.
                _ = zlib.end(stream)
                stream.deallocate()
            }

            func add(_ piece: ArraySlice<UInt8>, isLast: Bool) -> [UInt8]? {
                guard piece.count < CInt.max / 2 else { return nil }
                let capacity = Int(zlib.bound(CUnsignedLong(piece.count)))
                return piece.withUnsafeBufferPointer { piece in
                    stream.pointee.nextInput = piece.baseAddress
                    stream.pointee.availableInput = CUnsignedInt(piece.count)
                    var result: [UInt8] = []
                    repeat {
                        // 4: the input ends here. 1: the end of the stream is written. -5: there was nothing to do.
                        var status: CInt = 0
                        let next = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
                            stream.pointee.nextOutput = output.baseAddress
                            stream.pointee.availableOutput = CUnsignedInt(output.count)
                            status = zlib.deflate(stream, isLast ? 4 : 0)
                            count = output.count - Int(stream.pointee.availableOutput)
                        }
                        result = result.isEmpty ? next : result + next
                        if isLast, status == 1 { return result }
                        guard status == 0 || status == -5 && !isLast else { return nil }
                    } while isLast || stream.pointee.availableOutput == 0
                    return result
                }
            }
        }
    }
#endif
