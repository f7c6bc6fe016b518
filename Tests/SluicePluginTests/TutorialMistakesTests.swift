import Foundation
import Sluice
import SluiceDuration
import SluiceHTTP
import SluiceMemory
import SluiceTesting
import Testing

/// What goes wrong in analytics SDKs as tutorials build them. Each test fails on an implementation with that mistake.
@Suite(.timeLimit(.minutes(10))) struct TutorialMistakesTests {
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

    /// Keeps the bodies that it is to send.
    private struct Collector: HTTPClient {
        let bodies = Locked<[[UInt8]]>([])
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            bodies.withLock { $0.append(request.body) }
            return HTTPResponse(status: 200)
        }
    }

    @Test("events of a batch are joined with commas, so that the whole is JSON")
    func eventsBatchJoined() async throws {
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

    @Test("the key of the properties is spelled so")
    func keyPropertiesSpelled() throws {
        let line = try EventLine(.named("Event", ["a": 1]))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.bytes)) as? [String: Any])
        #expect(object["properties"] as? [String: Int] == ["a": 1])
    }

    @Test("a flush goes on after a batch has been delivered and deleted, until nothing waits")
    func flushGoesAfter() async throws {
        let pipeline = try pipeline(transport)
        pipeline.pauseDelivery()
        for number in 0..<35 { pipeline.track("Event", ["number": .int(number)]) }
        pipeline.resumeDelivery()
        let report = await pipeline.flush()
        #expect(report.waiting == 0)
        #expect(transport.batches.map(\.events.count) == [10, 10, 10, 5])
        #expect(try numbers(transport) == (0..<35).map { .int($0) })
    }

    @Test("what is deleted is what was sent, not as many of what is there by then")
    func deletedSentMany() async throws {
        let transport = ScriptedTransport([.hang])
        let pipeline = try pipeline(transport)
        for number in 0..<20 { pipeline.track("Event", ["number": .int(number)]) }
        await transport.waitForSends(1)
        // These overtake what is being sent, and stand before all that still waits.
        for number in 20..<25 { pipeline.track("Event", ["number": .int(number)], priority: .critical) }
        transport.release(.all(.accepted))
        await pipeline.flush()
        await pipeline.flush()
        let sent = try transport.accepted().compactMap { $0.properties["number"] }
        #expect(sent.count == 25)
        #expect((0..<25).allSatisfy { sent.contains(.int($0)) })
    }

    @Test("going through the table of timers changes each of them once, while others come and go")
    func tableTimersCan() async throws {
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
        // What still runs in the background, or is paused in the foreground, was skipped.
        pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(4))
        for name in running + paused { timers.end(name) }
        await pipeline.shutdown()
        let durations = try transport.accepted().map { $0.properties["$event_duration"] }
        #expect(durations == running.map { _ in 7_000.0 } + paused.map { _ in 1_000.0 })
    }

    @Test("resuming resumes what is paused, and leaves alone what runs")
    func resumingResumesPaused() async throws {
        let timers = DurationTimer()
        let pipeline = try pipeline(transport, timers)
        timers.start("Paused")
        timers.start("Running")
        timers.pause("Paused")
        time.advance(by: .seconds(1))
        for name in ["Paused", "Running"] { timers.resume(name) }
        time.advance(by: .seconds(1))
        for name in ["Paused", "Running"] { timers.end(name) }
        await pipeline.shutdown()
        #expect(try transport.accepted().map { $0.properties["$event_duration"] } == [1_000.0, 2_000.0])
    }

    @Test("coming back from the background loses nothing of what was counted before")
    func comingBackFrom() async throws {
        let timers = DurationTimer()
        let pipeline = try pipeline(transport, timers)
        timers.start("Watch")
        time.advance(by: .seconds(7))
        pipeline.signal(.didEnterBackground)
        time.advance(by: .seconds(100))
        pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(1))
        timers.end("Watch")
        await pipeline.shutdown()
        #expect(try transport.accepted().map { $0.properties["$event_duration"] } == [8_000.0])
    }

    @Test("events are counted where they are stored: of many threads, none is missed and none counts twice")
    func eventsCountedWhere()
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
        await pipeline.shutdown()
        #expect(pipeline.ledger.isBalanced)
        let sent = try numbers(transport)
        #expect(sent.count == 800)
        #expect(Set(sent.compactMap { number in if case .int(let int) = number { int } else { nil } }).count == 800)
    }

    @Test("a receiver that never answers blocks neither tracking nor the host")
    func receiverNeverAnswers() async throws {
        let transport = ScriptedTransport(then: .hang)
        let pipeline = try pipeline(transport)
        for _ in 0..<20 { pipeline.track("Event") }
        await transport.waitForSends(1)
        for _ in 0..<1_000 { pipeline.track("Event") }
        #expect(pipeline.ledger.routes[0].waiting == 1_020)
        async let ledger = pipeline.shutdown(deadline: .seconds(5))
        await time.waitForSleeper(within: .seconds(5)...(.seconds(5)))
        time.advance(by: .seconds(5))
        #expect(await ledger.routes[0].waiting == 1_020)
    }

    @Test("the interval counts on whatever thread the pipeline was built")
    func intervalCountsWhatever() async throws {
        let (time, transport) = (time, transport)
        let built = Locked<Result<Pipeline, any Error>?>(nil)
        await withCheckedContinuation { continuation in
            // A thread that ends at once, and with it whatever loop it may have had.
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
