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

/// Writes each event as a line of JSON to standard output or another file descriptor.
///
/// Use it during development, to pipe events into another program, or on servers whose platform collects the output:
///
/// ```swift
/// let pipeline = try Pipeline {
///     MemoryStore()
///     StdoutTransport()
/// }
/// ```
///
/// A batch is accepted after it was written completely. If a write fails, for example because your pipe is closed, the
/// whole batch is written again later. A write to a full pipe blocks until its reader continues.
public struct StdoutTransport: Transport {
    // Locked, so that the lines of two batches in flight don't mix.
    private let descriptor: Locked<Int32>

    /// Creates a transport for an open file descriptor, which you close yourself. 1 is standard output.
    public init(descriptor: Int32 = 1) {
        self.descriptor = Locked(descriptor)
    }

    /// Writes a batch. Throws if it can't be written completely.
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
        // Output that the host printed before must come first.
        if descriptor == 1 { fflush(nil) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw SluiceError(.inputOutput, "file descriptor \(descriptor) can't be written: errno \(errno)")
            }
        }
    }
}

// The method above shadows the function with the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
