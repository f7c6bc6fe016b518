import HTTPTestSupport
import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

@Suite("A batch in several requests", .serialized)
struct SeveralRequestsTests {
    private static let ok = HTTPResponse(200, #"{"code":200,"status":1}"#)

    private static func event(_ number: Int, _ name: String, _ properties: Properties) throws -> EventLine {
        var event = Event.numbered(number)
        event.name = name
        event.properties = properties
        event.distinctID = "u"
        return try EventLine(event)
    }

    /// Events for `/engage`, `/import`, `/groups`, `/import` and `/engage`.
    private static func batch() throws -> Batch {
        try Batch(
            id: 1,
            events: [
                event(0, "$ProfileAppend", ["$append": ["tags": ["a", "b"]]]), event(1, "Bought", ["n": 1]),
                event(2, "$GroupIdentify", ["$group_type": "t", "$group_key": "g", "$group_set": ["n": 2]]),
                event(3, "Bought", ["n": 3]),
                event(4, "$ProfileSet", ["$set": ["n": 4]]),
            ])
    }

    private static let (format, url) = (HTTPFormat.mixpanel(token: "k"), "https://h/import")

    private static func fates(_ client: KeepingClient) async throws -> [Fate] {
        try await client.transport(format, to: url).send(batch()).fates(of: 5)
    }

    /// Its endpoints are the parts of an event's name between dots.
    private struct DottedFormat: WireFormat {
        func endpoints(for line: EventLine) throws -> [String] {
            try line.event().name.split(separator: ".").map(String.init)
        }

        func encode(_ batch: Batch, into request: inout HTTPRequest) {}
    }

    @Test(
        "a request has its events in their order, each once",
        arguments: [
            (["a", "a", "a"], ["a": [0, 1, 2]]), (["a", "b", "a", "a", "b"], ["a": [0, 2, 3], "b": [1, 4]]),
            (["a.b", "a.b", "b", "b.a"], ["a": [0, 1, 3], "b": [0, 1, 2, 3]]),
            (["a.a", "a.a", "b.a.b"], ["a": [0, 1, 2], "b": [2]]), ([".", "a", "."], ["": [0, 2], "a": [1]]),
        ] as [([String], [String: [Int]])])
    func requestsHaveEventsInOrder(names: [String], expected: [String: [Int]]) throws {
        let events = names.map { Event(id: .make(at: .now), name: $0, time: .now, anonymousID: "a") }
        let batch = try Batch(id: 1, events: events.map { try EventLine($0) })
        let requests = DottedFormat().requests(of: batch)
        #expect(Dictionary(requests.map { ($0.endpoint, $0.events) }, uniquingKeysWith: +) == expected)
        #expect(requests.map { $0.events[0] } == requests.map { $0.events[0] }.sorted())
    }

    @Test("each endpoint gets one request, in the order of the first events, with its events in order")
    func endpointsGetRequests() async throws {
        let client = KeepingClient { _, _ in Self.ok }
        #expect(
            try await client.transport(Self.format, to: Self.url).send(Self.batch()) == .all(.accepted, status: 200))
        #expect(client.requests.map(\.endpoint) == ["engage", "", "groups"])
        let bodies = try client.requests.map { try JSONReader.value(of: $0.body).array?.compactMap(\.object) ?? [] }
        #expect(bodies[0].map { $0["$append"] ?? $0["$set"] } == [["tags": "a"], ["tags": "b"], ["n": 4]])
        #expect(bodies[1].map { $0["properties"]?.object?["n"] } == [1, 3])
        #expect(bodies[2].map { $0["$group_id"] } == ["g"])
        #expect(Set(client.requests.map(\.id)).count == 1)
    }

    @Test("a response decides on the events of its request only")
    func responseDecidesOnItsEvents() async throws {
        for (status, fate) in [(503, Fate.retry), (429, .retry), (400, .refused), (413, .tooLarge), (404, .hold)] {
            for (endpoint, concerned) in [("engage", [0, 4]), ("groups", [2])] {
                let client = KeepingClient { request, _ in
                    request.endpoint == endpoint ? HTTPResponse(status: status) : Self.ok
                }
                #expect(try await Self.fates(client) == (0..<5).map { concerned.contains($0) ? fate : .accepted })
            }
        }
    }

    @Test("a response that all endpoints have in common is one about the batch")
    func commonResponseIsOne() async throws {
        let all = KeepingClient { _, _ in HTTPResponse(status: 404, body: Array("no such place".utf8)) }
        let verdicts = try await all.transport(Self.format, to: Self.url).send(Self.batch())
        guard case .all(let verdict) = verdicts.kind else {
            Issue.record("the results are not one")
            return
        }
        #expect(Fate(verdict) == .hold && verdicts.response == "no such place")
    }

    @Test(
        "one event that an endpoint answers in its own way becomes a dead letter, and no other one",
        arguments: [403, 302, 500])
    func oneEventOfOneEndpoint(status: Int) async throws {
        let time = VirtualTime()
        let client = KeepingClient { request, _ in
            let isBad = String(decoding: request.body, as: UTF8.self).contains("poison")
            return isBad ? HTTPResponse(status: status, body: Array("rule 7".utf8)) : Self.ok
        }
        let pipeline = try Pipeline(isDeliveryPaused: true, environment: .seeded(time)) {
            MemoryStore()
            client.transport(Self.format, to: Self.url)
        }
        for number in 0..<20 {
            pipeline.track("Bought") { $0.distinctID = "u" }
            pipeline.track("$ProfileSet", ["$set": ["name": number == 7 ? "poison" : "good"]]) { $0.distinctID = "u" }
        }
        pipeline.resumeDelivery()
        for _ in 0..<30 where pipeline.ledger.routes[0].waiting > 0 {
            await pipeline.flush()
            time.advance(by: .seconds(10))
            pipeline.track("Bought") { $0.distinctID = "u" }
        }
        await pipeline.flush()
        let letters = try await pipeline.deadLetters()
        #expect(try letters.map { try $0.event().properties["$set"]?.object?["name"] } == ["poison"])
        #expect(letters.map(\.status) == [status] && letters.map(\.response) == ["rule 7"])
        #expect(await pipeline.shutdown().isBalanced)
    }

    @Test("a time that an endpoint names is for its events, and one of the endpoint without a name for the route")
    func namedTimesAreTheirEndpoints() async throws {
        let client = KeepingClient { request, _ in
            HTTPResponse(status: 503, headers: [("Retry-After", request.endpoint.isEmpty ? "7" : "3")])
        }
        let transport = client.transport(Self.format, to: Self.url)
        let batch = try Self.batch()
        #expect(
            try await transport.send(batch).each.map(\.kind) == [3, 7, 3, 7, 3].map { .retry(after: .seconds($0)) })
        #expect(client.requests.count == 3)
        for (index, isWhole) in [(0, false), (1, true)] {
            let alone = try await transport.send(Batch(id: 2, events: [batch.events[index]]))
            if case .all = alone.kind { #expect(isWhole) } else { #expect(!isWhole) }
        }
    }

    @Test(
        "a time is for all requests that only divide an endpoint, and they aren't sent",
        arguments: [HTTPFormat.googleAnalytics(measurementID: "G-1", apiSecret: "k"), .objects(region: "r")])
    func timesAreForDividedEndpoints(format: HTTPFormat) async throws {
        let lines = try (0..<9).map { number in
            var event = Event.numbered(number % 3)
            event.time = Timestamp(milliseconds: Int64(number % 3) * 86_400_000)
            event.anonymousID = "u\(number % 3)"
            return try EventLine(event)
        }
        let batch = Batch(id: 1, events: lines)
        for (accepted, status, seconds, requests) in [(0, 429, 7, 1), (0, 503, 7, 1), (1, 429, 7, 2), (0, 503, nil, 3)]
        {
            let count = Locked(0)
            let client = KeepingClient { _, _ in
                if count.withLock({
                    $0 += 1; return $0 <= accepted
                }) {
                    return HTTPResponse(200, "", headers: [("ETag", "a")])
                }
                return HTTPResponse(status: status, headers: seconds.map { [("Retry-After", "\($0)")] } ?? [])
            }
            let verdicts = try await client.transport(format).send(batch)
            #expect(client.requests.count == requests)
            let retry = Verdict.Kind.retry(after: seconds.map { .seconds($0) })
            if case .all(let verdict) = verdicts.kind {
                #expect(accepted == 0 && verdict.kind == retry)
            } else {
                #expect(verdicts.each.map(\.kind) == (0..<9).map { $0 % 3 < accepted ? .accepted : retry })
            }
        }
    }

    @Test("a throttled Google Analytics gets no other request before its time")
    func throttledReceiverIsLeftAlone() async throws {
        let time = VirtualTime()
        let client = KeepingClient { _, _ in HTTPResponse(status: 429, headers: [("Retry-After", "60")]) }
        let pipeline = try Pipeline(environment: .seeded(time)) {
            MemoryStore()
            client.transport(.googleAnalytics(measurementID: "G-1", apiSecret: "k"))
        }
        for number in 0..<1_000 { pipeline.track("Bought") { $0.anonymousID = "u\(number % 7)" } }
        for second in 1...120 {
            await pipeline.flush()
            time.advance(by: .seconds(1))
            #expect(client.requests.count <= 1 + second / 60)
        }
        #expect(client.requests.count > 1)
        pipeline.pauseDelivery()
    }

    @Test("without a response, the requests behind it are not tried, and the results before it count")
    func noResponseEndsSending() async throws {
        let client = KeepingClient { request, _ in
            if request.endpoint.isEmpty { throw SluiceError(.inputOutput, "no connection") }
            return Self.ok
        }
        #expect(try await Self.fates(client) == [.accepted, .retry, .retry, .retry, .accepted])
        #expect(client.requests.map(\.endpoint) == ["engage", ""])
        let dead = KeepingClient { _, _ in throw SluiceError(.inputOutput, "no connection") }
        await #expect(throws: SluiceError.self) { try await Self.fates(dead) }
        #expect(dead.requests.count == 1)
    }

    @Test("the index of a failed record is that of its event, although an event can be several records")
    func failedRecordsAreEvents() async throws {
        func fates(_ records: String, good: Int?) async throws -> [Fate] {
            let count = good.map { #","num_good_events":\#($0)"# } ?? ""
            let body = #"{"code":400,"failed_records":[\#(records)]\#(count)}"#
            return try await Self.fates(
                KeepingClient { request, _ in
                    request.endpoint == "engage" ? HTTPResponse(status: 400, body: Array(body.utf8)) : Self.ok
                })
        }
        // Records 0 and 1 are those of event 0, and record 2 is event 4.
        #expect(try await fates(#"{"index":2}"#, good: 2) == [.accepted, .accepted, .accepted, .accepted, .rejected])
        #expect(try await fates(#"{"index":1}"#, good: 2) == [.rejected, .accepted, .accepted, .accepted, .accepted])
        #expect(try await fates(#"{"index":1}"#, good: 1) == [.rejected, .accepted, .accepted, .accepted, .retry])
        #expect(try await fates(#"{"index":3}"#, good: 2) == [.refused, .accepted, .accepted, .accepted, .refused])
    }

    @Test("an unreadable line and a format that can't name its endpoint concern no other event")
    func unreadableLineConcernsNoOther() async throws {
        let client = KeepingClient { _, _ in Self.ok }
        let events = try Self.batch().events
        let broken = EventLine(bytes: events[1].bytes.dropLast(), priority: .normal)
        let alien = EventLine(bytes: ArraySlice("{}".utf8), priority: .normal)
        let batch = Batch(id: 1, events: [alien, events[0], broken, events[1]])
        #expect(
            try await client.transport(Self.format, to: Self.url).send(batch).fates(of: 4)
                == [.unsendable, .accepted, .unsendable, .accepted])
        #expect(client.requests.map(\.endpoint) == ["", "engage"])
    }

    @Test("a failed request is sent again with the same bytes, and the accepted ones are not")
    func failedRequestIsRepeatedAlone() async throws {
        let client = KeepingClient { request, number in
            request.endpoint == "engage" && number == 1 ? HTTPResponse(status: 503) : Self.ok
        }
        let pipeline = try Pipeline(environment: PipelineEnvironment(random: { 0 })) {
            MemoryStore()
            client.transport(Self.format, to: Self.url)
        }
        pipeline.track("$ProfileSet", ["$set": ["n": 4]]) { $0.loginID = "u" }
        pipeline.track("Bought")
        pipeline.track("$ProfileSet", ["$set": ["n": 5]]) { $0.loginID = "u" }
        let route = await pipeline.shutdown(timeout: .seconds(600)).routes[0]
        #expect(route.delivered == 3 && route.waiting == 0 && route.rejected == 0)
        #expect(route.attempts.lastStatus == 200)
        let requests = client.requests
        #expect(requests.map(\.endpoint) == ["engage", "", "engage"])
        #expect(requests[0].body == requests[2].body)
        #expect(Set(requests.map(\.id)).count == 1)
        #expect(requests.map(\.retryCount) == [0, 0, 1])
    }
}

@Suite("What a format knows about a request")
struct RequestIdentityTests {
    @Test("Segment is told how often a request was repeated")
    func retryCountIsSent() throws {
        for (count, header) in [(2, "2"), (0, nil)] {
            var request = HTTPRequest(url: "https://h", retryCount: count)
            try SegmentFormat(writeKey: "k").encode(.allKinds(), into: &request)
            #expect(request.header("X-Retry-Count") == header)
        }
    }

    @Test("the token of a request depends on its events and their order only")
    func identityDependsOnEvents() throws {
        let batch = try Batch.numbered(4)
        let events = batch.events
        #expect(Batch(id: 9, events: events, retryCount: 3).deduplicationToken == batch.deduplicationToken)
        let others = [Array(events.dropLast()), Array(events.dropFirst()), events.reversed(), []]
        #expect(Set(others.map { Batch(id: 3, events: $0).deduplicationToken } + [batch.deduplicationToken]).count == 5)
        #expect(batch.deduplicationToken.utf8.count <= 64)
    }
}
