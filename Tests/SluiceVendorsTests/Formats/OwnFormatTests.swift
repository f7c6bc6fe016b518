// Without @testable: a host has no more than this.
import HTTPTestSupport
import Sluice
import SluiceHTTP
import SluiceMemory
import SluiceTesting
import SluiceVendors
import TestSupport
import Testing

/// Segment's format, without a property, with a header, and with a note of each response.
private struct GatewayFormat: FormatWrapper {
    let base: HTTPFormat
    let statuses = Locked<[Int]>([])

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        let events = try batch.events.map { line in
            var event = try line.event()
            event.properties["email"] = nil
            return try EventLine(event)
        }
        try base.encode(Batch(id: batch.id, events: events, retryCount: batch.retryCount), into: &request)
        request.setHeader("X-Team", "checkout")
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        statuses.withLock { $0.append(response.status) }
        return base.verdicts(for: batch, from: response)
    }
}

/// Every verb, with endpoints for profiles and for events.
private struct CRMFormat: WireFormat {
    let user: String

    func validate() throws(SluiceError) {
        if user.isEmpty { throw SluiceError(.invalidArgument, "the user is empty: pass one") }
    }

    func endpoints(for line: EventLine) throws -> [String] {
        switch Verb(try line.event()) {
        case .signUp: ["persons", "events"]
        case .set, .unset: ["persons"]
        default: ["events"]
        }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath(HTTPEncoding.percentEncoded("a b"), request.endpoint)
        request.setBasicAuthorization(user: user, password: "s")
        request.setHeader("Idempotency-Key", batch.deduplicationToken)
        request.setHeader("X-Batch", request.id)
        var body = JSONWriter()
        try body.array(batch.events) { json, line in
            let event = try line.event()
            json.object {
                $0["user"] = event.userID
                $0["device"] = event.deviceID
                $0["secret"] = HTTPEncoding.base64(event.name.utf8)
                switch Verb(event) {
                case .signUp(let anonymousID):
                    $0["was"] = anonymousID
                    $0.object("traits", event.traits)
                case .set(let properties): $0.object("traits", properties)
                case .group(let type, let id, _): $0.object("groups", [type: .string(id)])
                case .screen(let name): $0["screen"] = name
                case .revenue(let revenue): $0["amount"] = .double(revenue.amount)
                default: $0.raw("line", line.json)
                }
            }
        }
        request.body = body.bytes
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        do {
            let answer = try PropertyValue(json: response.body)
            return .all(answer == ["of": .string(response.endpoint)] ? .accepted : .retry())
        } catch {
            return .all(response.verdict)
        }
    }
}

@Suite("A format of one's own, with the public API")
struct OwnFormatTests {
    @Test("a shipped format can be wrapped: a field is changed, a header added, and the response observed")
    func shippedFormatIsWrapped() async throws {
        let client = KeepingClient(responding: HTTPResponse(200, #"{"success":true}"#))
        let format = GatewayFormat(base: .segment(writeKey: "k"))
        let pipeline = try Pipeline {
            MemoryStore()
            client.transport(HTTPFormat(format), to: "https://api.segment.io")
        }
        pipeline.track("Bought", ["sku": "A-7", "email": "ada@example.com"])
        await pipeline.flush()
        let request = try #require(client.requests.first)
        #expect(request.url == "https://api.segment.io/v1/batch" && request.header("X-Team") == "checkout")
        #expect(client.bodies[0].contains("A-7") && !client.bodies[0].contains("ada@example.com"))
        #expect(format.statuses.withLock(\.self) == [200])
        #expect(await pipeline.shutdown().routes[0].delivered == 1)
    }

    @Test(
        "a wrapper has the limits, endpoints and arguments of its base",
        arguments: [
            HTTPFormat.segment(writeKey: "k"), .mixpanel(token: "t"), .postHog(apiKey: "k"), .clickHouse(table: "t"),
        ])
    func wrapperHasLimits(base: HTTPFormat) throws {
        let wrapper = HTTPFormat(GatewayFormat(base: base))
        #expect(wrapper.maximumBatchSize == base.maximumBatchSize && wrapper.maximumBodyBytes == base.maximumBodyBytes)
        #expect(wrapper.maximumEventBytes == base.maximumEventBytes && wrapper.acceptsGzip == base.acceptsGzip)
        let line = try EventLine(Event(name: "$ProfileSet", properties: ["$set": ["n": 1]]))
        #expect(try wrapper.endpoints(for: line) == base.endpoints(for: line))
        try wrapper.validate()
        let wrong = HTTPFormat(GatewayFormat(base: .segment(writeKey: "k\n")))
        #expect(throws: SluiceError.self) { try wrong.validate() }
    }

    private static func line(_ name: String, _ properties: Properties) throws -> EventLine {
        var event = Event(name: name, properties: properties)
        (event.anonymousID, event.loginID, event.distinctID) = ("a-1", "u-1", "u-1")
        return try EventLine(event)
    }

    @Test("it knows verbs, persons and traits, and can use several endpoints for one event")
    func formatKnowsVerbs() async throws {
        let client = KeepingClient { request, _ in HTTPResponse(200, #"{"of":"\#(request.endpoint)"}"#) }
        let transport = client.transport(HTTPFormat(CRMFormat(user: "u")), to: "https://crm")
        try transport.open()
        let batch = Batch(
            id: 1,
            events: try [
                Self.line("Bought", ["at": .date(Timestamp(milliseconds: 0))]),
                Self.line("$SignUp", ["$original_id": "a-1", "$set": ["plan": "pro"]]),
                Self.line("$ProfileSet", ["$set": ["name": "Ada"]]),
                Self.line("$AppViewScreen", ["$screen_name": "Home"]), Self.line("$Revenue", ["$amount": 12.5]),
                Self.line("$GroupIdentify", ["$group_type": "t", "$group_key": "g"]),
            ])
        #expect(try await transport.send(batch) == .all(.accepted, status: 200))
        #expect(client.requests.map(\.url) == ["https://crm/a%2520b/events", "https://crm/a%2520b/persons"])
        #expect(client.requests.allSatisfy { $0.header("Authorization") == "Basic dTpz" })
        #expect(Set(client.requests.map { $0.header("X-Batch") }).count == 1)
        #expect(Set(client.requests.map { $0.header("Idempotency-Key") }).count == 2)
        let bodies = client.bodies
        let person = #"{"user":"u-1","device":"a-1","secret":""#
        #expect(
            bodies[1] == #"["# + person + #"JFNpZ25VcA==","was":"a-1","traits":{"plan":"pro"}},"# + person
                + #"JFByb2ZpbGVTZXQ=","traits":{"name":"Ada"}}]"#)
        #expect(bodies[0].contains(#""at":"1970-01-01T00:00:00.000Z""#) && bodies[0].contains(#""screen":"Home""#))
        #expect(bodies[0].contains(#""amount":12.5"#) && bodies[0].contains(#""groups":{"t":"g"}"#))
    }

    @Test("an event of two endpoints is sent again until both have accepted it")
    func bothEndpointsCount() async throws {
        for (refusing, expected) in [
            ("persons", [true, false, false]), ("events", [false, false, true]),
        ] {
            let client = KeepingClient { request, _ in
                request.endpoint == refusing
                    ? HTTPResponse(status: 503) : HTTPResponse(200, #"{"of":"\#(request.endpoint)"}"#)
            }
            let transport = client.transport(HTTPFormat(CRMFormat(user: "u")), to: "https://crm")
            let batch = Batch(
                id: 1,
                events: try [
                    Self.line("Bought", [:]), Self.line("$SignUp", ["$original_id": "a-1"]),
                    Self.line("$ProfileSet", ["$set": [:]]),
                ])
            let verdicts = try await transport.send(batch).fates(of: 3)
            #expect(verdicts == expected.map { $0 ? .accepted : .retry })
        }
    }

    @Test("its arguments are checked when the pipeline is built")
    func argumentsAreChecked() {
        let error = #expect(throws: SluiceError.self) {
            try Pipeline {
                MemoryStore()
                HTTPTransport(to: "https://crm", format: HTTPFormat(CRMFormat(user: "")))
            }
        }
        #expect(error?.message == "HTTPTransport: the user is empty: pass one")
    }
}
