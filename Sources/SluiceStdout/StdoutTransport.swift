public import Sluice

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// Writes each event as a line of JSON to standard output, or to another file descriptor: for development, for
/// pipes into other programs, and for servers whose platform collects what they print.
///
/// A batch is accepted when all of it was written. When the write fails in mid batch, as into a closed pipe, the
/// whole batch is kept and written again later. Writing to a pipe that nobody reads from waits, as any write does.
public struct StdoutTransport: Transport {
    // Locked, since the lines of two batches in flight must not get into each other.
    private let descriptor: Locked<Int32>

    /// - Parameter descriptor: an open file descriptor, which stays the caller's: 1, standard output, by default.
    public init(descriptor: Int32 = 1) {
        self.descriptor = Locked(descriptor)
    }

    public func send(_ batch: Batch) async throws -> Verdicts {
        var output: [UInt8] = []
        output.reserveCapacity(batch.events.reduce(0) { $0 + $1.bytes.count + 1 })
        for line in batch.events {
            output += line.bytes
            output.append(UInt8(ascii: "\n"))
        }
        try descriptor.withLock { (descriptor) throws(SluiceError) in try write(output, to: descriptor) }
        return .all(.accepted)
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) throws(SluiceError) {
        // What the host has printed before comes first.
        if descriptor == 1 { fflush(nil) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw SluiceError(.inputOutput, "file descriptor \(descriptor) takes no more: errno \(errno)")
            }
        }
    }
}

// The method above would shadow the function of the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
