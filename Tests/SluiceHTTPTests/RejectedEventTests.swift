import Foundation
import HTTPTestSupport
import Sluice
import SluiceJSONL
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

/// Good events behind any number of bad ones are offered, after a bounded number of requests.
@Suite("Rejected events don't block others", .serialized)
struct RejectedEventTests {
    /// A backend that rejects each event whose line contains "poison".
    final class Backend: HTTPClient {
        enum Kind: String, CaseIterable, Sendable {
            /// HTTP 400 for the whole request.
            case wholeRequest
            /// HTTP 413 for a request with a bad event, however small it is.
            case tooLarge
            /// The backend names the bad events and accepts the others.
            case named
        }

        private struct State {
            var requests = 0
            var accepted: [Int] = []
        }

        private let kind: Kind
        private let state = Locked(State())

        init(_ kind: Kind) {
            self.kind = kind
        }

        var requests: Int { state.withLock(\.requests) }
        var accepted: Set<Int> { Set(acceptedInOrder) }
        /// In the order of arrival.
        var acceptedInOrder: [Int] { state.withLock(\.accepted) }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let lines = String(decoding: request.body, as: UTF8.self).split(separator: "\n")
            return state.withLock { state in
                state.requests += 1
                let bad = lines.map { $0.contains("poison") }
                if kind != .named, bad.contains(true) {
                    return HTTPResponse(status: kind == .tooLarge ? 413 : 400, body: Array("refused".utf8))
                }
                for (line, isBad) in zip(lines, bad) where !isBad {
                    if let number = Self.number(line) { state.accepted.append(number) }
                }
                let body = bad.map { $0 ? "0" : "1" }.joined()
                return HTTPResponse(status: 200, body: Array(body.utf8))
            }
        }

        private static func number(_ line: Substring) -> Int? {
            line.range(of: #""n":"#).flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) }
        }
    }

    /// NDJSON whose responses name the rejected events by a 0 for each.
    struct NamingFormat: WireFormat {
        func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
            try HTTPFormat.ndjson.wire.encode(batch, into: &request)
        }

        func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
            guard response.status == 200 else { return HTTPFormat.ndjson.wire.verdicts(for: batch, from: response) }
            return .each(response.body.map { $0 == UInt8(ascii: "0") ? .rejected(reason: "poison") : .accepted })
        }
    }

    /// NDJSON for a backend that limits events to 32 KiB.
    struct SmallEventFormat: FormatWrapper {
        var base: HTTPFormat { .ndjson }
        var maximumEventBytes: Int { 32_768 }
    }

    enum Layout: String, CaseIterable, Sendable {
        case memory
        /// In as few segments as possible.
        case oneSegment
        /// Each bad event is the only one of its segment, left by a process of its own.
        case launches
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let bad: Int
        let layout: Layout
        let kind: Backend.Kind
        let isUnordered: Bool

        var testDescription: String {
            "\(bad) bad events, \(layout), \(kind)\(isUnordered ? ", three batches in flight" : "")"
        }

        static let all: [Case] = [1, 2, 50, 100, 1_000].flatMap { bad in
            Layout.allCases.flatMap { layout in
                Backend.Kind.allCases.flatMap { kind in
                    [false, true].compactMap { isUnordered in
                        // Starting 1,000 processes, and finding 1,000 bad events, takes a while.
                        let isSlow = bad > 2 && bad != (layout == .launches ? 50 : 100)
                        guard Trials.isFull || !isSlow else { return nil }
                        return Case(bad: bad, layout: layout, kind: kind, isUnordered: isUnordered)
                    }
                }
            }
        }
    }

    private static let good = 200

    private func pipeline(
        _ store: any Store, _ client: Backend, _ time: VirtualTime, isUnordered: Bool = false
    ) throws -> Pipeline {
        try Pipeline(
            delivery: DeliveryPolicy(maximumBatchesInFlight: isUnordered ? 3 : 1), environment: .seeded(time)
        ) {
            store
            HTTPTransport(
                to: "https://host/", format: HTTPFormat(NamingFormat()),
                configuration: .init(client: client))
        }
    }

    /// Leaves events behind, as a process that ends before it can send anything.
    private func leave(_ events: [(name: String, number: Int)], in directory: String, _ time: VirtualTime) async throws
    {
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            JSONLStore(at: directory)
            ScriptedTransport(then: .hang)
        }
        pipeline.pauseDelivery()
        for event in events { pipeline.track(event.name, ["n": .int(event.number)]) }
        await pipeline.shutdown(timeout: .zero)
    }

    @Test("good events behind bad ones are all delivered", arguments: Case.all)
    func goodEventsAreDelivered(row: Case) async throws {
        let time = VirtualTime()
        let client = Backend(row.kind)
        let directory = try TemporaryDirectory()
        let store: any Store
        switch row.layout {
        case .memory: store = MemoryStore()
        case .oneSegment, .launches: store = JSONLStore(at: directory.path)
        }
        if row.layout == .launches {
            for number in 0..<row.bad { try await leave([("poison", -number)], in: directory.path, time) }
        }
        let pipeline = try pipeline(store, client, time, isUnordered: row.isUnordered)
        pipeline.pauseDelivery()
        if row.layout != .launches {
            for number in 0..<row.bad { pipeline.track("poison", ["n": .int(-number)]) }
        }
        for number in 1...Self.good { pipeline.track("Event", ["n": .int(number)]) }
        pipeline.resumeDelivery()

        for _ in 0..<300 where client.accepted.count < Self.good {
            await pipeline.flush()
            time.advance(by: .seconds(1))
        }
        #expect(client.accepted == Set(1...Self.good))
        let requests = client.requests
        // Bad events become dead letters beside others that are accepted.
        var last = Self.good
        while pipeline.ledger.routes[0].waiting > 0, last < Self.good + 4 * row.bad + 20 {
            time.advance(by: .seconds(10))
            last += 1
            pipeline.track("Event", ["n": .int(last)])
            await pipeline.flush()
        }
        #expect(client.acceptedInOrder.sorted() == Array(1...last))
        let route = pipeline.ledger.routes[0]
        #expect((route.delivered, route.deadLetters, route.waiting) == (last, row.bad, 0))
        #expect(requests <= 3 * row.bad + 100 && client.requests - requests <= 11 * row.bad + 20, "\(client.requests)")
        Trials.report("\(row): \(requests) requests, then \(client.requests - requests)")
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("progress through refused events survives restarts")
    func restartsMakeProgress() async throws {
        let time = VirtualTime()
        let directory = try TemporaryDirectory()
        let client = Backend(.wholeRequest)
        try await leave(
            (0..<100).map { ("poison", -$0) } + (1...10).map { ("Event", $0) }, in: directory.path, time)
        // Each launch is too short for more than one flush.
        for _ in 0..<20 where client.accepted.count < 10 {
            let pipeline = try pipeline(
                JSONLStore(at: directory.path), client, time)
            await pipeline.flush()
            await pipeline.shutdown(timeout: .zero)
        }
        #expect(client.accepted == Set(1...10))
    }

    @Test("a throttled user never delays another", arguments: [1, 50, 1_000])
    func throttledUserDelaysNobody(count: Int) async throws {
        let time = VirtualTime()
        let transport = ScriptedTransport { _, batch in
            .answer(
                .each(
                    batch.events.map { line in
                        String(decoding: line.bytes, as: UTF8.self).contains("throttled")
                            ? .retry(after: .seconds(600), reason: "throttled") : .accepted
                    }))
        }
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            MemoryStore()
            transport
        }
        pipeline.pauseDelivery()
        for _ in 0..<count { pipeline.track("throttled") }
        for _ in 0..<200 { pipeline.track("Event") }
        pipeline.resumeDelivery()
        // Each batch of throttled events pauses the route for up to a second.
        let pauses = (count + 49) / 50
        for _ in 0...pauses where pipeline.ledger.routes[0].delivered < 200 {
            await pipeline.flush()
            time.advance(by: .seconds(1))
        }
        #expect(pipeline.ledger.routes[0].delivered == 200)
        #expect(pipeline.ledger.routes[0].waiting == count)
        #expect(transport.batches.count <= pauses + 5)
        await pipeline.deleteWaitingEvents()
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("events that can't be sent become dead letters without a request, also 50 in front of good ones")
    func unsendableEventsNeedNoRequest() async throws {
        let time = VirtualTime()
        let client = Backend(.wholeRequest)
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            MemoryStore()
            HTTPTransport(
                to: "https://host/", format: HTTPFormat(SmallEventFormat()), configuration: .init(client: client))
        }
        let large = PropertyValue.string(String(repeating: "x", count: 60_000))
        pipeline.pauseDelivery()
        for _ in 0..<50 { pipeline.track("Large", ["pad": large]) }
        pipeline.resumeDelivery()
        await pipeline.flush()
        #expect(client.requests == 0)
        #expect(pipeline.ledger.routes[0].deadLetters == 50)
        #expect(pipeline.ledger.routes[0].attempts.failed == 0)
        await pipeline.shutdown()
    }

    @Test("dead letters can be listed, replayed and discarded")
    func deadLettersCanBeManaged() async throws {
        let time = VirtualTime()
        let client = Backend(.named)
        let pipeline = try pipeline(MemoryStore(), client, time)
        for number in 1...3 { pipeline.track(number == 2 ? "Event" : "poison", ["n": .int(number)]) }
        await pipeline.flush()
        let letters = try await pipeline.deadLetters()
        #expect(try letters.map { try $0.event().name } == ["poison", "poison"])
        #expect(letters.map(\.reason) == ["poison", "poison"])
        #expect(letters.map(\.date) == [time.wallTime(), time.wallTime()])
        pipeline.pauseDelivery()
        #expect(try await pipeline.replayDeadLetters(where: { $0.id == letters[0].id }) == 1)
        #expect(pipeline.ledger.routes[0].waiting == 1)
        // Named alone, it would only be set aside.
        pipeline.track("Event", ["n": 4])
        pipeline.resumeDelivery()
        await pipeline.flush()
        #expect(try await pipeline.deadLetters().count == 2)
        #expect(try await pipeline.discardDeadLetters { _ in true } == 2)
        #expect(try await pipeline.deadLetters(route: "main").isEmpty)
        await #expect(throws: SluiceError.self) { try await pipeline.deadLetters(route: "none") }
        let route = pipeline.ledger.routes[0]
        #expect(
            (route.rejected, route.replayed, route.deadLetters, route.droppedDeadLetters) == (3, 1, 0, [.deleted: 2]))
        #expect(await pipeline.shutdown().isBalanced)
        await #expect(throws: SluiceError.self) { try await pipeline.deadLetters() }
    }
}
