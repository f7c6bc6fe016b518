import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// A failure in one route does not affect another.
@Suite struct RouteIsolationTests {
    static let broken = SluiceError(.inputOutput, "broken")

    static let failures: [(name: String, steps: ScriptedTransport.Step)] = [
        ("hangs", .hang), ("fails", .failure(broken)), ("retries", .answer(.all(.retry(after: .seconds(60))))),
        ("holds", .answer(.all(.hold(reason: "no")))), ("refuses", .answer(.all(.split(reason: "no")))),
        ("miscounts", .answer(.each(Array(repeating: .accepted, count: 21)))),
    ]

    @Test("a bad transport does not delay the route beside it", arguments: 0..<failures.count)
    func badTransportDelaysNoOtherRoute(
        index: Int
    ) async throws {
        let time = VirtualTime()
        let bad = ScriptedTransport(then: Self.failures[index].steps)
        let good = ScriptedTransport()
        let policy = DeliveryPolicy(flushCount: 1)
        let pipeline = try Pipeline(delivery: policy, environment: Bench.environment(time)) {
            Route("bad", to: bad)
            Route("good", to: good)
        }
        for round in 1...20 {
            pipeline.track("Event")
            await good.waitForSends(round)
        }
        await bad.waitForSends(1)
        #expect(pipeline.ledger[route: "bad"]?.delivered == 0)
        let ledger = await pipeline.shutdown(timeout: .zero)
        // Refused events become dead letters until the route is on hold.
        #expect(ledger[route: "bad"].map { $0.waiting + $0.deadLetters } == 20)
        #expect(ledger.isBalanced)
    }

    @Test("a failing store does not affect the store of another route")
    func failingStoreAffectsNoOtherRoute() async throws {
        let bad = RecordingStore { operation, _ in operation == .open ? nil : Self.broken }
        let pipeline = try Pipeline {
            Route("bad", in: bad)
            Route("good")
        }
        for _ in 0..<10 { pipeline.track("Event") }
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger[route: "bad"]?.dropped == [.storeFailed: 10])
        #expect(ledger[route: "good"]?.delivered == 10)
        #expect(ledger.isBalanced)
    }

    @Test("each route has its own policy, or the pipeline's")
    func routeHasOwnPolicyOrDefault() async throws {
        let time = VirtualTime()
        let transports = [ScriptedTransport(), ScriptedTransport()]
        let pipeline = try Pipeline(
            delivery: DeliveryPolicy(flushInterval: .seconds(20)), environment: Bench.environment(time)
        ) {
            Route("own", to: transports[0], delivery: DeliveryPolicy(flushInterval: .seconds(30)))
            Route("default", to: transports[1])
        }
        pipeline.track("Event")
        await time.waitForSleeper(within: .seconds(20)...(.seconds(20)))
        await time.waitForSleeper(within: .seconds(30)...(.seconds(30)))
        time.advance(by: .seconds(20))
        await transports[1].waitForSends(1)
        #expect(transports[0].batches.isEmpty)
        time.advance(by: .seconds(10))
        await transports[0].waitForSends(1)
        await pipeline.shutdown()
    }

    // MARK: Task-locals

    private enum Request { @TaskLocal static var id = 0 }

    /// A server may build its pipeline while it handles a request with a trace.
    @Test("a transport does not inherit the task-locals of the code that built the pipeline")
    func transportInheritsNoTaskLocals() async throws {
        let seen = Locked<[Int]>([])
        let transport = ScriptedTransport { _, _ in
            seen.withLock { $0.append(Request.id) }
            return .answer(.all(.accepted))
        }
        let pipeline = try Request.$id.withValue(7) { try Pipeline.with(to: transport) }
        pipeline.track("Event")
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(seen.withLock(\.self) == [0])
    }
}
