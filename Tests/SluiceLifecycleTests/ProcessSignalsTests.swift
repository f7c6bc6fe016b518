import SluiceLibC
import SluiceLifecycle
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// The end of a server or a tool. The tests use signals that no other test uses.
@Suite(.serialized) struct ProcessSignalsTests {
    @Test("a process reports its start, and at a signal its end, and sends waiting events")
    func processReportsStartAndEnd() async throws {
        let test = try TestPipeline { LifecycleEvents() }
        let number = await withCheckedContinuation { continuation in
            let signals = Locked<ProcessSignals?>(nil)
            // Without the timer, whose time is not virtual: a busy machine can keep the tasks waiting for minutes.
            let made = ProcessSignals(to: [test.pipeline], on: [SIGUSR2], timeout: .seconds(5), after: { _, _ in }) {
                signals.withLock { $0 = nil }
                continuation.resume(returning: $0)
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

    @Test(
        "a signal to the child of a fork ends the child, and not the parent",
        .disabled(if: ForkedChild.isUnsafe, "it runs no handler in the child of a process that had threads"))
    func signalEndsOnlyForkedChild() throws {
        let test = try TestPipeline { LifecycleEvents() }
        let ended = Locked(false)
        let signals = ProcessSignals(to: test.pipeline, on: [SIGUSR2]) { _ in ended.withLock { $0 = true } }
        var none = sigset_t()
        sigemptyset(&none)
        let child = try ForkedChild.begin()
        if child == 0 {
            // Tests run on threads that let no signal through. An alarm, in case that the signal does not end it.
            sigprocmask(SIG_SETMASK, &none, nil)
            alarm(600)
            while true { pause() }
        }
        kill(child, SIGUSR2)
        var status: Int32 = 0
        waitpid(child, &status, 0)
        #expect(status & 0x7F == SIGUSR2)
        #expect(!ended.withLock { $0 })
        withExtendedLifetime(signals) {}
    }

    @Test("a receiver that hangs delays the end no longer than the deadline")
    func hangingReceiverIsCutOffAtDeadline() async throws {
        let time = VirtualTime()
        let transport = HangingTransport()
        let pipeline = try pipeline(time, transport)
        let ended = Locked(false)
        // Without the timer, whose time is not virtual.
        let signals = ProcessSignals(to: [pipeline], on: [SIGUSR2], timeout: .seconds(5), after: { _, _ in }) { _ in
            ended.withLock { $0 = true }
            transport.release()
        }
        kill(getpid(), SIGUSR2)
        await time.waitForSleeper(within: .seconds(5)...(.seconds(5)))
        #expect(!ended.withLock { $0 })
        time.advance(by: .seconds(5))
        await transport.isReleased()
        #expect(ended.withLock { $0 })
        #expect(pipeline.ledger.routes[0].waiting == 2)
        _ = signals
    }

    @Test("the process ends by the deadline even if no task runs", arguments: [0, 1])
    func deadlineHoldsWithBlockedPool(milliseconds: Int) async throws {
        // Virtual time stands still, so no task can end.
        let time = VirtualTime()
        let transport = HangingTransport()
        let pipeline = try pipeline(time, transport)
        let ends = Locked<[Int32]>([])
        let signals = ProcessSignals(to: pipeline, on: [SIGUSR2], timeout: .milliseconds(milliseconds)) { number in
            ends.withLock { $0.append(number) }
            transport.release()
        }
        kill(getpid(), SIGUSR2)
        await transport.isReleased()
        #expect(ends.withLock { $0 } == [SIGUSR2])
        withExtendedLifetime(signals) {}
    }

    @Test("the timer gets the deadline; a second signal ends immediately, and only once")
    func secondSignalEndsImmediately() async throws {
        let time = VirtualTime()
        let transport = HangingTransport()
        let pipeline = try pipeline(time, transport)
        let timer = Locked<(Duration, @Sendable () -> Void)?>(nil)
        let (started, starting) = AsyncStream<Void>.makeStream()
        let ends = Locked(0)
        let signals = ProcessSignals(
            to: [pipeline], on: [SIGUSR2], timeout: .seconds(7),
            after: { duration, body in
                timer.withLock { $0 = (duration, body) }
                starting.finish()
            },
            then: { _ in
                ends.withLock { $0 += 1 }
                transport.release()
            })
        kill(getpid(), SIGUSR2)
        for await _ in started {}
        #expect(ends.withLock { $0 } == 0)
        kill(getpid(), SIGUSR2)
        await transport.isReleased()
        let (duration, body) = try #require(timer.withLock { $0 })
        body()
        #expect(duration == .seconds(7))
        #expect(ends.withLock { $0 } == 1)
        withExtendedLifetime(signals) {}
    }

    @Test("a signal that the process ignored before stays ignored")
    func ignoredSignalStaysIgnored() async throws {
        func disposition() -> Int {
            let handler = signal(SIGUSR2, SIG_IGN)
            signal(SIGUSR2, handler)
            return unsafeBitCast(handler, to: Int.self)
        }
        signal(SIGUSR2, SIG_IGN)
        defer { signal(SIGUSR2, SIG_DFL) }
        let ignoring = disposition()
        let test = try TestPipeline { LifecycleEvents() }
        let heard: [Int32] = await withCheckedContinuation { continuation in
            let held = Locked<ProcessSignals?>(nil)
            let made = ProcessSignals(to: test.pipeline, on: [SIGUSR2, SIGWINCH]) { number in
                held.withLock { $0 = nil }
                continuation.resume(returning: [number])
            }
            held.withLock { $0 = made }
            kill(getpid(), SIGUSR2)
            kill(getpid(), SIGWINCH)
        }
        #expect(heard == [SIGWINCH])
        #expect(disposition() == ignoring)
        _ = await test.events()
    }

    private func pipeline(_ time: VirtualTime, _ transport: HangingTransport) throws -> Pipeline {
        try Pipeline(environment: PipelineEnvironment(time: time)) {
            LifecycleEvents()
            MemoryStore()
            transport
        }
    }

    /// Never responds. Tests wait until the process would have ended.
    private final class HangingTransport: Transport {
        private let (stream, continuation) = AsyncStream<Void>.makeStream()

        func release() { continuation.finish() }
        func isReleased() async { for await _ in stream {} }

        func send(_ batch: Batch) async throws -> Verdicts {
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return .all(.accepted)
        }
    }
}
