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

    @Test("setFlushInterval moves its argument into the policy's range")
    func changedIntervalStaysInRange() async throws {
        let bench = try Bench()
        bench.pipeline.setFlush(interval: .milliseconds(1))
        await bench.drained()
        bench.track(1)
        await bench.sends(at: 1)
    }

    @Test("a backlog is sent in larger batches, unless the policy has a size of its own")
    func backlogHasLargerBatches() async throws {
        var small = DeliveryPolicy(batch: BatchSize(events: 100, bytes: 262_144))
        #expect(small.backlogBatch == small.batch)
        for (policy, sizes) in [
            (DeliveryPolicy.standard, [500, 500, 100, 100]), (small, Array(repeating: 100, count: 12)),
        ] {
            let bench = try Bench(delivery: policy)
            bench.pipeline.pauseDelivery()
            bench.track(1_200)
            bench.pipeline.resumeDelivery()
            await bench.pipeline.flush()
            #expect(bench.sizes == sizes)
        }
        small.batch.events = 20
        #expect(small.backlogBatch.events == 20)
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

    @Test("with an unmetered-only policy events wait on a metered network, and a flush returns immediately")
    func unmeteredPolicyWaitsOnMeteredNetwork() async throws {
        var policy = Bench.policy
        policy.sendsOverMeteredNetworks = false
        let bench = try Bench(delivery: policy)
        bench.pipeline.signal(.connectivity(.metered))
        bench.track(7, priority: .critical)
        let report = await bench.pipeline.flush()
        #expect(report.waiting == 7)
        #expect(bench.transport.batches.isEmpty)
        bench.pipeline.signal(.connectivity(.available))
        await bench.transport.waitForSends(1)
        #expect(bench.sizes == [7])
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("a metered network is used by default, and a shutdown does not wait if the policy excludes it")
    func meteredNetworkIsUsedByDefault() async throws {
        let any = try Bench()
        any.pipeline.signal(.connectivity(.metered))
        any.track(5)
        await any.transport.waitForSends(1)
        var policy = Bench.policy
        policy.sendsOverMeteredNetworks = false
        let unmetered = try Bench(delivery: policy)
        unmetered.pipeline.signal(.connectivity(.metered))
        unmetered.track(5)
        let ledger = await unmetered.pipeline.shutdown(timeout: .seconds(1_000))
        #expect(ledger.routes[0].waiting == 5)
        #expect(unmetered.time.continuousTime() == .zero)
    }

    @Test("a flush, and a count, send critical events of App Center with the normal ones")
    func appCenterFlushSendsCriticalEvents() async throws {
        let bench = try Bench(delivery: .appCenter)
        bench.track(3)
        bench.track(2, priority: .critical)
        let report = await bench.pipeline.flush()
        #expect(report.delivered == 5)
        let sends = bench.sizes.count
        bench.track(1, priority: .critical)
        bench.track(50)
        await bench.transport.waitForSends(sends + 1)
        await bench.pipeline.flush()
        #expect(bench.sizes.reduce(0, +) == 56)
        #expect(bench.time.continuousTime() == .zero)
    }

    @Test("App Center's back-off takes 5 to 10 s, then 2.5 to 5 min, then 10 to 20 min each time")
    func appCenterBackOffHasSteps() async throws {
        let bench = try Bench(
            ScriptedTransport(then: .answer(.all(.retry(after: nil)))), delivery: .appCenter)
        bench.track(1)
        // The middle of each range, as the random numbers of the bench are the middle of theirs.
        var time = 6.0
        await bench.sends(at: time)
        for wait in [7.5, 225, 900, 900, 900] {
            time += wait
            await bench.sends(at: time)
        }
    }

    @Test("batches that fail together count as one outage: the first wait is the shortest")
    func outageCountsOnce() async throws {
        let bench = try Bench(ScriptedTransport(then: .hang), delivery: .appCenter)
        bench.pipeline.pauseDelivery()
        bench.track(150)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(3)
        bench.transport.release(.all(.retry(after: nil)))
        await bench.sleeps(until: 7.5)
    }

    @Test("new events do not wait for one slow batch of three")
    func slowBatchDelaysNoOther() async throws {
        let bench = try Bench(ScriptedTransport([.hang]), delivery: .appCenter)
        bench.track(50)
        await bench.transport.waitForSends(1)
        bench.track(50)
        await bench.transport.waitForSends(2)
        #expect(bench.time.continuousTime() == .zero)
        bench.transport.release(.all(.accepted))
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
