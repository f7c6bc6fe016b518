import HTTPTestSupport
import Sluice
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// Every format with every status, and bodies that no backend should send.
@Suite("Bad responses")
struct BadResponseTests {
    static let statuses = [
        0, 1, 100, 199, 200, 201, 202, 204, 206, 207, 299, 300, 301, 302, 320, 400, 401, 403, 404, 406, 408, 409, 413,
        422, 425, 429, 431, 432, 451, 500, 502, 503, 504, 599, 600, 700,
    ]

    enum Body: String, CaseIterable, Sendable {
        case empty = ""
        case page = "<!DOCTYPE html><html>Sign in</html>"
        case list = "[]"
        case null = "null"
        case zero = "\u{0}"
        case truncated = #"{"status":1,"code":200,"success":true,"errors":false,"items":[{"create":{"sta"#
        case quota = #"{"error":"quota exceeded"}"#
        case code = #"{"code":16,"message":"unauthenticated"}"#
        case refusal = #"{"ok":false}"#
        case failure = #"{"status":"failed"}"#
        case errors = #"{"errors":["x"]}"#
        case wrong = #"{"message":["unexpected"],"status":"unknown","success":false,"partialSuccess":7}"#
        /// Counts and indices of other events than the three that were sent.
        case contradictory = """
            {"errors":false,"items":[{"create":{"status":201}}],"partialSuccess":{"rejectedLogRecords":7},
            "offsets":[{"partition":0,"offset":1},{"partition":0,"offset":2},{"partition":0,"offset":3},
            {"partition":0,"offset":4}],"code":200,"events_ingested":1,"num_records_imported":1,
            "FailedRecordCount":0,"FailedPutCount":0,
            "Records":[{"SequenceNumber":"1"}],"RequestResponses":[{"RecordId":"1"}],"tracked":2,"invalid":3,"invalid_indices":[9],"invalid-event-number":9,
            "failed_records":[{"index":9,"message":"no"}],"events_with_invalid_fields":{"time":[9]},"success":"maybe"}
            """
    }

    /// Backends that confirm with their status only. A page is no confirmation.
    private func isConfirmed(_ name: String, _ status: Int, _ body: Body) -> Bool {
        switch name {
        case "jsonArray", "ndjson", "fluentBit", "vector", "sensors", "telemetryDeck":
            (200...299).contains(status) && body != .page
        case "segment", "otlp", "googleAnalytics": (200...299).contains(status) && body == .empty
        case "snowplow": status == 200 && body == .empty
        case "influxDB", "influxDBV1": status == 204 && body != .page
        case "datadog": status == 202 && body != .page
        case "loki": status == 204
        default: false
        }
    }

    @Test(
        "no bad body is an acceptance unless the status alone confirms, and beside another status, none rejects an event",
        arguments: FormatSample.all)
    func badBodyDecidesNothing(sample: FormatSample) throws {
        for status in Self.statuses {
            for body in Body.allCases {
                let response = HTTPResponse(status: status, body: Array(body.rawValue.utf8))
                let verdicts = try sample.wire.verdicts(for: .allKinds(), from: response).explained(by: response)
                let fates = Set(verdicts.fates(of: 3))
                let accepts = fates.contains(.accepted) || fates.contains(.duplicate)
                #expect(accepts == isConfirmed(sample.name, status, body), "\(status) \(body): \(fates)")
                // A partial acceptance would be a guess.
                if accepts { #expect(fates == [.accepted]) }
                if (200...299).contains(status) { continue }
                // Without a search, so a wrong key destroys nothing.
                #expect(fates.isDisjoint(with: [.rejected, .unsendable]), "\(status) \(body): \(fates)")
                if [301, 302, 401, 403, 404, 406, 409, 431, 451].contains(status) {
                    #expect(fates == [.hold], "\(status) \(body): \(fates)")
                }
                if status == 413 { #expect(fates == [.tooLarge], "\(body): \(fates)") }
                if status == 429 || status >= 500 { #expect(fates == [.retry], "\(status) \(body): \(fates)") }
                // The status lets the route find out whether one event is the reason.
                #expect(verdicts.status == status)
            }
        }
    }
    @Test(
        "the type of a page says nothing without a body", arguments: FormatSample.all,
        ["text/html", "TEXT/HTML; charset=x"])
    func emptyBodyIsNoPage(sample: FormatSample, type: String) throws {
        for status in Self.statuses {
            for body in Body.allCases {
                let response = HTTPResponse(
                    status: status, headers: [("content-type", type)], body: Array(body.rawValue.utf8))
                let fates = Set(try sample.wire.verdicts(for: .allKinds(), from: response).fates(of: 3))
                // Loki's 204 has no body.
                let isConfirmed = (body == .empty || sample.name == "loki") && isConfirmed(sample.name, status, body)
                #expect(fates.contains(.accepted) == isConfirmed, "\(status) \(body): \(fates)")
            }
        }
    }
}
