import Sluice
import SluiceTesting
import TestSupport
import Testing

/// How the processors of a pipeline finish when it is shut down.
@Suite struct FinishTests {
    /// Tracks an event when it finishes.
    final class Farewell: Processor {
        let context = PluginContext()
        private let name: String
        private let body: @Sendable () async -> Void

        init(_ name: String, _ body: @escaping @Sendable () async -> Void = {}) {
            self.name = name
            self.body = body
        }

        func process(_ event: inout Event) -> Disposition { .keep }

        func finish() async {
            context.track(name)
            await body()
        }
    }

    /// A processor that opens `hasBegun` when it finishes, and waits for `gate`.
    private static func hanging(_ hasBegun: Gate, until gate: Gate) -> Farewell {
        Farewell("only") {
            hasBegun.open()
            await gate.wait()
        }
    }

    @Test("events that processors track when they finish are delivered, from the last line to the first")
    func lastEventsAreDelivered() async throws {
        let transport = ScriptedTransport()
        let pipeline = try Pipeline.with(
            Farewell("first"), Farewell("second"), to: transport, environment: Bench.environment(VirtualTime()))
        pipeline.track("Event")
        let ledger = await pipeline.shutdown()
        #expect(try transport.accepted().map(\.name) == ["Event", "second", "first"])
        #expect(ledger.isBalanced && ledger.tracked == 3)
    }

    @Test("a second shutdown waits for the first one, and processors finish once")
    func processorsFinishOnce() async throws {
        let (gate, transport) = (Gate(), ScriptedTransport())
        let hasBegun = Gate()
        let pipeline = try Pipeline.with(
            Self.hanging(hasBegun, until: gate), to: transport, environment: Bench.environment(VirtualTime()))
        async let first = pipeline.shutdown()
        await hasBegun.wait()
        async let second = pipeline.shutdown()
        gate.open()
        #expect(await first == second)
        await pipeline.shutdown()
        #expect(try transport.accepted().map(\.name) == ["only"])
    }

    @Test("a processor that never finishes takes half of the time, and is named; the rest is sent")
    func hangingProcessorTakesHalfOfTheTime() async throws {
        let (gate, hasBegun) = (Gate(), Gate())
        let bench = try Bench(processor: Self.hanging(hasBegun, until: gate))
        let pipeline = bench.pipeline
        async let ledger = pipeline.shutdown(timeout: .seconds(4))
        await hasBegun.wait()
        await bench.time.waitForSleeper(within: .seconds(2)...(.seconds(2)))
        #expect(try bench.transport.accepted().isEmpty)
        bench.time.advance(by: .seconds(2))
        #expect(await ledger.isBalanced)
        #expect(try bench.transport.accepted().map(\.name) == ["only"])
        #expect(bench.time.continuousTime() == .seconds(2))
        // It is reported after the shutdown has gone on.
        while bench.diagnostics.allSatisfy({ $0.kind != .plugin }) { await Task.yield() }
        let said = bench.diagnostics.filter { $0.kind == .plugin }.map(\.message)
        #expect(said.count == 1 && said[0].hasPrefix("Farewell: finish() has not returned"))
        gate.open()
    }

    @Test("while a processor hangs, the shutdown with less time ends the wait of both")
    func nearestEndDecides() async throws {
        for times in [[40, 4], [4, 40]] {
            let (gate, hasBegun) = (Gate(), Gate())
            let bench = try Bench(processor: Self.hanging(hasBegun, until: gate))
            let pipeline = bench.pipeline
            async let first = pipeline.shutdown(timeout: .seconds(times[0]))
            await hasBegun.wait()
            async let second = pipeline.shutdown(timeout: .seconds(times[1]))
            for time in times { await bench.time.waitForSleeper(within: .seconds(time / 2)...(.seconds(time / 2))) }
            bench.time.advance(by: .seconds(2))
            #expect(await first == second)
            #expect(bench.time.continuousTime() == .seconds(2))
            gate.open()
        }
    }

    @Test("a processor of one route that hangs doesn't keep another route's from finishing")
    func hangingProcessorOfOneRouteHarmsNoOther() async throws {
        let (gate, time) = (Gate(), VirtualTime())
        let (sharedIsDone, freeIsDone) = (Gate(), Gate())
        let (stuck, free) = (ScriptedTransport(), ScriptedTransport())
        let pipeline = try Pipeline(environment: Bench.environment(time)) {
            Farewell("shared") { sharedIsDone.open() }
            Route("stuck", Farewell("above"), Farewell("hanging") { await gate.wait() }, to: stuck)
            Route("free", Farewell("free") { freeIsDone.open() }, to: free)
        }
        async let ledger = pipeline.shutdown(timeout: .seconds(4))
        await time.waitForSleeper(within: .seconds(2)...(.seconds(2)))
        await sharedIsDone.wait()
        await freeIsDone.wait()
        time.advance(by: .seconds(2))
        _ = await ledger
        #expect(try Set(free.accepted().map(\.name)).isSuperset(of: ["shared", "free"]))
        #expect(try !stuck.accepted().map(\.name).contains("above"))
        gate.open()
    }

    @Test("without any time, a shutdown waits for no processor")
    func zeroDeadlineWaitsForNone() async throws {
        let gate = Gate()
        let bench = try Bench(processor: Farewell("only") { await gate.wait() })
        await bench.pipeline.shutdown(timeout: .zero)
        #expect(bench.diagnostics.allSatisfy { $0.kind != .plugin })
        gate.open()
    }
}
