import Foundation
import HTTPTestSupport
import Sluice
import SluiceMemory
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// A backend in the process, whose responses depend on the body.
struct BackendClient: HTTPClient {
    let respond: @Sendable (_ body: String) throws -> HTTPResponse

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try respond(String(decoding: request.body, as: UTF8.self))
    }

    static func ok(_ status: Int, _ body: String, headers: [(name: String, value: String)] = []) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
    }

    /// The elements of a body's array as texts.
    static func elements(of body: String, under key: String? = nil) throws -> [String] {
        let json = try JSONSerialization.jsonObject(with: Data(body.utf8))
        let array = key.map { (json as? [String: Any])?[$0] as? [Any] } ?? json as? [Any]
        return try (array ?? []).map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0, options: .fragmentsAllowed), as: UTF8.self)
        }
    }
}

@Suite("Invalid events and refusing backends", .serialized)
struct PoisonTests {
    static func ledger(
        _ sample: FormatSample, events: Int, news: Int = 0,
        _ respond: @escaping @Sendable (String) throws -> HTTPResponse
    ) async throws -> RouteLedger {
        let time = RunningTime()
        let pipeline = try Pipeline(isDeliveryPaused: true, environment: .seeded(time)) {
            MemoryStore()
            HTTPTransport(
                to: sample.url, format: sample.format,
                configuration: .init(gzip: false, client: BackendClient(respond: respond)))
        }
        for number in 0..<events {
            pipeline.track(number == 17 ? "poison" : "Event", ["number": .int(number)])
        }
        pipeline.resumeDelivery()
        // The last bad event needs others that are accepted.
        for number in events..<events + news {
            await pipeline.flush()
            pipeline.track("Event", ["number": .int(number)])
        }
        return await time.shutDown(pipeline, within: .seconds(60)).routes[0]
    }

    /// The backends' responses to an invalid event.
    static let backends: [(name: String, respond: @Sendable (String) throws -> HTTPResponse)] = [
        (
            "elasticsearch",
            { body in
                let documents = body.split(separator: "\n").filter { $0.hasPrefix(#"{"@"#) }
                let items = documents.map { #"{"create":{"status":\#($0.contains("poison") ? 400 : 201)}}"# }
                return BackendClient.ok(200, #"{"errors":true,"items":[\#(items.joined(separator: ","))]}"#)
            }
        ),
        (
            "mixpanel",
            { body in
                let events = try BackendClient.elements(of: body)
                let bad = events.enumerated().filter { $0.element.contains("poison") }
                guard !bad.isEmpty else { return BackendClient.ok(200, #"{"code":200}"#) }
                let records = bad.map { #"{"index":\#($0.offset)}"# }.joined(separator: ",")
                let imported = events.count - bad.count
                return BackendClient.ok(
                    400, #"{"code":400,"num_records_imported":\#(imported),"failed_records":[\#(records)]}"#)
            }
        ),
        (
            "amplitude",
            { body in
                let bad = try BackendClient.elements(of: body, under: "events").enumerated().filter {
                    $0.element.contains("poison")
                }
                guard !bad.isEmpty else { return BackendClient.ok(200, #"{"code":200}"#) }
                let indices = bad.map { "\($0.offset)" }.joined(separator: ",")
                return BackendClient.ok(400, #"{"events_with_invalid_fields":{"event_type":[\#(indices)]}}"#)
            }
        ),
        (
            "kafka",
            { body in
                let offsets = try BackendClient.elements(of: body, under: "records").map {
                    $0.contains("poison") ? #"{"error_code":1}"# : #"{"offset":1}"#
                }
                return BackendClient.ok(200, #"{"offsets":[\#(offsets.joined(separator: ","))]}"#)
            }
        ),
        (
            "clickHouse",
            { body in
                body.contains("poison")
                    ? BackendClient.ok(400, "Code: 27. DB::Exception: Cannot parse input")
                    : BackendClient.ok(200, "", headers: ResponseTables.summary)
            }
        ),
        (
            "splunk",
            { body in
                let events = body.split(separator: "\n")
                guard let bad = events.firstIndex(where: { $0.contains("poison") }) else {
                    return BackendClient.ok(200, #"{"text":"Success","code":0}"#)
                }
                return BackendClient.ok(400, FurtherResponses.splunk(6, "\(bad)"))
            }
        ),
        (
            "influxDB",
            { body in
                body.contains("poison")
                    ? BackendClient.ok(400, #"{"code":"invalid","message":"partial write: field type conflict"}"#)
                    : BackendClient.ok(204, "")
            }
        ),
        (
            "matomo",
            { body in
                let events = try BackendClient.elements(of: body, under: "requests")
                let bad = events.indices.filter { events[$0].contains("poison") }
                return BackendClient.ok(200, FurtherResponses.matomo(events.count - bad.count, bad.count, "\(bad)"))
            }
        ),
        (
            "kinesis",
            { body in
                let records = try BackendClient.elements(of: body, under: "Records")
                let isPoisoned = try records.contains { record in
                    let object = try PropertyValue(json: Array(record.utf8)).object
                    let data = object?["Data"]?.string.flatMap { Data(base64Encoded: $0) }
                    return data.map { String(decoding: $0, as: UTF8.self).contains("poison") } ?? false
                }
                if isPoisoned { return BackendClient.ok(400, FurtherResponses.exception("ValidationException")) }
                let taken = records.map { _ in #"{"SequenceNumber":"1"}"# }.joined(separator: ",")
                return BackendClient.ok(200, #"{"FailedRecordCount":0,"Records":[\#(taken)]}"#)
            }
        ),
        (
            "segment",
            { body in body.contains("poison") ? BackendClient.ok(400, "") : BackendClient.ok(200, #"{"success":true}"#)
            }
        ),
    ]

    @Test("one invalid event is rejected, and no other", arguments: backends.indices)
    func invalidEventIsRejectedAlone(row: Int) async throws {
        let backend = Self.backends[row]
        let route = try await Self.ledger(.named(backend.name), events: 200, news: 20, backend.respond)
        #expect(route.delivered == 219)
        #expect(route.rejected == 1)
        #expect(route.waiting == 0)
        #expect(route.dropped.isEmpty)
    }

    @Test("a backend that refuses every request destroys no event", arguments: FormatSample.all)
    func refusedRequestsDestroyNothing(sample: FormatSample) async throws {
        for status in [302, 400, 401, 403, 404, 415, 422] {
            let route = try await Self.ledger(sample, events: 20) { _ in BackendClient.ok(status, "<refused>") }
            #expect((route.waiting, route.delivered, route.rejected) == (20, 0, 0))
            #expect(route.dropped.isEmpty)
        }
    }

    @Test(
        "a backend that names every event as invalid destroys no event",
        arguments: ["elasticsearch", "mixpanel", "amplitude", "kafka", "otlp", "kafkaV3", "splunk", "matomo"])
    func namedRefusalsDestroyNothing(name: String) async throws {
        let route = try await Self.ledger(.named(name), events: 20) { body in
            switch name {
            case "elasticsearch":
                let count = body.split(separator: "\n").count / 2
                let items = Array(repeating: #"{"create":{"status":400}}"#, count: count).joined(separator: ",")
                return BackendClient.ok(200, #"{"items":[\#(items)]}"#)
            case "mixpanel":
                let indices = try BackendClient.elements(of: body).indices.map { #"{"index":\#($0)}"# }
                return BackendClient.ok(400, #"{"failed_records":[\#(indices.joined(separator: ","))]}"#)
            case "amplitude":
                let indices = try BackendClient.elements(of: body, under: "events").indices.map { "\($0)" }
                return BackendClient.ok(400, #"{"silenced_events":[\#(indices.joined(separator: ","))]}"#)
            case "kafka":
                let count = try BackendClient.elements(of: body, under: "records").count
                let offsets = Array(repeating: #"{"error_code":1}"#, count: count).joined(separator: ",")
                return BackendClient.ok(200, #"{"offsets":[\#(offsets)]}"#)
            case "splunk": return BackendClient.ok(400, FurtherResponses.splunk(6, "0"))
            case "matomo":
                let count = try BackendClient.elements(of: body, under: "requests").count
                return BackendClient.ok(200, FurtherResponses.matomo(0, count, "\(Array(0..<count))"))
            case "kafkaV3":
                let count = body.split(separator: "\n").count
                return BackendClient.ok(200, String(repeating: #"{"error_code":42201}"#, count: count))
            default:
                let count = body.split(separator: #""eventName""#).count - 1
                return BackendClient.ok(200, #"{"partialSuccess":{"rejectedLogRecords":"\#(count)"}}"#)
            }
        }
        // Splunk names one event at a time, so it takes the others.
        let rejected = name == "splunk" ? 19 : 0
        #expect((route.waiting, route.delivered, route.rejected) == (20 - rejected, 0, rejected))
        #expect(route.dropped.isEmpty)
    }
}
