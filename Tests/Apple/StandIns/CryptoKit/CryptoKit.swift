import Foundation

/// A digest, as a sequence of its bytes.
public struct SHA256Digest: Sequence, Sendable {
    let bytes: [UInt8]
    public func makeIterator() -> IndexingIterator<[UInt8]> { bytes.makeIterator() }
}

/// SHA-256 of the system's OpenSSL, so it shares no code with the one for Linux.
public struct SHA256 {
    private typealias Function = @convention(c) (UnsafeRawPointer?, Int, UnsafeMutableRawPointer) -> UnsafeRawPointer?
    private static let function: Function? = {
        let names = ["libcrypto.so.3", "libcrypto.so.1.1"]
        guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW) }).first, let symbol = dlsym(library, "SHA256")
        else { return nil }
        return unsafeBitCast(symbol, to: Function.self)
    }()
    private var bytes: [UInt8] = []

    public init() {}

    public mutating func update(bufferPointer: UnsafeRawBufferPointer) { bytes += bufferPointer }

    public func finalize() -> SHA256Digest {
        var digest = [UInt8](repeating: 0, count: 32)
        precondition(SHA256.function?(bytes, bytes.count, &digest) != nil, "there is no libcrypto")
        return SHA256Digest(bytes: digest)
    }
}
