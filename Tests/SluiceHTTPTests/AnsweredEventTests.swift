import Foundation
import Sluice
import SluiceJSONL
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

/// An event that a gateway answers with any status blocks no other event, and only such an event becomes a dead letter.
@Suite("Answered events don't block others", .serialized)
struct AnsweredEventTests {
    static let good = 500

    private static func format(_ name: String) -> HTTPFormat {
        switch name {
        case "postHog": .postHog(apiKey: "k")
        case "segment": .segment(writeKey: "k")
        case "otlp": .otlp(service: "shop")
        default: .ndjson
        }
    }

    private func pipeline(
        _ store: any Store, _ client: Gateway, _ time: VirtualTime, _ format: String = "ndjson",
        isPaused: Bool = false, inFlight: Int = 1, _ onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = { _ in }
    ) throws -> Pipeline {
        try Pipeline(
            delivery: DeliveryPolicy(maximumBatchesInFlight: inFlight), isDeliveryPaused: isPaused,
            environment: PipelineEnvironment(time: time), onDiagnostic: onDiagnostic
        ) {
            store
            HTTPTransport(
                to: "https://host/", format: Self.format(format), configuration: .init(gzip: false, client: client))
        }
    }

    func track(_ events: [Int], _ pipeline: Pipeline) {
        for number in events {
            pipeline.track(number < 0 ? "poison" : "Event", ["n": .string("number-\(abs(number)).")])
        }
    }

    /// Sends until nothing waits, with an hour between two flushes.
    ///
    /// - Returns: the number of flushes.
    @discardableResult
    private func drain(_ pipeline: Pipeline, _ time: VirtualTime, atMost: Int) async -> Int {
        for flushes in 1...atMost {
            await pipeline.flush()
            // A flush doesn't count dead letters that are put back while it goes on.
            if pipeline.ledger.routes.allSatisfy({ $0.waiting == 0 }) { return flushes }
            time.advance(by: .seconds(3_600))
        }
        return atMost
    }

    /// The most requests for `bad` events among 500 good ones. A bad event needs at most six: a probe or a search finds it, it
    /// is offered alone twice between acceptances, and the search goes on. A status of 5xx or 200 is suspected after ten equal
    /// answers, for each of the six batches. A search of a batch needs up to eight more requests.
    private static func limit(_ row: Case) -> Int {
        let isFailure = row.answer.status >= 500 || row.answer == .page && row.format != "ndjson"
        return 6 * row.bad + 40 + (isFailure ? 6 * 18 : 6 * 8)
    }

    @Test("every good event is delivered, and every bad one is a dead letter with its status", arguments: Case.all)
    func goodEventsAreDelivered(row: Case) async throws {
        let time = VirtualTime()
        let client = Gateway(row.answer, format: row.format)
        let directory = try TemporaryDirectory()
        let store: any Store = row.isJSONL ? JSONLStore(at: directory.path) : MemoryStore()
        if row.isJSONL, row.place == .eachSegment {
            // Each process leaves a segment.
            let share = row.events.count / 5
            for segment in 0..<5 {
                let left = try pipeline(JSONLStore(at: directory.path), client, time, isPaused: true)
                track(
                    Array(row.events[segment * share..<(segment == 4 ? row.events.count : (segment + 1) * share)]), left
                )
                await left.shutdown(timeout: .zero)
            }
        }
        let pipeline = try pipeline(store, client, time, row.format, isPaused: true)
        if !row.isJSONL || row.place != .eachSegment { track(row.events, pipeline) }
        pipeline.resumeDelivery()
        let flushes = await drain(pipeline, time, atMost: 4 * row.bad + 150)
        #expect(client.accepted.sorted() == Array(1...Self.good))
        let letters = try await pipeline.deadLetters()
        #expect(letters.count == row.bad)
        #expect(letters.allSatisfy { $0.status == row.answer.status && $0.response?.contains("rule 942100") == true })
        #expect(try letters.allSatisfy { try $0.event().name == "poison" })
        #expect(client.requests <= Self.limit(row), "\(client.requests) requests, \(flushes) flushes")
        Trials.report("\(row.testDescription): \(client.requests) requests, \(flushes) flushes")
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test(
        "with three batches in flight, and a restart in between, every good event is delivered",
        arguments: [302, 403, 404, 500], [1, 20])
    func threeInFlight(status: Int, bad: Int) async throws {
        let time = VirtualTime()
        let directory = try TemporaryDirectory()
        let row = Case(answer: .status(status), bad: bad, place: .eachSegment, isJSONL: true, format: "ndjson")
        let client = Gateway(row.answer)
        let first = try pipeline(JSONLStore(at: directory.path), client, time, isPaused: true, inFlight: 3)
        track(row.events, first)
        first.resumeDelivery()
        for _ in 0..<3 {
            await first.flush()
            time.advance(by: .seconds(3_600))
        }
        await first.shutdown(timeout: .zero)
        let left = try pipeline(JSONLStore(at: directory.path), client, time, inFlight: 3)
        await drain(left, time, atMost: 4 * bad + 150)
        // Acceptances after the last bad event.
        for number in 1...2 {
            track([Self.good + number], left)
            await drain(left, time, atMost: 20)
        }
        #expect(Set(client.accepted) == Set(1...Self.good + 2))
        let letters = try await left.deadLetters()
        #expect(letters.count == bad)
        #expect(try letters.allSatisfy { try $0.event().name == "poison" && $0.status == status })
        #expect(await left.shutdown().isBalanced)
    }

    @Test("a hold that names a time is searched as any other", arguments: [403, 404], [1, 20])
    func holdWithTime(status: Int, bad: Int) async throws {
        let time = VirtualTime()
        let client = Gateway(.status(status), headers: [("Retry-After", "60")])
        let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
        track((1...bad).map { -$0 } + Array(1...Self.good), pipeline)
        pipeline.resumeDelivery()
        await drain(pipeline, time, atMost: 8 * bad + 50)
        #expect(client.accepted.sorted() == Array(1...Self.good))
        #expect(try await pipeline.deadLetters().map(\.status) == Array(repeating: status, count: bad))
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test(
        "answers that change, or a limit of requests between them, don't end the search",
        arguments: [Gateway.Answer.status(502), .status(429), .broken, .status(403)])
    func changingAnswers(other: Gateway.Answer) async throws {
        let time = VirtualTime()
        let client = Gateway(.status(500), .status(500), .status(500), other)
        let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
        track([-1] + Array(1...Self.good), pipeline)
        pipeline.resumeDelivery()
        await drain(pipeline, time, atMost: 100)
        #expect(client.accepted.sorted() == Array(1...Self.good))
        #expect(pipeline.ledger.routes[0].deadLetters == 1)
        #expect(await pipeline.shutdown().isBalanced)
    }

    // MARK: Receivers that answer everything so

    @Test(
        "a receiver that answers everything so for 14 days destroys nothing, and gets everything in order after its repair",
        arguments: [Gateway.Answer.status(403), .status(400), .status(500), .page, .broken])
    func repairedReceiverGetsEverything(answer: Gateway.Answer) async throws {
        let time = VirtualTime()
        let client = Gateway(.status(403))
        client.answerAll(answer)
        let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
        track(Array(1...1_000), pipeline)
        pipeline.resumeDelivery()
        await pipeline.flush()
        for _ in 0..<14 * 24 {
            time.advance(by: .seconds(3_600))
            await time.waitForSleeper()
        }
        let route = pipeline.ledger.routes[0]
        #expect(route.delivered == 0)
        #expect(route.waiting + route.deadLetters == 1_000)
        if answer != .status(400) { #expect(route.deadLetters == 0) }
        // The clock jumps by an hour, so a probe or a retry can follow each jump.
        #expect(client.requests <= 14 * 24 + 60, "\(client.requests) requests")
        Trials.report("\(answer) for 14 days: \(client.requests) requests")
        let probes = client.sizes.suffix(100)
        if answer != .broken { #expect(probes.allSatisfy { $0 == 1 }, "a probe is one event") }

        client.answerAll(nil)
        await drain(pipeline, time, atMost: 20)
        #expect(client.accepted.sorted() == Array(1...1_000))
        // The probe that finds the receiver well comes first. The others follow in order.
        if answer != .status(400) {
            #expect(Array(client.accepted.dropFirst()) == client.accepted.dropFirst().sorted())
        }
        #expect(pipeline.ledger.routes[0].deadLetters == 0)
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("a receiver that is repaired before the second probe gets everything in order", arguments: [403, 302, 404])
    func repairBeforeSecondProbeKeepsOrder(status: Int) async throws {
        let time = VirtualTime()
        let client = Gateway(.status(status))
        client.answerAll(.status(status))
        let pipeline = try pipeline(MemoryStore(), client, time)
        // One fewer than start a delivery without the flush.
        track(Array(1...99), pipeline)
        await pipeline.flush()
        client.answerAll(nil)
        track(Array(100...510), pipeline)
        await drain(pipeline, time, atMost: 5)
        #expect(client.accepted == Array(1...510))
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("connection failures are never about the contents: the whole batch is sent again, and nothing is rejected")
    func connectionFailuresAreNotSuspected() async throws {
        let time = VirtualTime()
        let client = Gateway(.broken)
        let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
        track([-1] + Array(1...99), pipeline)
        pipeline.resumeDelivery()
        for _ in 0..<50 { await pipeline.flush() }
        #expect(client.sizes.allSatisfy { $0 == 100 })
        #expect(pipeline.ledger.routes[0].waiting == 100)
        #expect(pipeline.ledger.routes[0].deadLetters == 0)
        await pipeline.shutdown(timeout: .zero)
    }

    @Test(
        "a 400 for a wrong key, in processes that never see an acceptance, makes no dead letters that stay",
        arguments: [1, 5, 30])
    func wrongKeyWithStatus400(count: Int) async throws {
        let time = VirtualTime()
        let directory = try TemporaryDirectory()
        let client = Gateway(.status(403))
        client.answerAll(.status(400))
        for launch in 0..<2 {
            let pipeline = try pipeline(JSONLStore(at: directory.path), client, time)
            track(Array(launch * count + 1...(launch + 1) * count), pipeline)
            await pipeline.flush()
            await pipeline.shutdown(timeout: .zero)
        }
        client.answerAll(nil)
        let pipeline = try pipeline(JSONLStore(at: directory.path), client, time)
        track([2 * count + 1], pipeline)
        await drain(pipeline, time, atMost: 10)
        await pipeline.flush()
        #expect(client.accepted.sorted() == Array(1...2 * count + 1))
        #expect(pipeline.ledger.routes[0].deadLetters == 0)
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("a failure that hits a good event during a search rejects only the bad one", arguments: [500, 403])
    func failureDuringSearch(status: Int) async throws {
        for request in 1...60 {
            let time = VirtualTime()
            let client = Gateway(.status(status))
            client.answer(request: request, with: .status(503))
            let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
            track(Array(1...10) + [-1] + Array(11...20), pipeline)
            pipeline.resumeDelivery()
            await drain(pipeline, time, atMost: 40)
            for number in [21, 22] {
                track([number], pipeline)
                await drain(pipeline, time, atMost: 10)
            }
            #expect(client.accepted.sorted() == Array(1...22), "request \(request)")
            let letters = try await pipeline.deadLetters()
            #expect(try letters.map { try $0.event().name } == ["poison"], "request \(request)")
            #expect(await pipeline.shutdown().isBalanced)
        }
    }

    /// Once an event was rejected beside accepted ones, the next such answers are searched at once.
    @Test(
        "a receiver that refuses everything for a while, after a bad event, rejects no good one",
        arguments: [401, 403, 503])
    func outageAfterBadEvent(status: Int) async throws {
        for isNewEventFirst in [false, true] {
            let time = VirtualTime()
            let client = Gateway(.status(status))
            let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
            track([-1] + Array(1...50), pipeline)
            pipeline.resumeDelivery()
            await drain(pipeline, time, atMost: 60)
            #expect(try await pipeline.deadLetters().count == 1)
            client.answerAll(.status(status))
            track(Array(51...60), pipeline)
            for _ in 0..<30 { await pipeline.flush() }
            client.answerAll(nil)
            if isNewEventFirst { track([61], pipeline) }
            await drain(pipeline, time, atMost: 60)
            #expect(Set(client.accepted) == Set(1...(isNewEventFirst ? 61 : 60)))
            #expect(try await pipeline.deadLetters().count == 1)
            #expect(await pipeline.shutdown().isBalanced)
        }
    }

    @Test(
        "bad events at the end cost a request for each flush, until another event is accepted", arguments: [403, 302])
    func badEventsAtTheEnd(status: Int) async throws {
        let time = VirtualTime()
        let client = Gateway(.status(status))
        let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
        track(Array(1...10) + (1...8).map { -$0 }, pipeline)
        pipeline.resumeDelivery()
        await drain(pipeline, time, atMost: 10)
        #expect(client.accepted == Array(1...10))
        // The probe that the last advance has made due.
        await pipeline.flush()
        let requests = client.requests
        for _ in 0..<100 { await pipeline.flush() }
        #expect(client.requests == requests + 100)
        for number in [11, 12] {
            track([number], pipeline)
            await drain(pipeline, time, atMost: 10)
        }
        #expect(client.accepted == Array(1...12))
        #expect(try await pipeline.deadLetters().count == 8)
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("a restart in the middle of the search loses nothing, and the next process finds the bad events")
    func restartInTheMiddle() async throws {
        let time = VirtualTime()
        let directory = try TemporaryDirectory()
        let client = Gateway(.status(403))
        let first = try pipeline(JSONLStore(at: directory.path), client, time, isPaused: true)
        track([-1] + Array(1...50) + [-2] + Array(51...100), first)
        first.resumeDelivery()
        for _ in 0..<3 { await first.flush() }
        await first.shutdown(timeout: .zero)
        let second = try pipeline(JSONLStore(at: directory.path), client, time)
        await drain(second, time, atMost: 40)
        #expect(Set(client.accepted) == Set(1...100))
        #expect(try await second.deadLetters().map(\.status) == [403, 403])
        #expect(await second.shutdown().isBalanced)
    }

    @Test("the bad events of one route don't delay another route")
    func otherRouteGoesOn() async throws {
        let time = VirtualTime()
        let (gateway, collector) = (Gateway(.status(403)), Gateway(.broken))
        let pipeline = try Pipeline(isDeliveryPaused: true, environment: PipelineEnvironment(time: time)) {
            Route("behind a gateway") {
                MemoryStore()
                HTTPTransport(to: "https://host/", format: .ndjson, configuration: .init(client: gateway))
            }
            Route("direct") {
                Filter { $0.name != "poison" }
                MemoryStore()
                HTTPTransport(to: "https://host/", format: .ndjson, configuration: .init(client: collector))
            }
        }
        track([-1] + Array(1...300), pipeline)
        pipeline.resumeDelivery()
        await pipeline.flush()
        #expect(collector.accepted == Array(1...300))
        #expect(gateway.accepted.isEmpty)
        await drain(pipeline, time, atMost: 20)
        #expect(gateway.accepted.sorted() == Array(1...300))
        #expect(pipeline.ledger.routes.map(\.deadLetters) == [1, 0])
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("Retry-After of a hold is obeyed, also by a flush")
    func retryAfterOfHoldIsObeyed() async throws {
        let time = VirtualTime()
        let client = Gateway(.status(403), headers: [("Retry-After", "1200")])
        client.answerAll(.status(403))
        let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true)
        track([1, 2], pipeline)
        pipeline.resumeDelivery()
        await pipeline.flush()
        time.advance(by: .seconds(1_199))
        await pipeline.flush()
        #expect(client.requests == 1)
        // Before the time: the route's alarm sends, too.
        client.answerAll(nil)
        time.advance(by: .seconds(2))
        await pipeline.flush()
        #expect(client.accepted == [1, 2])
        await pipeline.shutdown()
    }

    @Test("an outage is reported once, and its 10th and 100th failure with the count")
    func outageIsReportedOnce() async throws {
        let time = VirtualTime()
        let client = Gateway(.status(403))
        client.answerAll(.broken)
        let told = Locked<[String]>([])
        let pipeline = try pipeline(MemoryStore(), client, time, isPaused: true) { diagnostic in
            if diagnostic.kind == .retrying { told.withLock { $0.append(diagnostic.message) } }
        }
        track([1], pipeline)
        pipeline.resumeDelivery()
        for _ in 0..<120 { await pipeline.flush() }
        let reason = "connection reset (host:443)"
        func count(_ failures: Int) -> String {
            "\(reason) (\(failures) attempts failed since the receiver last accepted an event)"
        }
        #expect(told.withLock { $0 } == [reason, count(10), count(100)])
        client.answerAll(nil)
        await pipeline.flush()
        client.answerAll(.broken)
        track([2], pipeline)
        await pipeline.flush()
        #expect(told.withLock { $0.count } == 4)
        await pipeline.shutdown(timeout: .zero)
    }
}
