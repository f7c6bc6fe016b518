import HTTPTestSupport

@testable import SluiceHTTP
@testable import SluiceVendors

/// The responses that the backends document. `BadResponseTests` has the statuses that mean the same at each of them.
enum ResponseTables {
    private static let tables: KeyValuePairs<String, [Row]> = [
        "jsonArray": lines, "ndjson": lines, "vector": lines, "fluentBit": lines, "clickHouse": clickHouse,
        "clickHouseLegacy": clickHouseLegacy, "elasticsearch": elasticsearch, "otlp": otlp, "sensors": sensors,
        "segment": segment, "postHog": postHog, "postHogBatch": postHogBatch, "loki": loki, "mixpanel": mixpanel,
        "amplitude": amplitude, "kafka": kafka, "kafkaV3": kafkaV3, "datadog": datadog, "splunk": splunk,
        "influxDB": influxDB, "influxDBV1": influxDB, "matomo": matomo, "googleAnalytics": googleAnalytics,
        "telemetryDeck": telemetryDeck, "snowplow": snowplow, "kinesis": kinesis, "firehose": firehose,
        "objects": objects,
    ]

    static let all: [Row] = tables.flatMap { format, rows in rows.map { $0.of(format) } }

    static let lines: [Row] = [
        Row(200, .accepted), Row(400, .refused), Row(408, .retry), Row(415, .hold), Row(422, .refused),
    ]

    static let summary = [(name: "X-ClickHouse-Summary", value: #"{"written_rows":"3"}"#)]

    static func exception(_ code: Int) -> [(name: String, value: String)] {
        [(name: "X-ClickHouse-Exception-Code", value: "\(code)")]
    }

    static let clickHouse: [Row] =
        [
            Row(200, headers: summary, .accepted), Row(200, .hold), Row(200, "<html>", headers: summary, .retry),
            Row(200, headers: summary + exception(241), .retry),
            Row(200, "Code: 27. DB::Exception: bad", headers: summary, .refused),
            Row(500, "Code: 999. DB::Exception: Keeper", .retry), Row(404, "Code: 60. DB::Exception: no table", .hold),
            Row(500, "Code: many", .retry), Row(400, headers: exception(123_456), .retry),
            Row(
                500, "Code: 252. DB::Exception: Too many partitions for single INSERT block", headers: exception(252),
                .tooLarge),
        ]
        + [25, 26, 27, 53, 117, 128, 130, 131, 321, 407, 441, 467, 469, 691].map {
            Row(400, headers: exception($0), .refused)
        }
        + [10, 16, 36, 43, 44, 46, 47, 48, 60, 62, 73, 81, 115, 195, 243, 291, 516].map {
            Row(404, headers: exception($0), .hold)
        }
        + [159, 202, 209, 210, 241, 242, 252, 999].map { Row(500, headers: exception($0), .retry) }

    /// The header of ClickHouse 18.16.
    static let name = [(name: "X-ClickHouse-Server-Display-Name", value: "host")]

    static let clickHouseLegacy: [Row] = [
        Row(200, headers: name, .accepted), Row(200, .hold), Row(200, "Ok.", headers: name, .retry),
        Row(500, "Code: 27, e.displayText() = DB::Exception: Cannot parse input", headers: name, .refused),
        Row(404, "Code: 115, e.displayText() = DB::Exception: Unknown setting", headers: name, .hold),
        Row(500, "Code: 241, e.displayText() = DB::Exception: Memory limit", headers: name, .retry),
        Row(
            500, "Code: 252, e.displayText() = DB::Exception: Too many partitions for single INSERT block",
            headers: name,
            .tooLarge),
    ]

    static func items(_ statuses: Int...) -> String {
        #"{"errors":true,"items":["#
            + statuses.map { "{\"create\":{\"status\":\($0)}}" }.joined(separator: ",") + "]}"
    }

    static let elasticsearch: [Row] = [
        Row(200, items(201, 201, 201), .accepted), Row(200, items(201, 409, 201), .accepted, .duplicate, .accepted),
        Row(200, items(409, 409, 409), .duplicate), Row(200, items(201, 400, 429), .accepted, .rejected, .retry),
        Row(200, items(503, 201, 403), .retry, .accepted, .rejected), Row(200, items(400, 400, 400), .rejected),
        Row(200, items(400, 429, 400), .rejected, .retry, .rejected), Row(200, items(403, 404, 403), .hold),
        Row(200, items(201, 302, 0), .accepted, .retry, .retry),
        Row(200, #"{"items":[{"index":{"status":201}},1,null]}"#, .retry), Row(200, items(), .retry),
        Row(200, items(201, 201), .retry), Row(200, items(201, 201, 201, 201), .retry), Row(200, "{}", .retry),
        Row(204, .retry), Row(400, .refused),
    ]

    static let otlp: [Row] = [
        Row(200, "{}", .accepted), Row(200, #"{"partialSuccess":{}}"#, .accepted),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"w"}}"#, .accepted),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"x"}}"#, .accepted, .accepted, .rejected),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":2}}"#, .accepted, .rejected, .rejected),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":3}}"#, .rejected),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":4}}"#, .retry),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":-1}}"#, .retry),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":"many"}}"#, .retry),
        Row(200, #"{"partialSuccess":null}"#, .accepted),
        Row(200, #"{"partialSuccess":{"rejectedLogRecords":null}}"#, .accepted),
        Row(200, #"{"partialSuccess":[]}"#, .retry), Row(200, #"{"partialSuccess":"1"}"#, .retry),
        Row(200, #"{"partialSuccess":false}"#, .retry), Row(200, "<html>", .retry), Row(400, .refused),
    ]

    static let sensors: [Row] = [
        Row(200, .accepted), Row(400, .refused),
    ]

    static let segment: [Row] = [
        Row(200, #"{"success": true}"#, .accepted), Row(200, "OK", .accepted), Row(200, #"{"success": false}"#, .retry),
        Row(200, "<html>", .retry), Row(200, #"{"success": 0}"#, .retry), Row(200, "{}", .accepted),
        Row(200, #"{"error": "invalid write key"}"#, .retry), Row(200, #"{"success": true, "error": "x"}"#, .retry),
        Row(200, #"{"success": true, "error": null}"#, .accepted), Row(200, #"{"message": "try later"}"#, .retry),
        Row(200, "OKAY<html>", .retry), Row(200, "OK\n", .accepted), Row(400, .refused),
    ]

    /// Results of the events of `Batch.allKinds()`, by their ids.
    static func results(_ results: String?...) -> String {
        let members = zip(ExpectedBodies.ids, results).compactMap { id, result in
            result.map { #""\#(id)":{"result":"\#($0)"}"# }
        }
        return #"{"results":{"# + members.joined(separator: ",") + "}}"
    }

    static let postHog: [Row] = [
        Row(200, results("ok", "ok", "ok"), .accepted), Row(201, results("ok", "warning", "ok"), .accepted),
        Row(200, results("ok", "drop", "retry"), .accepted, .rejected, .retry),
        Row(200, results("limited", "ok", "drop"), .rejected, .accepted, .rejected),
        Row(200, results("retry", "retry", "retry"), .retry),
        // As in PostHog's SDKs, which the test with their name quotes.
        Row(200, results("ok", "a future result", "drop"), .accepted, .accepted, .rejected),
        Row(200, results("retry", nil, "ok"), .retry, .accepted, .accepted),
        Row(200, results(nil, nil, "drop"), .accepted, .accepted, .rejected), Row(200, #"{"results":{}}"#, .accepted),
        Row(200, #"{"results":{"\#(ExpectedBodies.ids[0])":null}}"#, .accepted),
        Row(200, #"{"results":{"\#(ExpectedBodies.ids[0])":{}}}"#, .accepted),
        Row(200, #"{"results":{"\#(ExpectedBodies.ids[0])":{"result":1}}}"#, .accepted),
        Row(200, #"{"results":{"\#(ExpectedBodies.ids[0])":"ok"}}"#, .hold), Row(200, #"{"results":null}"#, .hold),
        Row(200, #"{"status":1}"#, .hold), Row(200, "{}", .hold), Row(200, #"{"results":[]}"#, .hold), Row(200, .hold),
        Row(400, .refused), Row(402, .hold), Row(408, .retry), Row(415, .hold),
    ]

    static let postHogBatch: [Row] = [
        Row(200, #"{"status":1}"#, .accepted), Row(200, #"{"status":"Ok"}"#, .accepted),
        Row(200, #"{"status":0}"#, .retry), Row(200, "{}", .retry),
        Row(200, #"{"status":1,"quota_limited":["events"]}"#, .hold),
        Row(200, #"{"status":1,"quota_limited":["recordings"]}"#, .accepted), Row(400, .refused),
    ]

    static let loki: [Row] = [
        Row(204, .accepted), Row(200, .hold), Row(260, .hold), Row(400, .refused),
    ]

    static func failed(_ records: String, imported: Int? = nil) -> String {
        let number = imported.map { #","num_records_imported":\#($0)"# } ?? ""
        return #"{"code":400,"status":"Bad Request","failed_records":["# + records + "]" + number + "}"
    }

    static let mixpanel: [Row] = [
        Row(200, #"{"code":200,"num_records_imported":3,"status":"OK"}"#, .accepted), Row(200, "1", .retry),
        Row(200, "{}", .retry),
        Row(
            400, failed(#"{"index":1,"insert_id":"x","field":"properties.time","message":"bad"}"#, imported: 2),
            .accepted, .rejected, .accepted),
        Row(400, failed(#"{"index":0},{"index":2},{"index":2}"#, imported: 1), .rejected, .accepted, .rejected),
        Row(400, failed(#"{"index":1}"#), .retry, .rejected, .retry),
        Row(400, failed(#"{"index":1}"#, imported: 0), .retry, .rejected, .retry),
        Row(400, failed(#"{"index":1}"#, imported: 3), .retry, .rejected, .retry),
        Row(400, failed(#"{"index":0},{"index":1},{"index":2}"#), .rejected),
        Row(400, failed(#"{"index":[]}"#), .refused), Row(400, failed(#"{"index":[]}"#, imported: 3), .refused),
        Row(400, failed(#"{"index":{}}"#, imported: 3), .refused),
        Row(200, failed(#"{"index":1}"#, imported: 2), .accepted, .rejected, .accepted),
        Row(200, failed(#"{"index":[]}"#, imported: 3), .retry), Row(200, #"{"status":1,"error":null}"#, .accepted),
        Row(200, #"{"status":"OK","num_good_events":3}"#, .accepted),
        Row(200, #"{"status":0,"error":"bad"}"#, .refused), Row(400, failed(#"{"index":0},{}"#), .refused),
        Row(400, failed(#"{"index":0},{"index":[1]}"#), .refused), Row(400, failed(#"{"index":3}"#), .refused),
        Row(400, failed(#"{"index":-1}"#), .refused), Row(400, failed(#"{"index":"1"}"#), .refused),
        Row(400, failed("7"), .refused), Row(400, failed(""), .refused), Row(400, "not JSON", .refused),
        Row(200, #"{"code":200,"num_records_imported":1,"status":"OK"}"#, .retry),
    ]

    static let amplitude: [Row] = [
        Row(200, #"{"code":200,"events_ingested":3}"#, .accepted), Row(200, "OK", .retry),
        Row(400, #"{"code":400,"error":"Invalid API key: k"}"#, .hold),
        Row(400, #"{"error":"Request missing required field","missing_field":"api_key"}"#, .hold),
        Row(400, #"{"error":"Request missing required field","missing_field":"time"}"#, .refused),
        Row(400, #"{"code":400,"events_with_invalid_fields":{"time":[1]}}"#, .retry, .rejected, .retry),
        Row(400, #"{"events_with_missing_fields":{"event_type":[2]}}"#, .retry, .retry, .rejected),
        Row(400, #"{"silenced_events":[0]}"#, .rejected, .retry, .retry),
        Row(400, #"{"silenced_events":[0],"events_with_invalid_fields":{"a":[0],"b":[0]}}"#, .rejected, .retry, .retry),
        Row(400, #"{"silenced_events":[0,1]}"#, .rejected, .rejected, .retry),
        Row(400, #"{"silenced_events":[0,1,2]}"#, .rejected), Row(400, #"{"silenced_events":[3]}"#, .refused),
        Row(400, #"{"error":"bad JSON"}"#, .refused), Row(400, .refused),
        Row(429, #"{"throttled_events":[1]}"#, .retry),
    ]

    static func offsets(_ offsets: String...) -> String { "{\"offsets\":[" + offsets.joined(separator: ",") + "]}" }

    static let taken = #"{"partition":0,"offset":1,"error_code":null,"error":null}"#

    static func partition(_ number: Int, error: Int? = nil) -> String {
        #"{"partition":\#(number),"offset":\#(error == nil ? 7 : -1)"# + (error.map { ",\"error_code\":\($0)" } ?? "")
            + "}"
    }

    static let kafka: [Row] = [
        Row(200, offsets(taken, taken, taken), .accepted),
        Row(200, offsets(taken, #"{"error_code":1}"#, #"{"error_code":2}"#), .accepted, .rejected, .retry),
        Row(200, offsets(#"{"error_code":1}"#, #"{"error_code":1}"#, #"{"error_code":1}"#), .rejected),
        Row(200, offsets(taken, #"{"error_code":50003}"#, "{}"), .accepted, .retry, .retry), Row(200, "{}", .retry),
        Row(200, offsets(), .retry),
        // Karapace.
        Row(
            200,
            offsets(
                #"{"error_code":1,"error":"timed out waiting to publish message"}"#, #"{"offset":-1,"partition":0}"#,
                #"{"error_code":1,"error":"Publish message cancelled"}"#), .retry, .accepted, .retry),
        // Redpanda, which has a result for each partition.
        Row(200, offsets(partition(3)), .accepted), Row(200, offsets(partition(3), partition(1)), .accepted),
        Row(200, offsets(partition(2), partition(3), partition(1)), .accepted),
        Row(200, offsets(partition(3), partition(1, error: 10)), .refused),
        Row(200, offsets(partition(2), partition(3), partition(1, error: 87)), .refused),
        Row(200, offsets(partition(2), partition(3), partition(1, error: 6)), .retry),
        Row(200, offsets(partition(3, error: 29)), .retry), Row(200, offsets(taken, taken), .retry),
        Row(200, offsets(taken, taken, taken, taken), .retry), Row(422, .refused),
    ]

    static let report = #"{"error_code":200,"topic_name":"t{","offset":1}"#

    static let kafkaV3: [Row] = [
        Row(200, report + "\r\n" + report + report, .accepted),
        Row(200, report + #"{"error_code":50003}{"error_code":42206}"#, .accepted, .retry, .rejected),
        Row(200, report + #"{"error_code":429}{"error_code":400}"#, .accepted, .retry, .rejected),
        Row(200, #"{"error_code":400}{"error_code":400}{"error_code":400}"#, .rejected),
        Row(200, #"{"error_code":40403}{"error_code":40301}{"error_code":401}"#, .hold),
        Row(200, report + report + #"{"error_code":2"#, .accepted, .accepted, .retry),
        Row(200, report + "nonsense" + report, .accepted, .retry, .retry),
        Row(200, report + report + report + report, .retry), Row(200, .retry),
        Row(200, report + "{}" + #"{"error_code":"x"}"#, .accepted, .retry, .retry), Row(400, .refused),
    ]

    static let datadog: [Row] = [
        Row(202, "{}", .accepted), Row(200, .hold), Row(400, .refused), Row(408, .retry),
    ]
}
