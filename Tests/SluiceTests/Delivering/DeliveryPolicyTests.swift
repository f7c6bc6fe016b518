import Sluice
import SluiceTesting
import Testing

/// What a policy, and changes to it at run time, make of delivery.
@Suite(.timeLimit(.minutes(10))) struct DeliveryPolicyTests {
    @Test("another interval sends what waits, and begins to count anew")
    func changedInterval() async throws {
        let bench = try Bench()
        bench.track(1)
        await bench.sleeps(until: 15)
        bench.pipeline.setFlushInterval(.seconds(60))
        await bench.transport.waitForSends(1)
        #expect(bench.time.continuousTime() == .zero)
        await bench.drained()
        bench.track(1)
        await bench.sends(at: 60)
        #expect(bench.sizes == [1, 1])
    }

    @Test("an interval below five seconds is five seconds at run time too")
    func shortestInterval() async throws {
        let bench = try Bench()
        bench.pipeline.setFlushInterval(.milliseconds(1))
        await bench.drained()
        bench.track(1)
        await bench.sends(at: 5)
    }

    @Test("what is set to nonsense after the initializer is moved into its range when a pipeline is built")
    func nonsenseLater() async throws {
        var policy = Bench.policy
        policy.maximumBatchesInFlight = 0
        policy.flushCount = -1
        policy.criticalInterval = .seconds(-1)
        policy.backOffSteps = [.seconds(Int64.max - 1) ... .seconds(Int64.max)]
        let bench = try Bench(ScriptedTransport([.answer(.all(.retry(after: nil)))]), delivery: policy)
        bench.track(25)
        await bench.sleeps(until: 31_536_000)
        await bench.drained()
        #expect(bench.ledger.delivered == 25)

        policy.maximumBatchesInFlight = 1_000
        let many = try Bench(ScriptedTransport(then: .hang), delivery: policy)
        many.track(100)
        await many.transport.waitForSends(3)
        await many.pipeline.shutdown(deadline: .zero)
        #expect(many.sizes == [10, 10, 10])
    }

    @Test("a longest of all durations is no trap for the system's clock")
    func longestSleep() async {
        let sleep = Task { try await SystemTime().sleep(until: .seconds(Int64.max)) }
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
    }

    @Test(
        "App Center's interval is 6 to 86,400 seconds, by the policy and at run time",
        arguments: [(-1, 6), (0, 6), (5, 6), (6, 6), (60, 60), (86_400, 86_400), (86_401, 86_400), (Int64.max, 86_400)]
            as [(Int64, Int64)])
    func appCenterInterval(seconds: Int64, result: Int64) async throws {
        var policy = DeliveryPolicy.appCenter
        policy.flushInterval = .seconds(seconds)
        #expect(policy.flushInterval == .seconds(result))
        let bench = try Bench(delivery: .appCenter)
        bench.pipeline.setFlushInterval(.seconds(seconds))
        await bench.drained()
        bench.track(1)
        await bench.sends(at: Double(result))
    }

    @Test("an interval is within the policy's bounds, and those within 5 s and a year")
    func boundedInterval() {
        func policy(_ seconds: Int64, _ bounds: ClosedRange<Int64>) -> DeliveryPolicy {
            DeliveryPolicy(
                flushInterval: .seconds(seconds),
                flushIntervals: .seconds(bounds.lowerBound) ... .seconds(bounds.upperBound))
        }
        #expect(policy(1, 10...20).flushInterval == .seconds(10))
        #expect(policy(100, 10...20).flushInterval == .seconds(20))
        #expect(policy(1, 0...1).flushInterval == .seconds(5))
        #expect(policy(.max, 0 ... .max).flushInterval == .seconds(31_536_000))
        var standard = DeliveryPolicy.standard
        standard.flushInterval = .zero
        #expect(standard.flushInterval == .seconds(5))
    }

    @Test("where only unmetered networks are to be used, events wait on a metered one, and a flush returns at once")
    func unmeteredOnly() async throws {
        var policy = Bench.policy
        policy.network = .unmetered
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

    @Test("any network does by default, and an end on a metered one does not wait where it may not be used")
    func metered() async throws {
        let any = try Bench()
        any.pipeline.signal(.connectivity(.metered))
        any.track(5)
        await any.transport.waitForSends(1)
        var policy = Bench.policy
        policy.network = .unmetered
        let unmetered = try Bench(delivery: policy)
        unmetered.pipeline.signal(.connectivity(.metered))
        unmetered.track(5)
        let ledger = await unmetered.pipeline.shutdown(deadline: .seconds(1_000))
        #expect(ledger.routes[0].waiting == 5)
        #expect(unmetered.time.continuousTime() == .zero)
    }

    @Test("App Center's waits: 5 to 10 s, 2.5 to 5 min, and 10 to 20 min from then on")
    func steps() async throws {
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

    @Test("batches that fail together have met one outage: the first wait is the shortest")
    func togetherOnce() async throws {
        let bench = try Bench(
            ScriptedTransport(then: .answer(.all(.retry(after: nil)))), delivery: .appCenter)
        bench.pipeline.pauseDelivery()
        bench.track(150)
        bench.pipeline.resumeDelivery()
        await bench.transport.waitForSends(3)
        await bench.sleeps(until: 7.5)
    }

    @Test("what comes while one of three batches is slow does not wait for it")
    func roomBesideSlow() async throws {
        let bench = try Bench(ScriptedTransport([.hang]), delivery: .appCenter)
        bench.track(50)
        await bench.transport.waitForSends(1)
        bench.track(50)
        await bench.transport.waitForSends(2)
        #expect(bench.time.continuousTime() == .zero)
        bench.transport.release(.all(.accepted))
    }

    @Test("a network that comes back sends what waits, and ends a hold; one that stays does not")
    func networkBack() async throws {
        let bench = try Bench(ScriptedTransport([.answer(.all(.hold("captive portal")))]))
        bench.pipeline.signal(.connectivity(.available))
        bench.track(1)
        await bench.sends(at: 15)
        await bench.sleeps(until: 15 + 75)
        bench.pipeline.signal(.connectivity(.available))
        await bench.sleeps(until: 15 + 75)
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

    @Test("an error that is not this package's shows its type alone")
    func foreignError() async throws {
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
