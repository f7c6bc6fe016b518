import HTTPTestSupport
import Sluice
import SluiceGzip
import TestSupport
import Testing

@testable import SluiceHTTP
@testable import SluiceVendors

/// What elasticsearch is asked for.
private let reasons = "filter_path=errors%2Citems.%2A.status%2Citems.%2A.error.type%2Citems.%2A.error.reason"

@Suite("Requests of each format")
struct BodyTests {
    static let json = "Content-Type: application/json"
    static let ndjson = "Content-Type: application/x-ndjson"
    static let insert =
        "?query=INSERT%20INTO%20%7Bdatabase%3AIdentifier%7D.%7Btable%3AIdentifier%7D%20FORMAT%20JSONEachRow"
        + "&param_database=my%20db&param_table=events&input_format_skip_unknown_fields=1"
        + "&date_time_input_format=best_effort"
        + "&insert_deduplication_token=019b7705-8c00-7000-8000-0000ffff0001-a8c70f44ae2dde9d"

    static let table: [(name: String, url: String, headers: [String], body: String)] = [
        ("jsonArray", "https://host/events", [json], ExpectedBodies.array),
        ("ndjson", "https://host/events", [ndjson], ExpectedBodies.newlines),
        ("fluentBit", "https://host:9880/app.events", [json], ExpectedBodies.array),
        ("vector", "https://host/", [ndjson], ExpectedBodies.newlines),
        (
            "clickHouse", "https://host:8443/" + insert,
            ["X-ClickHouse-User: writer", "X-ClickHouse-Key: s3cr3t-key", ndjson], ExpectedBodies.clickHouse
        ),
        (
            "clickHouseLegacy",
            "https://host:8123/?input_format_import_nested_json=1&query=INSERT%20INTO%20%60my%20db%60.%60e%5C%60v%5C%5Cs%60"
                + "%20FORMAT%20JSONEachRow&input_format_skip_unknown_fields=1&date_time_input_format=best_effort",
            ["X-ClickHouse-User: writer", "X-ClickHouse-Key: s3cr3t-key", ndjson], ExpectedBodies.newlines
        ),
        (
            "elasticsearch", "https://host:9200/events/_bulk?\(reasons)", [ndjson],
            ExpectedBodies.elasticsearch
        ),
        ("otlp", "https://host:4318/v1/logs", [json], ExpectedBodies.otlp),
        (
            "segment", "https://api.segment.io/v1/batch", ["Authorization: Basic czNjcjN0LWtleTo=", json],
            ExpectedBodies.segment
        ),
        (
            "postHog", "https://us.i.posthog.com/i/v1/analytics/events",
            [
                "Authorization: Bearer s3cr3t-key", "PostHog-Sdk-Info: Sluice/\(LibraryVersion.current)",
                "PostHog-Attempt: 1", "PostHog-Request-Id: \(ExpectedBodies.ids[0])",
                "PostHog-Request-Timestamp: 2026-01-01T00:01:00.000Z", json,
            ], ExpectedBodies.postHog
        ),
        ("postHogBatch", "https://us.i.posthog.com/batch", [json], ExpectedBodies.postHogBatch),
        ("loki", "https://host:3100/loki/api/v1/push", ["X-Scope-OrgID: t1", json], ExpectedBodies.loki),
        (
            "kafka", "https://host:8082/topics/my.topic",
            ["Content-Type: application/vnd.kafka.json.v2+json", "Accept: application/vnd.kafka.v2+json"],
            ExpectedBodies.kafka
        ),
        ("kafkaV3", "https://host/kafka/v3/clusters/c-1/topics/events/records", [json], ExpectedBodies.kafkaV3),
        (
            "mixpanel", "https://api.mixpanel.com/import?strict=1", ["Authorization: Basic czNjcjN0LWtleTo=", json],
            ExpectedBodies.mixpanel
        ),
        (
            "mixpanelAccount", "https://api.mixpanel.com/import?strict=1&project_id=7",
            ["Authorization: Basic c3ZjOnMzY3IzdC1rZXk=", json], ExpectedBodies.mixpanel
        ),
        ("amplitude", "https://api2.amplitude.com/2/httpapi", [json], ExpectedBodies.amplitude),
        (
            "datadog", "https://http-intake.logs.datadoghq.com/api/v2/logs", ["DD-API-KEY: s3cr3t-key", json],
            ExpectedBodies.datadog
        ),
        (
            "splunk", "https://host:8088/services/collector/event", ["Authorization: Splunk s3cr3t-key", json],
            FurtherBodies.splunk
        ),
        (
            "influxDB", "https://host:8086/api/v2/write?bucket=my%20bucket&org=shop",
            ["Authorization: Token s3cr3t-key", "Content-Type: text/plain; charset=utf-8"], FurtherBodies.influxDB
        ),
        (
            "influxDBV1", "https://host:8086/write?db=events",
            ["Authorization: Basic c3ZjOnMzY3IzdC1rZXk=", "Content-Type: text/plain; charset=utf-8"],
            FurtherBodies.influxDB
        ),
        ("matomo", "https://matomo.example/matomo.php", [json], FurtherBodies.matomo),
        (
            "googleAnalytics",
            "https://www.google-analytics.com/mp/collect?measurement_id=G-1&api_secret=s3cr3t-key", [json],
            FurtherBodies.googleAnalytics
        ),
        (
            "telemetryDeck", "https://nom.telemetrydeck.com/v2/namespace/shop/",
            ["Content-Type: application/json; charset=utf-8"], FurtherBodies.telemetryDeck
        ),
        (
            "kinesis", "https://kinesis.eu-central-1.amazonaws.com",
            aws(
                "kinesis", "Kinesis_20131202.PutRecords",
                "d963c308c7fefff7d22f62618edba0fea8ab92bac1c5e8abf9cf67134898e697"), FurtherBodies.kinesis
        ),
        (
            "firehose", "https://firehose.eu-central-1.amazonaws.com/",
            aws(
                "firehose", "Firehose_20150804.PutRecordBatch",
                "9e70b9a087d29c9f8ec33a114b3c0137f3fd511aeea0d04376b434345d6cb337"), FurtherBodies.firehose
        ),
        ("snowplow", "https://collector.example/com.snowplowanalytics.snowplow/tp2", [json], FurtherBodies.snowplow),
    ]

    /// The signatures are computed by Python's hmac.
    private static func aws(_ service: String, _ target: String, _ signature: String) -> [String] {
        let names = "content-type;host;x-amz-date;x-amz-target"
        return [
            "Content-Type: application/x-amz-json-1.1", "X-Amz-Target: \(target)", "X-Amz-Date: 20260101T000100Z",
            "Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-central-1/\(service)/aws4_request, "
                + "SignedHeaders=\(names), Signature=\(signature)",
        ]
    }

    @Test("the request consists of exactly these bytes", arguments: table.map(\.name))
    func requestIsExact(name: String) throws {
        let (_, url, headers, body) = try #require(Self.table.first { $0.name == name })
        let request = try FormatSample.named(name).request(.allKinds())
        #expect(request.method == "POST")
        #expect(request.url == url)
        #expect(request.headers.map { "\($0.name): \($0.value)" } == headers)
        #expect(String(decoding: request.body, as: UTF8.self) == body)
        #expect(throws: Never.self) { try request.check() }
    }

    @Test("Sensors' form has a checksum and the packed events")
    func sensorsFormIsExact() throws {
        let request = try FormatSample.named("sensors").request(.allKinds())
        #expect(request.url == "https://host:8106/sa?project=p&token=s3cr3t-key")
        #expect(
            request.headers.map { "\($0.name): \($0.value)" } == ["Content-Type: application/x-www-form-urlencoded"])
        // Without zlib, so that the bytes don't depend on its version.
        var stored = HTTPRequest(url: "https://host/sa", sendTime: Timestamp(milliseconds: 1_767_225_660_000))
        try SensorsFormat(token: nil, deflater: .storing).encode(.allKinds(), into: &stored)
        let file = try #require(Gzip.file(of: Array(ExpectedBodies.sensors.utf8), by: .storing))
        let list = Base64.encode(file)
        let form = "crc=\(list.javaHashCode)&gzip=1&data_list=" + String(decoding: list.percentEncoded, as: UTF8.self)
        #expect(String(decoding: stored.body, as: UTF8.self) == form)
    }

    @Test("every format has a row in the table")
    func everyFormatHasRow() {
        #expect(Set(Self.table.map(\.name) + ["objects", "sensors"]) == Set(FormatSample.all.map(\.name)))
    }

    @Test(
        "a URL can be the vendor's base with or without its version and a slash, or that of the endpoint",
        arguments: [
            ("segment", "h", "h/v1/batch"), ("segment", "h/", "h/v1/batch"), ("segment", "h/v1", "h/v1/batch"),
            ("segment", "h/v1/?a=b/c", "h/v1/batch?a=b/c"), ("segment", "h/v1/batch", "h/v1/batch"),
            ("segment", "h/v1/batch/", "h/v1/batch/"), ("segment", "v1", "v1/v1/batch"),
            ("segment", "v1?a=b", "v1/v1/batch?a=b"), ("segment", "h/v1/b", "h/v1/batch"),
            ("segment", "h/v1/track/", "h/v1/batch"), ("segment", "h/base/?a=b", "h/base/v1/batch?a=b"),
            ("amplitude", "h/", "h/2/httpapi"), ("amplitude", "h/2", "h/2/httpapi"),
            ("amplitude", "h/2/httpapi", "h/2/httpapi"), ("amplitude", "h/batch/?x=1", "h/batch/?x=1"),
            ("amplitude", "batch", "batch/2/httpapi"), ("amplitude", "h/httpapi", "h/2/httpapi"),
            ("amplitude", "h/batch", "h/batch"), ("postHogBatch", "h/", "h/batch"),
            ("postHogBatch", "h/batch/", "h/batch/"), ("postHogBatch", "h/capture/", "h/batch"),
            ("postHog", "h/capture/", "h/i/v1/analytics/events"), ("postHog", "h/i/v0/e/", "h/i/v1/analytics/events"),
            ("postHog", "h/e/?x=1", "h/i/v1/analytics/events?x=1"),
            ("postHog", "h/ph/batch", "h/ph/i/v1/analytics/events"),
            ("postHog", "h/i/v1/analytics/events", "h/i/v1/analytics/events"),
            ("mixpanel", "h/import?strict=0", "h/import?strict=0"),
            ("mixpanel", "h?x=strict", "h/import?x=strict&strict=1"), ("mixpanel", "h/", "h/import?strict=1"),
            ("mixpanel", "h/import", "h/import?strict=1"), ("mixpanel", "h/track", "h/import?strict=1"),
            ("datadog", "h/v1/input", "h/api/v2/logs"), ("datadog", "h/api/v2/", "h/api/v2/logs"),
            ("datadog", "h/api", "h/api/v2/logs"), ("loki", "h/api/prom/push", "h/loki/api/v1/push"),
            ("loki", "h/loki", "h/loki/api/v1/push"), ("loki", "h/loki/api/v1/push?x=1", "h/loki/api/v1/push?x=1"),
            ("elasticsearch", "h/_bulk?pipeline=p", "h/events/_bulk?pipeline=p&\(reasons)"),
            ("elasticsearch", "h/events/_bulk?filter_path=x", "h/events/_bulk?filter_path=x"),
            ("elasticsearch", "events", "events/events/_bulk?\(reasons)"), ("otlp", "h/v1/", "h/v1/logs"),
            ("otlp", "h/v1/logs", "h/v1/logs"),
            ("kafkaV3", "h/kafka/v3", "h/kafka/v3/clusters/c-1/topics/events/records"),
            ("kafka", "h/topics/my.topic", "h/topics/my.topic"), ("splunk", "h/", "h/services/collector/event"),
            ("splunk", "h/services/collector", "h/services/collector/event"),
            ("splunk", "h/services/collector/event/", "h/services/collector/event/"),
            ("splunk", "h/services/collector/event/1.0", "h/services/collector/event"),
            ("splunk", "h/services/collector/raw?channel=c", "h/services/collector/event?channel=c"),
            ("influxDB", "h/api/v2", "h/api/v2/write?bucket=my%20bucket&org=shop"),
            ("influxDB", "h/write", "h/api/v2/write?bucket=my%20bucket&org=shop"),
            ("influxDB", "h/api/v2/write?bucket=b", "h/api/v2/write?bucket=b&org=shop"),
            ("influxDBV1", "h/write/?db=d&rp=week", "h/write/?db=d&rp=week"),
            ("influxDBV1", "h/influx", "h/influx/write?db=events"), ("matomo", "h/piwik/", "h/piwik/matomo.php"),
            ("matomo", "h/matomo.php", "h/matomo.php"), ("matomo", "h/piwik.php", "h/piwik.php"),
            ("googleAnalytics", "h/mp/collect?api_secret=x", "h/mp/collect?api_secret=x&measurement_id=G-1"),
            ("googleAnalytics", "h/g/collect", "h/mp/collect?measurement_id=G-1&api_secret=s3cr3t-key"),
            ("telemetryDeck", "h/", "h/v2/namespace/shop/"), ("telemetryDeck", "h/v2/", "h/v2/namespace/shop/"),
            ("telemetryDeck", "h/v1", "h/v2/namespace/shop/"),
            ("telemetryDeck", "h/v2/namespace/shop/", "h/v2/namespace/shop/"),
            ("snowplow", "h/com.snowplowanalytics.snowplow/tp2", "h/com.snowplowanalytics.snowplow/tp2"),
            ("snowplow", "h/com.snowplowanalytics.snowplow?x=1", "h/com.snowplowanalytics.snowplow/tp2?x=1"),
        ])
    func endpointURLIsKept(name: String, url: String, expected: String) throws {
        var request = HTTPRequest(url: "https://" + url)
        try FormatSample.named(name).wire.encode(.allKinds(), into: &request)
        #expect(request.url == "https://" + expected)
    }

    @Test("a retry is the same request except for the envelope's send time", arguments: FormatSample.all)
    func retryDiffersInSendTimeOnly(sample: FormatSample) throws {
        let batch = try Batch.allKinds()
        let first = try sample.request(batch)
        let again = try sample.request(Batch(id: 77, events: batch.events))
        #expect(again.url == first.url)
        #expect(again.headers.map(\.value) == first.headers.map(\.value))
        #expect(again.body == first.body)

        let later = try sample.request(batch, sentAt: Timestamp(milliseconds: 1_767_225_720_000))
        #expect(later.url == first.url)
        let text = String(decoding: later.body, as: UTF8.self)
        let original = String(decoding: first.body, as: UTF8.self)
        switch sample.name {
        case "segment", "postHog", "postHogBatch", "amplitude":
            #expect(text.replacing("2026-01-01T00:02:00.000Z", with: "2026-01-01T00:01:00.000Z") == original)
            #expect(text != original)
        case "sensors": #expect(text != original)
        case "snowplow":
            #expect(text.replacing("1767225720000", with: "1767225660000") == original)
            #expect(text != original)
        default: #expect(text == original)
        }
    }

    @Test(
        "an unreadable line throws the error by which the transport finds it",
        arguments: FormatSample.all.filter {
            !["jsonArray", "ndjson", "fluentBit", "vector", "clickHouseLegacy", "firehose"].contains($0.name)
        })
    func unreadableLineThrows(sample: FormatSample) throws {
        let lines = try Batch.numbered(1).events + [EventLine(bytes: ArraySlice(#"{"n":1}"#.utf8), priority: .normal)]
        let error = #expect(throws: SluiceError.self) {
            try sample.request(Batch(id: 1, events: lines))
        }
        #expect(error?.code == .malformedLine)
    }

    @Test("times outside of a receiver's range are the nearest ones within")
    func extremeTimesAreClamped() throws {
        for (milliseconds, nanoseconds) in [
            (-62_135_596_800_000, "0"), (253_402_300_799_999, "18446744073709000000"),
        ] as [(Int64, String)] {
            #expect(Timestamp(milliseconds: milliseconds).nanoseconds == nanoseconds)
        }
    }
}
