import Dispatch
import Sluice
// The C library's `stdout` is a variable, which nothing changes.
@preconcurrency import SluiceLibC

/// A file with its own queue for writes, because a reader can block a write for as long as it likes.
final class Output: Sendable {
    private struct State {
        /// This object's own duplicate of the descriptor.
        var duplicate: Int32?
        /// Whether the last write failed in the middle of a line.
        var endsWithinLine = false
    }

    private let descriptor: Int32
    private let state = Locked(State())
    private let queue = DispatchQueue(label: "Sluice.StdoutTransport")

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        // A write that hangs retains this output.
        if let duplicate = state.withLock(\.duplicate) { close(duplicate) }
    }

    func opened() throws(SluiceError) -> Int32 {
        try state.withLock { (state) throws(SluiceError) in
            if let duplicate = state.duplicate { return duplicate }
            // Never one of the standard descriptors, because other code relies on their numbers.
            let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
            let error = errno
            // musl's O_ACCMODE is a macro that Swift can't read.
            let isForWriting = duplicate >= 0 && fcntl(duplicate, F_GETFL) & (O_WRONLY | O_RDWR) != 0
            guard isForWriting, hasReaders(duplicate) else {
                if duplicate >= 0 { close(duplicate) }
                let reason = duplicate >= 0 || error == EBADF ? "isn't open for writing" : "has errno \(error)"
                throw SluiceError(
                    .invalidArgument, "file descriptor \(descriptor) \(reason); pass one that is open for writing")
            }
            state.duplicate = duplicate
            return duplicate
        }
    }

    /// Writes bytes that end with a newline, after the bytes of earlier calls.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled. A write that has begun continues to its end.
    ///   Other bytes aren't written.
    func append(_ lines: [UInt8]) async throws {
        let duplicate = try opened()
        try Task.checkCancellation()
        let (results, continuation) = AsyncThrowingStream.makeStream(of: Void.self)
        let waiting = Locked<[UInt8]?>(lines)
        continuation.onTermination = { _ in waiting.withLock { $0 = nil } }
        queue.async { [self] in
            guard let lines = waiting.withLock(\.self) else { return }
            continuation.yield(with: Result { try writeNow(lines, to: duplicate) })
        }
        for try await _ in results { return }
        // The stream ends only when the task is cancelled.
        throw CancellationError()
    }

    /// Writes on the queue.
    private func writeNow(_ lines: [UInt8], to duplicate: Int32) throws(SluiceError) {
        // Output that the host printed before must come first.
        if descriptor == STDOUT_FILENO { fflush(stdout) }
        if state.withLock(\.endsWithinLine) { try writeAll([UInt8(ascii: "\n")], to: duplicate) }
        state.withLock { $0.endsWithinLine = false }
        try writeAll(lines, to: duplicate)
    }

    private func writeAll(_ bytes: [UInt8], to duplicate: Int32) throws(SluiceError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(duplicate, $0.baseAddress, $0.count) }
            let error = errno
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if error == EAGAIN {
                // Another process that shares the file may have made it non-blocking.
                var entry = pollfd(fd: duplicate, events: Int16(POLLOUT), revents: 0)
                poll(&entry, 1, -1)
            } else if error != EINTR {
                let endsWithinLine = rest.startIndex > 0 && bytes[rest.startIndex - 1] != UInt8(ascii: "\n")
                if rest.startIndex > 0 { state.withLock { $0.endsWithinLine = endsWithinLine } }
                throw SluiceError(.inputOutput, "file descriptor \(descriptor) can't be written: errno \(error)")
            }
        }
    }
}

/// Whether a reader can receive the bytes that are written to the descriptor. In a host that has closed its standard
/// output, the system's libraries may use its number for an event queue.
private func hasReaders(_ descriptor: Int32) -> Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return false }
    return [S_IFREG, S_IFCHR, S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
}
