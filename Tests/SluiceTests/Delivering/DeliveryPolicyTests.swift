import Sluice
import SluiceTesting
import Testing

/// The effects of a policy, and of changes to it at run time.
@Suite struct DeliveryPolicyTests {
    @Test("a changed interval sends waiting events and counts from zero")
    func changedIntervalSendsAndCountsFromZero() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.sleeps(until: 15)
        bench.pipeline.setFlush(interval: .seconds(60))
        await bench.transport.waitForSends(1)
        #expect(bench.time.continuousTime() == .zero)
        await bench.drained()
        bench.track(1)
        await bench.sends(at: 60)
        #expect(bench.sizes == [1, 1])
    }

    @Test("a backlog is sent in larger batches, unless the policy has a size of its own")
    func backlogHasLargerBatches() async throws {
        var small = DeliveryPolicy(batch: BatchSize(events: 100, bytes: 262_144))
        #expect(small.backlogBatch == small.batch)
        for (policy, sizes) in [
            (DeliveryPolicy.standard, [500, 500, 100, 100]), (small, Array(repeating: 100, count: 12)),
        ] {
            let bench = try Bench(delivery: policy)
            bench.trackWhilePaused(1_200)
            await bench.pipeline.flush()
            #expect(bench.sizes == sizes)
        }
        small.batch.events = 20
        #expect(small.backlogBatch.events == 20)
    }

    @Test("a batch stays within the limits of both policy and transport")
    func smallerBatchLimitCounts() async throws {
        let bench = try Bench(ScriptedTransport(maximumBatchSize: BatchSize(events: 3, bytes: .max)))
        bench.track(7)
        await bench.pipeline.flush()
        #expect(bench.sizes.reduce(0, +) == 7)
        #expect(bench.sizes.allSatisfy { $0 <= 3 })
    }

    private static let invalid: [(name: String, change: @Sendable (inout DeliveryPolicy) -> Void)] = [
        ("batch", { $0.batch.events = 0 }),
        ("batch", { $0.batch.bytes = -1 }),
        ("backlogBatch", { $0.backlogBatch.events = 99 }),
        ("backlogBatch", { $0.backlogBatch.bytes = 1 }),
        ("flushCount", { $0.flushCount = 0 }),
        ("flushInterval", { $0.flushInterval = .milliseconds(999) }),
        ("flushInterval", { $0.flushInterval = .seconds(31_536_001) }),
        ("flushIntervals", { $0.flushIntervals = .zero ... .seconds(60) }),
        ("flushIntervals", { $0.flushIntervals = .seconds(1) ... .seconds(Int64.max) }),
        ("criticalInterval", { $0.criticalInterval = .seconds(-1) }),
        ("criticalInterval", { $0.criticalInterval = .seconds(Int64.max) }),
        ("backOff", { $0.backOff = .zero }),
        ("maximumBackOff", { $0.maximumBackOff = .milliseconds(1) }),
        ("maximumBackOff", { $0.maximumBackOff = .seconds(Int64.max) }),
        ("backOffSteps", { $0.backOffSteps = [.seconds(Int64.max - 1) ... .seconds(Int64.max)] }),
        ("backOffSteps", { $0.backOffSteps = [.seconds(-1) ... .seconds(1)] }),
        ("backOffSteps", { $0.backOffSteps = [.seconds(1) ... .seconds(2), .zero ... .zero] }),
        ("maximumBatchesInFlight", { $0.maximumBatchesInFlight = 0 }),
        ("maximumBatchesInFlight", { $0.maximumBatchesInFlight = 4 }),
    ]

    @Test(
        "a policy with a value outside its range throws when a pipeline is built, and the message names the value",
        arguments: invalid.indices)
    func invalidPolicyThrows(index: Int) throws {
        let (name, change) = DeliveryPolicyTests.invalid[index]
        var policy = DeliveryPolicy.standard
        change(&policy)
        let error = #expect(throws: SluiceError.self) { try Bench(delivery: policy) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains(name) == true)
    }

    @Test("a policy with values at the ends of their ranges is valid")
    func extremePolicyIsValid() throws {
        let year = Duration.seconds(31_536_000)
        _ = try Bench(
            delivery: DeliveryPolicy(
                batch: BatchSize(events: 1, bytes: 1), flushCount: 1, flushInterval: .seconds(1),
                criticalInterval: .zero, backOff: .milliseconds(1), maximumBackOff: .milliseconds(1),
                maximumBatchesInFlight: 3))
        _ = try Bench(
            delivery: DeliveryPolicy(
                flushInterval: year, criticalInterval: year, backOff: year, maximumBackOff: year,
                backOffSteps: [.zero...year]))
    }

    @Test("the longest duration does not trap in the system's clock")
    func longestSleepDoesNotTrap() async {
        let sleep = Task { try await SystemTime().sleep(until: .seconds(Int64.max)) }
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
    }

    @Test(
        "App Center's interval stays within 6 to 86,400 seconds",
        arguments: [(-1, 6), (5, 6), (6, 6), (60, 60), (86_400, 86_400), (86_401, 86_400), (Int64.max, 86_400)]
            as [(Int64, Int64)])
    func appCenterIntervalHasRange(seconds: Int64, result: Int64) async throws {
        let bench = try Bench(delivery: .appCenter)
        bench.pipeline.setFlush(interval: .seconds(seconds))
        await bench.drained()
        bench.track(1)
        await bench.sends(at: Double(result))
    }

    @Test("a returning network sends waiting events and ends a pause; an unchanged one does not")
    func returningNetworkSendsAndEndsPause() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.hold(reason: "captive portal")))]))
        bench.pipeline.signal(.connectivity(.available))
        bench.track(1)
        await bench.sends(at: 15)
        await bench.sleeps(until: 15 + Bench.wait(1, isRefused: true))
        bench.pipeline.signal(.connectivity(.available))
        await bench.sleeps(until: 15 + Bench.wait(1, isRefused: true))
        bench.pipeline.signal(.connectivity(.unavailable))
        bench.pipeline.signal(.connectivity(.available))
        await bench.transport.waitForSends(2)
        await bench.drained()
        bench.track(1)
        bench.pipeline.signal(.connectivity(.unavailable))
        bench.pipeline.signal(.connectivity(.metered))
        await bench.transport.waitForSends(3)
        #expect(bench.time.continuousTime() == .seconds(15))
    }

    @Test("an error of another package shows its type only")
    func foreignErrorShowsTypeOnly() async throws {
        struct TokenError: Error {
            let token = "secret"
        }
        struct Failing: Transport {
            func send(_ batch: Batch) async throws -> Verdicts { throw TokenError() }
        }
        let messages = Locked<[String]>([])
        let pipeline = try Pipeline(
            environment: PipelineEnvironment(time: VirtualTime()),
            onDiagnostic: { diagnostic in messages.withLock { $0.append("\(diagnostic)") } }
        ) {
            WatchedStore()
            Failing()
        }
        pipeline.track("Event")
        await pipeline.flush()
        let text = messages.withLock { $0.joined() }
        #expect(text.contains("TokenError"))
        #expect(!text.contains("secret"))
    }
}

extension DeliveryPolicy {
    /// The same as SluiceHTTP's preset: an interval with a range, critical events, back-off steps and three batches in flight.
    fileprivate static let appCenter = DeliveryPolicy(
        batch: BatchSize(events: 50, bytes: 262_144), flushCount: 50, flushInterval: .seconds(6),
        flushIntervals: .seconds(6) ... .seconds(86_400),
        backOffSteps: [
            .seconds(5) ... .seconds(10), .seconds(150) ... .seconds(300), .seconds(600) ... .seconds(1_200),
        ],
        maximumBatchesInFlight: 3)
}
