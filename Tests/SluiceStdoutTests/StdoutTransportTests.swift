import Foundation
import Sluice
import SluiceMemory
import SluiceStdout
import SluiceTesting
import TestSupport
import Testing

/// A pipe. Its reader runs on a thread of its own, because reading blocks too.
private final class TestPipe: Sendable {
    private let pipe = Pipe()

    init() {
        // A test ends its reader while a write still waits for it.
        signal(SIGPIPE, SIG_IGN)
    }

    var descriptor: Int32 { pipe.fileHandleForWriting.fileDescriptor }

    /// Waits for the first byte, which shows that a write has begun.
    func first() async -> [UInt8] { await read(1) }

    /// Waits for this many bytes.
    func read(_ count: Int) async -> [UInt8] {
        let (bytes, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let reader = pipe.fileHandleForReading
        Thread.detachNewThread {
            var bytes = [UInt8](repeating: 0, count: count)
            var end = 0
            while end < count {
                let more = bytes.withUnsafeMutableBytes { buffer in
                    Foundation.read(reader.fileDescriptor, buffer.baseAddress.map { $0 + end }, count - end)
                }
                guard more > 0 else { break }
                end += more
            }
            continuation.yield(Array(bytes[..<end]))
        }
        for await bytes in bytes { return bytes }
        return []
    }
}

@Suite("StdoutTransport")
struct StdoutTransportTests {
    /// A batch of 1.2 MB, which fits into no pipe, or of a few bytes.
    private func batch(_ letter: Character, isLarge: Bool = false) -> Batch {
        let line = Array("{\"\(String(repeating: letter, count: isLarge ? 5_993 : 3))\":1}".utf8)
        return Batch(
            id: 1,
            events: Array(repeating: EventLine(bytes: line[...], priority: .normal), count: isLarge ? 200 : 2))
    }

    private func text(_ batches: Batch...) -> [UInt8] {
        batches.flatMap { $0.events.flatMap { $0.bytes + [UInt8(ascii: "\n")] } }
    }

    @Test("writes that wait for readers leave the threads of Swift concurrency free")
    func hangingWritesLeaveThreadsFree() async throws {
        let pipes = (0..<ProcessInfo.processInfo.activeProcessorCount * 2 + 2).map { _ in TestPipe() }
        let sends = pipes.map { pipe in
            let transport = StdoutTransport(descriptor: pipe.descriptor)
            return Task { try await transport.send(batch("a", isLarge: true)) }
        }
        for pipe in pipes { #expect(await pipe.first() == [UInt8(ascii: "{")]) }
        for send in sends { send.cancel() }
        for send in sends { await #expect(throws: CancellationError.self) { try await send.value } }
        let whole = text(batch("a", isLarge: true))
        for pipe in pipes { #expect(await pipe.read(whole.count - 1) == Array(whole.dropFirst())) }
    }

    @Test("a shutdown doesn't wait for a reader that doesn't read")
    func shutdownDoesNotWaitForReader() async throws {
        let pipes = (0..<4).map { _ in TestPipe() }
        let pipelines = try pipes.map { pipe in
            try Pipeline {
                MemoryStore()
                StdoutTransport(descriptor: pipe.descriptor)
            }
        }
        for (pipeline, pipe) in zip(pipelines, pipes) {
            for _ in 0..<4 { pipeline.track("Event", ["text": .string(String(repeating: "x", count: 60_000))]) }
            Task { await pipeline.flush() }
            _ = await pipe.first()
        }
        for pipeline in pipelines {
            #expect(await pipeline.shutdown(timeout: .milliseconds(1)).isBalanced)
        }
    }

    @Test("a cancelled write is finished, and later batches follow it without a mix")
    func cancelledWriteIsFinished() async throws {
        let pipe = TestPipe()
        let transport = StdoutTransport(descriptor: pipe.descriptor)
        let hanging = Task { try await transport.send(batch("a", isLarge: true)) }
        #expect(await pipe.first() == [UInt8(ascii: "{")])
        let queued = Task { try await transport.send(batch("b")) }
        for send in [queued, hanging] {
            send.cancel()
            await #expect(throws: CancellationError.self) { try await send.value }
        }
        let last = Task { try await transport.send(batch("c")) }
        let expected = text(batch("a", isLarge: true), batch("c"))
        #expect(await pipe.read(expected.count - 1) == Array(expected.dropFirst()))
        #expect(try await last.value == .all(.accepted))
    }

    @Test("a batch after a write that broke off begins with a line of its own")
    func brokenLineIsEnded() async throws {
        signal(SIGPIPE, SIG_IGN)
        let directory = TemporaryDirectory()
        let path = directory.path + "/fifo"
        #expect(mkfifo(path, 0o600) == 0)
        func reader() -> FileHandle {
            FileHandle(fileDescriptor: open(path, O_RDONLY | O_NONBLOCK), closeOnDealloc: true)
        }
        var readers = [reader()]
        let writer = FileHandle(fileDescriptor: open(path, O_WRONLY), closeOnDealloc: true)
        let transport = StdoutTransport(descriptor: writer.fileDescriptor)
        try transport.open(in: PipelineEnvironment())
        let broken = Task { try await transport.send(batch("a", isLarge: true)) }
        var entry = pollfd(fd: readers[0].fileDescriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, 0) == 0 { await Task.yield() }
        readers = []
        let error = await #expect(throws: SluiceError.self) { try await broken.value }
        #expect(error?.code == .inputOutput)

        readers = [reader()]
        let sending = Task { try await transport.send(batch("b")) }
        let expected = text(batch("b"))
        var read: [UInt8] = []
        while !read.suffix(expected.count).elementsEqual(expected) {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = Foundation.read(readers[0].fileDescriptor, &bytes, bytes.count)
            if count > 0 { read += bytes[..<count] } else { await Task.yield() }
        }
        #expect(read.dropLast(expected.count).last == UInt8(ascii: "\n"))
        #expect(try await sending.value == .all(.accepted))
    }

    @Test("a descriptor that is reused for another file isn't written to")
    func reusedDescriptorIsNotWritten() async throws {
        let directory = TemporaryDirectory()
        let flags = O_WRONLY | O_CREAT
        let descriptor = open(directory.path + "/output", flags, 0o600)
        let transport = StdoutTransport(descriptor: descriptor)
        try transport.open(in: PipelineEnvironment())
        let other = open(directory.path + "/other", flags, 0o600)
        dup2(other, descriptor)
        #expect(try await transport.send(batch("a")) == .all(.accepted))
        for descriptor in [other, descriptor] { close(descriptor) }
        #expect(try await transport.send(batch("b")) == .all(.accepted))
        #expect(FileManager.default.contents(atPath: directory.path + "/other") == Data())
        #expect(
            FileManager.default.contents(atPath: directory.path + "/output") == Data(text(batch("a"), batch("b"))))
    }

    @Test("a pipeline isn't built with a descriptor that isn't open for writing", arguments: [false, true])
    func wrongDescriptorIsRefused(isOpen: Bool) throws {
        let null = try #require(FileHandle(forReadingAtPath: "/dev/null"))
        let error = #expect(throws: SluiceError.self) {
            try Pipeline {
                MemoryStore()
                StdoutTransport(descriptor: isOpen ? null.fileDescriptor : -1)
            }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("isn't open for writing") == true)
    }

    #if os(Linux)
        @Test("a pipeline isn't built with the number of an event queue, which a closed standard output leaves free")
        func eventQueueIsRefused() throws {
            // Swift doesn't import this function.
            let symbol = try #require(dlsym(nil, "epoll_create1"))
            let queue = unsafeBitCast(symbol, to: (@convention(c) (CInt) -> CInt).self)(0)
            defer { close(queue) }
            let error = #expect(throws: SluiceError.self) {
                try StdoutTransport(descriptor: queue).open(in: PipelineEnvironment())
            }
            #expect(error?.code == .invalidArgument)
        }
    #endif
}
