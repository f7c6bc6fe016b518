import HTTPTestSupport
import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The rules of PostHog's public harness for version 1 of its capture API.
@Suite("PostHog's capture API, version 1")
struct PostHogCaptureTests {
    /// Answers with results by the numbers of requests. Without results, an answer is 503.
    private static func client(_ answers: [[String]?]) -> KeepingClient {
        KeepingClient { request, number in
            guard number <= answers.count, let results = answers[number - 1] else { return HTTPResponse(status: 503) }
            let members = zip(try request.uuids, results).map { #""\#($0)":{"result":"\#($1)"}"# }
            return HTTPResponse(200, #"{"results":{\#(members.joined(separator: ","))}}"#)
        }
    }

    private static let format = HTTPFormat.postHog(apiKey: "phc_1", locatesUsers: true)

    /// Delivers events to a server with these answers.
    private static func deliver(_ count: Int, _ answers: [String]?...) async throws -> ([HTTPRequest], RouteLedger) {
        let client = client(answers)
        let pipeline = try Pipeline(environment: PipelineEnvironment(random: { 0 })) {
            MemoryStore()
            client.transport(format)
        }
        pipeline.trackTogether {
            for number in 0..<count { pipeline.track("Event \(number)") }
        }
        // A shutdown would offer an event alone after the first 503.
        for _ in 0..<20 where pipeline.ledger.routes[0].waiting > 0 { await pipeline.flush() }
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        return (client.requests, ledger.routes[0])
    }

    @Test("retries keep the request's id, its time of creation and the events; attempts count from 1")
    func retriesKeepIdentity() async throws {
        let time = VirtualTime()
        let client = Self.client([])
        let transport = client.transport(Self.format)
        try transport.open(in: .virtual(time))
        let events = try Batch.numbered(3).events
        for retryCount in 0..<3 {
            _ = try await transport.send(Batch(id: 7, events: events, retryCount: retryCount))
            time.advance(by: .seconds(1))
        }
        _ = try await transport.send(Batch(id: 8, events: events))
        let requests = client.requests
        try #require(requests.map { $0.header("PostHog-Attempt") } == ["1", "2", "3", "1"])
        #expect(Set(requests[..<3].map { $0.header("PostHog-Request-Id") }).count == 1)
        #expect(requests[3].header("PostHog-Request-Id") != requests[0].header("PostHog-Request-Id"))
        #expect(Set(requests[..<3].map(\.body)).count == 1)
        #expect(Set(requests.map { $0.header("PostHog-Request-Timestamp") }).count == 4)
        #expect(try requests[2].json.object?["created_at"] == "2026-01-01T00:00:00.000Z")
        #expect(try requests[3].json.object?["created_at"] == "2026-01-01T00:00:03.000Z")
    }

    @Test("only events with the result retry are sent again, as the next attempt of the same request")
    func onlyRetriedEventsAreRepeated() async throws {
        let (requests, route) = try await Self.deliver(
            5, ["ok", "drop", "retry", "limited", "retry"], nil, ["ok", "retry"], ["warning"])
        try #require(requests.map { try $0.uuids.count } == [5, 2, 2, 1])
        #expect(try requests[1].uuids == [requests[0].uuids[2], requests[0].uuids[4]])
        #expect(try requests[3].uuids == [requests[0].uuids[4]])
        #expect(requests.map { $0.header("PostHog-Attempt") } == ["1", "2", "3", "4"])
        #expect(Set(requests.map { $0.header("PostHog-Request-Id") }).count == 1)
        #expect(route.delivered == 3 && route.deadLetters == 2 && route.waiting == 0)
    }

    @Test("events without a result are accepted, as in PostHog's SDKs")
    func absentEventsAreAccepted() async throws {
        let (requests, route) = try await Self.deliver(4, ["ok", "retry"], [])
        #expect(requests.count == 2)
        #expect(route.delivered == 4 && route.deadLetters == 0 && route.waiting == 0)
    }

    private static func record(_ properties: Properties) throws -> Properties {
        try VerbTests.record(Event.bare.with(properties), format)
    }

    @Test("the session, the window and the controls of PostHog's SDKs are beside the properties")
    func controlsAreLifted() throws {
        let record = try Self.record([
            "$session_id": "s", "$window_id": "w", "$cookieless_mode": "1", "$ignore_sent_at": true,
            "$product_tour_id": "tour", "$process_person_profile": 0, "$lib": "Shop",
            "$lib_version": .string(LibraryVersion.current), "n": 1,
        ])
        #expect(record["session_id"] == "s" && record["window_id"] == "w")
        #expect(
            record["options"] == [
                "cookieless_mode": true, "disable_skew_correction": true, "process_person_profile": false,
                "product_tour_id": "tour",
            ])
        // The header has our own library.
        #expect(record["properties"] == ["n": 1, "$is_identified": false])
    }
}

extension HTTPRequest {
    /// The ids of the events of a body for PostHog.
    fileprivate var uuids: [String] {
        get throws { try json.object?["batch"]?.array?.compactMap { $0.object?["uuid"]?.string } ?? [] }
    }
}
