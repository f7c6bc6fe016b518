import HTTPTestSupport
import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceMemory
import SluiceTesting
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// The events of verbs, and their records in the requests of a format.
extension VerbTests {
    static let id = "019b7705-8c00-7000-8000-0000ffff0001"

    /// The events that `use` tracks, and the ledger.
    static func track(
        within limits: Limits? = nil, _ use: (Identity, Pipeline) throws -> Void
    ) async throws -> (events: [Event], ledger: Ledger) {
        let identity = Identity(persistedIn: .memory)
        try identity.setAnonymousID("a-1")
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            identity
            limits
            MemoryStore()
            transport
        }
        try use(identity, pipeline)
        await pipeline.flush()
        return (try transport.accepted(), pipeline.ledger)
    }

    /// The last event that `use` tracks, with a fixed id and time.
    static func event(_ use: (Identity, Pipeline) throws -> Void) async throws -> Event {
        let event = try #require(try await track(use).events.last)
        return Event(
            id: try #require(EventID(id)), name: event.name, time: Timestamp(milliseconds: 1_767_225_600_123),
            distinctID: event.distinctID, anonymousID: event.anonymousID, loginID: event.loginID,
            properties: event.properties)
    }

    /// The last event that `use` tracks after a login.
    static func loggedIn(_ use: (Identity, Pipeline) throws -> Void) async throws -> Event {
        try await event { identity, pipeline in
            try identity.login("u-1")
            try use(identity, pipeline)
        }
    }

    static let formats: [String: HTTPFormat] = [
        "postHog": .postHog(apiKey: "k", locatesUsers: true),
        "segment": HTTPFormat(SegmentFormat(writeKey: "k", instanceID: FormatSample.instance)),
        "amplitude": .amplitude(apiKey: "k", locatesUsers: true),
        "mixpanel": .mixpanel(token: "k", locatesUsers: true),
    ]

    /// The requests for the event, one for each endpoint.
    static func requests(_ event: Event, _ format: HTTPFormat) throws -> [HTTPRequest] {
        let line = try EventLine(event)
        return try format.endpoints(for: line).map { endpoint in
            var request = HTTPRequest(url: "https://h", sendTime: event.time, endpoint: endpoint)
            try format.encode(Batch(id: 1, events: [line]), into: &request)
            return request
        }
    }

    static func request(_ event: Event, _ format: HTTPFormat) throws -> HTTPRequest {
        try #require(requests(event, format).first)
    }

    /// The records of the event in the requests of a format.
    static func records(_ event: Event, _ format: HTTPFormat) throws -> PropertyValue {
        let records = try requests(event, format).flatMap { request in
            let body = try PropertyValue(json: request.body)
            let records = body.object?["batch"] ?? body.object?["events"] ?? body
            return records.array.map { Array($0) } ?? []
        }
        return .array(PropertyArray(records))
    }

    /// The first record of the event in the requests of a format.
    static func record(_ event: Event, _ format: HTTPFormat) throws -> Properties {
        try #require(try records(event, format).array?.first?.object)
    }

    static func record(_ event: Event, at vendor: String) throws -> Properties {
        try record(event, #require(formats[vendor]))
    }
}

extension Event {
    func with(_ name: String, _ properties: Properties) -> Event {
        var event = self
        (event.name, event.properties) = (name, properties)
        return event
    }

    func with(_ properties: Properties) -> Event { with(name, properties) }
}

extension SensorsFormat {
    /// The record of an event that has one.
    static func record(of event: Event) throws -> Properties {
        var writer = JSONWriter()
        writer.object { write(event, Timestamp(milliseconds: 0), to: &$0) }
        return try #require(try PropertyValue(json: writer.bytes).object)
    }
}

extension Verdicts {
    /// The verdicts on single events, or none if there is one on all.
    var each: [Verdict] { if case .each(let verdicts) = kind { verdicts } else { [] } }
}

extension HTTPRequest {
    var text: String { String(decoding: body, as: UTF8.self) }
    var json: PropertyValue { get throws { try PropertyValue(json: body) } }
}

extension PropertyValue {
    /// All members at any depth.
    var members: [(name: String, value: PropertyValue)] {
        switch self {
        case .object(let object): object.flatMap { [($0.name, $0.value)] + $0.value.members }
        case .array(let array): array.flatMap(\.members)
        default: []
        }
    }

    func values(of name: String) -> [PropertyValue] { members.filter { $0.name == name }.map(\.value) }
    func names(of value: PropertyValue) -> [String] { members.filter { $0.value == value }.map(\.name) }
}
