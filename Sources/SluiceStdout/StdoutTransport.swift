public import Sluice

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
/// whole batch is written once more later.
///
/// A write to a full pipe waits on a thread of this transport until its reader continues. A cancelled send returns
/// immediately. A write that has begun continues, and the next batch is written after it, so lines never mix.
public struct StdoutTransport: Transport {
    private let output: Output

    /// Creates a transport for an open file descriptor, which you close yourself. 1 is standard output.
    ///
    /// ```swift
    /// let transport = StdoutTransport(descriptor: 2)  // Standard error.
    /// ```
    public init(descriptor: Int32 = 1) {
        output = Output(descriptor)
    }

    /// Duplicates the descriptor for the lifetime of the transport.
    ///
    /// Events go to the file that the descriptor refers to now, even if you close the descriptor or redirect it later.
    /// If its number is reused for another file, nothing is written to that file.
    ///
    /// - Parameters:
    ///   - observer: Gets no messages.
    ///   - environment: Isn't used.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the descriptor isn't open for writing.
    public func open(
        _ observer: TransportObserver = TransportObserver(), in environment: PipelineEnvironment = PipelineEnvironment()
    ) throws(SluiceError) {
        _ = try output.opened()
    }

    /// Writes a batch. Throws if it can't be written completely.
    public func send(_ batch: Batch) async throws -> Verdicts {
        var lines: [UInt8] = []
        lines.reserveCapacity(batch.events.reduce(0) { $0 + $1.bytes.count + 1 })
        for line in batch.events {
            lines += line.bytes
            lines.append(UInt8(ascii: "\n"))
        }
        try await output.append(lines)
        return .all(.accepted)
    }
}
