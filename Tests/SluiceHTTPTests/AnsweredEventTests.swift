import Foundation
import HTTPTestSupport
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
        case "elasticsearch": .elasticsearch(index: "i")
        case "otlp": .otlp(service: "shop")
        case "named": HTTPFormat(NamingFormat())
        default: .ndjson
        }
    }

    private func pipeline(
        _ store: any Store, _ client: Gateway, _ time: VirtualTime, _ format: String = "ndjson",
        isPaused: Bool = false, _ onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = { _ in }
    ) throws -> Pipeline {
        try Pipeline(isDeliveryPaused: isPaused, environment: .seeded(time), onDiagnostic: onDiagnostic) {
            store
            client.transport(Self.format(format))
        }
    }

    private func track(_ events: [Int], _ pipeline: Pipeline) {
        for number in events {
            pipeline.track(number < 0 ? "poison" : "Event", ["n": .string("number-\(abs(number)).")])
        }
    }

    /// Flushes every ten seconds, with a new good event in each round, until nothing else waits.
    ///
    /// - Returns: the number of the last good event.
    @discardableResult
    private func drain(
        _ pipeline: Pipeline, _ time: VirtualTime, from first: Int = AnsweredEventTests.good + 1, rounds: Int
    ) async -> Int {
        for number in first..<first + rounds {
            await pipeline.flush()
            if pipeline.ledger.routes.allSatisfy({ $0.waiting == 0 }) { return number - 1 }
            time.advance(by: .seconds(10))
            track([number], pipeline)
        }
        await pipeline.flush()
        return first + rounds - 1
    }

    /// Flushes every second, without new events, until the receiver has this many.
    private func deliver(_ count: Int, to client: Gateway, _ pipeline: Pipeline, _ time: VirtualTime) async {
        for _ in 0..<600 where client.accepted.count < count {
            await pipeline.flush()
            time.advance(by: .seconds(1))
        }
    }

    /// Checks that all good events arrived, each once, and that only the bad ones are dead letters.
    private func expect(
        _ pipeline: Pipeline, _ client: Gateway, upTo last: Int, bad: Int, statuses: Set<Int>,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(client.accepted.sorted() == Array(1...last), sourceLocation: location)
        let letters = try await pipeline.deadLetters()
        #expect(letters.count == bad, sourceLocation: location)
        #expect(
            try letters.allSatisfy {
                try $0.event().name == "poison" && $0.response?.contains("rule 942100") == true
                    && $0.status.map(statuses.contains) == true
            }, sourceLocation: location)
        let ledger = await pipeline.shutdown(timeout: .zero)
        #expect(ledger.isBalanced && ledger.routes[0].waiting == 0, sourceLocation: location)
    }

    @Test("every good event is delivered, and every bad one is a dead letter with its status", arguments: Case.all)
    func goodEventsAreDelivered(row: Case) async throws {
        let time = VirtualTime()
        let client = Gateway(row.answer, format: row.format)
        let directory = TemporaryDirectory()
        let store: any Store = row.isJSONL ? JSONLStore(at: directory.path) : MemoryStore()
        let isLeft = row.isJSONL && row.place == .eachSegment
        if isLeft {
            // Each process leaves a segment.
            let share = row.events.count / 5
            for segment in 0..<5 {
                let left = try pipeline(JSONLStore(at: directory.path), client, time, isPaused: true)
                track(Array(row.events.dropFirst(segment * share).prefix(segment == 4 ? .max : share)), left)
                await left.shutdown(timeout: .zero)
            }
        }
        let pipeline = try pipeline(store, client, time, row.format, isPaused: true)
        if !isLeft { track(row.events, pipeline) }
        pipeline.resumeDelivery()
        await deliver(Self.good, to: client, pipeline, time)
        #expect(client.accepted.sorted() == Array(1...Self.good))
        let (found, delay) = (client.requests, time.continuousTime())
        #expect(found <= 3 * row.bad + 60 && delay <= .seconds(2 * row.bad + 10), "\(found) requests in \(delay)")
        let last = await drain(pipeline, time, rounds: 8 * row.bad + 20)
        #expect(client.requests - found <= 14 * row.bad + 20, "\(client.requests - found) requests")
        Trials.report("\(row): \(found) requests in \(delay), then \(client.requests - found) in \(last) rounds")
        try await expect(pipeline, client, upTo: last, bad: row.bad, statuses: [row.answer.status])
    }

    @Test(
        "a short outage during a shutdown keeps no event back, however few there are",
        arguments: [(critical: 0, failures: 1), (2, 1), (2, 3)])
    func shortOutageDuringShutdown(critical: Int, failures: Int) async throws {
        let time = RunningTime()
        for seed in 0..<20 as Range<UInt64> {
            let outage = Verdicts.all(.retry(after: nil), status: 503)
            let transport = ScriptedTransport(Array(repeating: .answer(outage), count: failures))
            let pipeline = try Pipeline(environment: .seeded(time, seed)) {
                MemoryStore()
                transport
            }
            for _ in 0..<critical { pipeline.track("Critical", priority: .critical) }
            pipeline.track("Normal")
            #expect(await time.shutDown(pipeline, within: .seconds(20)).routes[0].delivered == critical + 1)
        }
    }

    @Test("an outage is reported once, and so are a search and its result")
    func diagnosticsAreFew() async throws {
        let reset: (Gateway.Answer, [Diagnostic.Kind]) = (.broken, [.retrying, .resumed, .retrying, .resumed])
        for (answer, kinds) in [reset, (.status(403), [.paused, .resumed, .paused, .resumed]), (nil, [])] {
            let time = VirtualTime()
            let client = Gateway(.status(403))
            let told = Arrivals<Diagnostic>()
            let pipeline = try pipeline(MemoryStore(), client, time) { told.add($0) }
            for number in 1...2 {
                client.answerAll(answer)
                track([number], pipeline)
                for _ in 0..<120 { await pipeline.flush() }
                client.answerAll(nil)
                await pipeline.flush()
            }
            if answer == nil {
                track([-1] + Array(3...50), pipeline)
                let last = await drain(pipeline, time, from: 51, rounds: 40)
                #expect(told.all.map(\.kind) == [.searching, .rejected])
                let message = told.all.last?.message ?? ""
                #expect(message.hasPrefix("1 event became a dead letter: "))
                #expect(message.hasSuffix("the last one: poison)"))
                try await expect(pipeline, client, upTo: last, bad: 1, statuses: [403])
            } else {
                #expect(told.all.map(\.kind) == kinds)
                await pipeline.shutdown(timeout: .zero)
            }
        }
    }
}
