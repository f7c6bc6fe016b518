import Sluice
import SluiceLifecycle
import SluiceMemory
import SluiceTesting
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The end of a server or a tool. With signals that nothing else in a test uses.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ProcessSignalsTests {
    @Test("a process starts at once, and at a signal ends and sends what waits")
    func processStartsAt() async throws {
        let test = try TestPipeline { LifecycleEvents() }
        let number = await withCheckedContinuation { continuation in
            let signals = Locked<ProcessSignals?>(nil)
            let made = ProcessSignals(to: test.pipeline, on: [SIGUSR2]) { number in
                signals.withLock { $0 = nil }
                continuation.resume(returning: number)
            }
            signals.withLock { $0 = made }
            test.pipeline.track("Served")
            kill(getpid(), SIGUSR2)
        }
        #expect(number == SIGUSR2)
        #expect(test.pipeline.ledger.routes[0].delivered == 3)
        test.pipeline.track("Too late")
        #expect(test.pipeline.ledger.dropped == [.shutDown: 1])
        #expect(await test.events().map(\.name) == ["$AppStart", "Served", "$AppEnd"])
    }

    private static let isUnderThreadSanitizer = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "__tsan_init") != nil

    @Test(
        "a signal to the child of a fork ends the child, and not the parent",
        .disabled(if: isUnderThreadSanitizer, "it runs no handler in the child of a process that had threads"))
    func childOfFork() throws {
        let test = try TestPipeline { LifecycleEvents() }
        let ended = Locked(false)
        let signals = ProcessSignals(to: test.pipeline, on: [SIGUSR2]) { _ in ended.withLock { $0 = true } }
        // Swift forbids to call it by its name.
        let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
        var none = sigset_t()
        sigemptyset(&none)
        let child = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
        if child == 0 {
            // Tests run on threads that let no signal through. An alarm, in case that the signal does not end it.
            sigprocmask(SIG_SETMASK, &none, nil)
            alarm(5)
            while true { pause() }
        }
        try #require(child > 0)
        kill(child, SIGUSR2)
        var status: Int32 = 0
        waitpid(child, &status, 0)
        #expect(status & 0x7F == SIGUSR2)
        #expect(!ended.withLock { $0 })
        withExtendedLifetime(signals) {}
    }

    @Test("a receiver that hangs delays the end no longer than the deadline")
    func receiverHangsDelays() async throws {
        let time = VirtualTime()
        let transport = HangingTransport()
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            LifecycleEvents()
            MemoryStore()
            transport
        }
        let ended = Locked(false)
        let signals = ProcessSignals(to: pipeline, on: [SIGUSR2], deadline: .seconds(5)) { _ in
            ended.withLock { $0 = true }
            transport.letGo()
        }
        kill(getpid(), SIGUSR2)
        await time.waitForSleeper(within: .seconds(5)...(.seconds(5)))
        #expect(!ended.withLock { $0 })
        time.advance(by: .seconds(5))
        await transport.isLetGo()
        #expect(ended.withLock { $0 })
        #expect(pipeline.ledger.routes[0].waiting == 2)
        _ = signals
    }

    /// Answers nothing until it is let go.
    private final class HangingTransport: Transport {
        private let (stream, continuation) = AsyncStream<Void>.makeStream()

        func letGo() { continuation.finish() }
        func isLetGo() async { for await _ in stream {} }

        func send(_ batch: Batch) async throws -> Verdicts {
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return .all(.accepted)
        }
    }
}
