import Foundation
import Sluice
import SluiceDuration
import SluiceHTTP
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// Mistakes of analytics SDKs in tutorials. Each test fails on an implementation with its mistake.
@Suite struct TutorialMistakesTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()

    /// Sends ten at a time, when twenty wait or after 15 s.
    private func pipeline(_ transport: any Transport, _ processors: any Processor...) throws -> Pipeline {
        let policy = DeliveryPolicy(
            batch: BatchSize(events: 10, bytes: .max), flushCount: 20, flushInterval: .seconds(15))
        return try Pipeline(delivery: policy, environment: PipelineEnvironment(time: time)) {
            for processor in processors { Erased(processor: processor) }
            MemoryStore()
            transport
        }
    }

    private struct Erased: Processor {
        let processor: any Processor
        func process(_ event: inout Event) -> Disposition { processor.process(&event) }
        var context: PluginContext? { processor.context as? PluginContext }
        func prepare() throws { try processor.prepare() }
        func update(for signal: Signal) { processor.update(for: signal) }
        func emit(for signal: Signal) { processor.emit(for: signal) }
    }

    private func numbers(_ transport: ScriptedTransport) throws -> [PropertyValue?] {
        try transport.accepted().map { $0.properties["number"] }
    }

    /// Keeps the bodies of its requests.
    private struct Collector: HTTPClient {
        let bodies = Locked<[[UInt8]]>([])
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            bodies.withLock { $0.append(request.body) }
            return HTTPResponse(status: 200)
        }
    }

    @Test("the events of a batch are joined with commas, so that the body is valid JSON")
    func bodyIsValidJSON() async throws {
        let collector = Collector()
        let pipeline = try pipeline(
            HTTPTransport(to: "http://collector.example", format: .jsonArray, configuration: .init(client: collector)))
        for number in 0..<3 { pipeline.track("Event", ["text": ".\n", "number": .int(number)]) }
        await pipeline.flush()
        let body = try #require(collector.bodies.withLock { $0.first })
        let events = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [[String: Any]])
        #expect(events.count == 3)
        #expect(events.allSatisfy { $0["event"] as? String == "Event" })
    }

    @Test("the properties of an event have the key \"properties\"")
    func propertiesHaveTheirKey() throws {
        let line = try EventLine(.named("Event", ["a": 1]))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.bytes)) as? [String: Any])
        #expect(object["properties"] as? [String: Int] == ["a": 1])
    }

    @Test("a flush continues with the next batch until the store is empty")
    func flushContinuesUntilStoreIsEmpty() async throws {
        let pipeline = try pipeline(transport)
        pipeline.pauseDelivery()
        for number in 0..<35 { pipeline.track("Event", ["number": .int(number)]) }
        pipeline.resumeDelivery()
        let report = await pipeline.flush()
        #expect(report.waiting == 0)
        #expect(transport.batches.map(\.events.count) == [10, 10, 10, 5])
        #expect(try numbers(transport) == (0..<35).map { .int($0) })
    }

    @Test("exactly the sent events are deleted, not as many events from the front of the store")
    func sentEventsAreDeletedByIdentity() async throws {
        let transport = ScriptedTransport([.hang])
        let pipeline = try pipeline(transport)
        for number in 0..<20 { pipeline.track("Event", ["number": .int(number)]) }
        await transport.waitForSends(1)
        // These are ahead of all waiting events in the store.
        for number in 20..<25 { pipeline.track("Event", ["number": .int(number)], priority: .critical) }
        transport.release(.all(.accepted))
        await pipeline.flush()
        await pipeline.flush()
        let sent = try transport.accepted().compactMap { $0.properties["number"] }
        #expect(sent.count == 25)
        #expect((0..<25).allSatisfy { sent.contains(.int($0)) })
    }

    @Test("a change of all timers changes each of them once, even if others are added and removed meanwhile")
    func changingAllTimersAllowsConcurrentChanges() async throws {
        let timers = DurationTimer()
        let pipeline = try pipeline(transport, timers)
        let running = (0..<100).map { "Running \($0)" }
        let paused = (0..<100).map { "Paused \($0)" }
        for name in running + paused { timers.start(name) }
        time.advance(by: .seconds(1))
        for name in paused { timers.pause(name) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<50 {
                    pipeline.signal(.didEnterBackground)
                    pipeline.signal(.didBecomeActive)
                }
            }
            group.addTask {
                for number in 0..<400 {
                    timers.start("Passing \(number)")
                    timers.pause("Passing \(number / 2)")
                    timers.remove("Passing \(number - 100)")
                }
            }
        }
        time.advance(by: .seconds(2))
        pipeline.signal(.didEnterBackground)
        time.advance(by: .seconds(100))
        // A timer that runs in the background, or is paused in the foreground, was skipped.
        pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(4))
        for name in running + paused { timers.end(name) }
        await pipeline.shutdown(timeout: .seconds(600))
        let durations = try transport.accepted().map { $0.properties["$event_duration"] }
        #expect(durations == running.map { _ in 7_000.0 } + paused.map { _ in 1_000.0 })
    }

    @Test("resuming affects paused timers only")
    func resumeAffectsPausedTimersOnly() async throws {
        let timers = DurationTimer()
        let pipeline = try pipeline(transport, timers)
        timers.start("Paused")
        timers.start("Running")
        timers.pause("Paused")
        time.advance(by: .seconds(1))
        for name in ["Paused", "Running"] { timers.resume(name) }
        time.advance(by: .seconds(1))
        for name in ["Paused", "Running"] { timers.end(name) }
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(try transport.accepted().map { $0.properties["$event_duration"] } == [1_000.0, 2_000.0])
    }

    @Test("a timer keeps its measured time through the background")
    func backgroundKeepsMeasuredTime() async throws {
        let timers = DurationTimer()
        let pipeline = try pipeline(transport, timers)
        timers.start("Watch")
        time.advance(by: .seconds(7))
        pipeline.signal(.didEnterBackground)
        time.advance(by: .seconds(100))
        pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(1))
        timers.end("Watch")
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(try transport.accepted().map { $0.properties["$event_duration"] } == [8_000.0])
    }

    @Test("each event of many threads is counted once, when it is stored")
    func concurrentEventsCountOnce()
        async throws
    {
        let pipeline = try pipeline(transport)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<100 { pipeline.track("Event", ["number": .int(task * 100 + number)]) }
                }
            }
        }
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(pipeline.ledger.isBalanced)
        let sent = try numbers(transport)
        #expect(sent.count == 800)
        #expect(Set(sent.compactMap { number in if case .int(let int) = number { int } else { nil } }).count == 800)
    }

    @Test("a receiver that never responds blocks neither tracking nor the shutdown")
    func silentReceiverBlocksNothing() async throws {
        let transport = ScriptedTransport(then: .hang)
        let pipeline = try pipeline(transport)
        for _ in 0..<20 { pipeline.track("Event") }
        await transport.waitForSends(1)
        for _ in 0..<1_000 { pipeline.track("Event") }
        #expect(pipeline.ledger.routes[0].waiting == 1_020)
        async let ledger = pipeline.shutdown(timeout: .seconds(5))
        await time.waitForSleeper(within: .seconds(5)...(.seconds(5)))
        time.advance(by: .seconds(5))
        #expect(await ledger.routes[0].waiting == 1_020)
    }

    @Test("the interval does not depend on the thread that built the pipeline")
    func intervalNeedsNoThread() async throws {
        let (time, transport) = (time, transport)
        let built = Locked<Result<Pipeline, any Error>?>(nil)
        await withCheckedContinuation { continuation in
            // A thread that ends immediately, together with its run loop.
            let thread = Thread {
                let result = Result { try self.pipeline(transport) }
                built.withLock { $0 = result }
                continuation.resume()
            }
            thread.start()
        }
        let pipeline = try #require(built.withLock { $0 }).get()
        pipeline.track("Event")
        await time.waitForSleeper(within: .seconds(15)...(.seconds(15)))
        #expect(transport.batches.isEmpty)
        time.advance(by: .seconds(15))
        await transport.waitForSends(1)
        #expect(try transport.accepted().count == 1)
        _ = pipeline
    }
}
