import HTTPTestSupport
import TestSupport

@testable import SluiceHTTP
@testable import SluiceVendors

/// The responses that the backends document.
enum ResponseTables {
    static let all: [ResponseRow] =
        lines + clickHouse + clickHouseLegacy + elasticsearch + otlp + sensors + segment + postHog + postHogBatch + loki
        + mixpanel
        + amplitude + kafka
        + kafkaV3 + datadog + FurtherResponses.all

    static let lines = ["jsonArray", "ndjson", "vector", "fluentBit"].flatMap { format in
        [
            ResponseRow(format, 200, .accepted), ResponseRow(format, 201, .accepted),
            ResponseRow(format, 204, .accepted),
            ResponseRow(format, 400, .refused), ResponseRow(format, 401, .hold), ResponseRow(format, 404, .hold),
            ResponseRow(format, 408, .retry), ResponseRow(format, 413, .tooLarge), ResponseRow(format, 415, .hold),
            ResponseRow(format, 422, .refused), ResponseRow(format, 429, .retry), ResponseRow(format, 503, .retry),
        ]
    }

    static let summary = [(name: "X-ClickHouse-Summary", value: #"{"written_rows":"3"}"#)]

    static func exception(_ code: Int) -> [(name: String, value: String)] {
        [(name: "X-ClickHouse-Exception-Code", value: "\(code)")]
    }

    static let clickHouse: [ResponseRow] =
        [
            ResponseRow("clickHouse", 200, headers: summary, .accepted),
            ResponseRow("clickHouse", 200, .hold),
            ResponseRow("clickHouse", 200, "<html>", headers: summary, .retry),
            ResponseRow("clickHouse", 200, headers: summary + exception(241), .retry),
            ResponseRow("clickHouse", 200, "Code: 27. DB::Exception: bad", headers: summary, .refused),
            ResponseRow("clickHouse", 500, "Code: 999. DB::Exception: Keeper", .retry),
            ResponseRow("clickHouse", 404, "Code: 60. DB::Exception: no table", .hold),
            ResponseRow("clickHouse", 500, "Code: many", .retry),
            ResponseRow("clickHouse", 429, .retry), ResponseRow("clickHouse", 502, .retry),
            ResponseRow("clickHouse", 400, headers: exception(123_456), .retry),
        ]
        + [
            ResponseRow(
                "clickHouse", 500, "Code: 252. DB::Exception: Too many partitions for single INSERT block",
                headers: exception(252), .tooLarge),
            ResponseRow(
                "clickHouseLegacy", 500,
                "Code: 252, e.displayText() = DB::Exception: Too many partitions for single INSERT block",
                headers: name, .tooLarge),
        ]
        + [25, 26, 27, 53, 117, 128, 130, 131, 321, 407, 441, 467, 469, 691].map {
            ResponseRow("clickHouse", 400, headers: exception($0), .refused)
        }
        + [10, 16, 36, 43, 44, 46, 47, 48, 60, 62, 73, 81, 115, 195, 243, 291, 516].map {
            ResponseRow("clickHouse", 404, headers: exception($0), .hold)
        }
        + [159, 202, 209, 210, 241, 242, 252, 999].map {
            ResponseRow("clickHouse", 500, headers: exception($0), .retry)
        }

    /// The header of ClickHouse 18.16.
    static let name = [(name: "X-ClickHouse-Server-Display-Name", value: "host")]

    static let clickHouseLegacy: [ResponseRow] = [
        ResponseRow("clickHouseLegacy", 200, headers: name, .accepted),
        ResponseRow("clickHouseLegacy", 200, .hold),
        ResponseRow("clickHouseLegacy", 200, "Ok.", headers: name, .retry),
        ResponseRow(
            "clickHouseLegacy", 500, "Code: 27, e.displayText() = DB::Exception: Cannot parse input", headers: name,
            .refused),
        ResponseRow(
            "clickHouseLegacy", 404, "Code: 115, e.displayText() = DB::Exception: Unknown setting", headers: name, .hold
        ),
        ResponseRow(
            "clickHouseLegacy", 500, "Code: 241, e.displayText() = DB::Exception: Memory limit", headers: name, .retry),
        ResponseRow("clickHouseLegacy", 502, .retry),
    ]

    static func items(_ statuses: Int...) -> String {
        #"{"errors":true,"items":["#
            + statuses.map { "{\"create\":{\"status\":\($0)}}" }.joined(separator: ",") + "]}"
    }

    static let elasticsearch: [ResponseRow] = [
        ResponseRow("elasticsearch", 200, items(201, 201, 201), .accepted),
        ResponseRow("elasticsearch", 200, items(201, 409, 201), .accepted, .duplicate, .accepted),
        ResponseRow("elasticsearch", 200, items(409, 409, 409), .duplicate),
        ResponseRow("elasticsearch", 200, items(201, 400, 429), .accepted, .rejected, .retry),
        ResponseRow("elasticsearch", 200, items(503, 201, 403), .retry, .accepted, .rejected),
        ResponseRow("elasticsearch", 200, items(400, 400, 400), .rejected),
        ResponseRow("elasticsearch", 200, items(400, 429, 400), .rejected, .retry, .rejected),
        ResponseRow("elasticsearch", 200, items(403, 404, 403), .hold),
        ResponseRow("elasticsearch", 200, items(201, 302, 0), .accepted, .retry, .retry),
        ResponseRow("elasticsearch", 200, #"{"items":[{"index":{"status":201}},1,null]}"#, .retry),
        ResponseRow("elasticsearch", 200, items(), .retry), ResponseRow("elasticsearch", 200, items(201, 201), .retry),
        ResponseRow("elasticsearch", 200, items(201, 201, 201, 201), .retry),
        ResponseRow("elasticsearch", 200, "{}", .retry), ResponseRow("elasticsearch", 204, .retry),
        ResponseRow("elasticsearch", 400, .refused), ResponseRow("elasticsearch", 401, .hold),
        ResponseRow("elasticsearch", 403, .hold), ResponseRow("elasticsearch", 413, .tooLarge),
        ResponseRow("elasticsearch", 429, .retry), ResponseRow("elasticsearch", 503, .retry),
    ]

    static let otlp: [ResponseRow] = [
        ResponseRow("otlp", 200, "{}", .accepted),
        ResponseRow("otlp", 200, #"{"partialSuccess":{}}"#, .accepted),
        ResponseRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"w"}}"#, .accepted),
        ResponseRow(
            "otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"x"}}"#, .accepted, .accepted,
            .rejected),
        ResponseRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":2}}"#, .accepted, .rejected, .rejected),
        ResponseRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":3}}"#, .rejected),
        ResponseRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":4}}"#, .retry),
        ResponseRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":-1}}"#, .retry),
        ResponseRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":"many"}}"#, .retry),
        ResponseRow("otlp", 200, #"{"partialSuccess":null}"#, .accepted),
        ResponseRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":null}}"#, .accepted),
        ResponseRow("otlp", 200, #"{"partialSuccess":[]}"#, .retry),
        ResponseRow("otlp", 200, #"{"partialSuccess":"1"}"#, .retry),
        ResponseRow("otlp", 200, #"{"partialSuccess":false}"#, .retry),
        ResponseRow("otlp", 200, "", .accepted), ResponseRow("otlp", 204, "", .accepted),
        ResponseRow("otlp", 200, "<html>", .retry), ResponseRow("otlp", 400, .refused), ResponseRow("otlp", 401, .hold),
        ResponseRow("otlp", 413, .tooLarge), ResponseRow("otlp", 429, .retry), ResponseRow("otlp", 502, .retry),
        ResponseRow("otlp", 503, .retry), ResponseRow("otlp", 504, .retry), ResponseRow("otlp", 500, .retry),
    ]

    static let sensors: [ResponseRow] = [
        ResponseRow("sensors", 200, .accepted), ResponseRow("sensors", 403, .hold), ResponseRow("sensors", 404, .hold),
        ResponseRow("sensors", 500, .retry), ResponseRow("sensors", 400, .refused), ResponseRow("sensors", 302, .hold),
    ]

    static let segment: [ResponseRow] = [
        ResponseRow("segment", 200, #"{"success": true}"#, .accepted), ResponseRow("segment", 200, "OK", .accepted),
        ResponseRow("segment", 200, .accepted), ResponseRow("segment", 204, .accepted),
        ResponseRow("segment", 200, #"{"success": false}"#, .retry), ResponseRow("segment", 200, "<html>", .retry),
        ResponseRow("segment", 200, #"{"success": 0}"#, .retry), ResponseRow("segment", 200, "{}", .accepted),
        ResponseRow("segment", 200, #"{"error": "invalid write key"}"#, .retry),
        ResponseRow("segment", 200, #"{"success": true, "error": "x"}"#, .retry),
        ResponseRow("segment", 200, #"{"success": true, "error": null}"#, .accepted),
        ResponseRow("segment", 200, #"{"message": "try later"}"#, .retry),
        ResponseRow("segment", 200, "OKAY<html>", .retry), ResponseRow("segment", 200, "OK\n", .accepted),
        ResponseRow("segment", 400, .refused), ResponseRow("segment", 401, .hold), ResponseRow("segment", 404, .hold),
        ResponseRow("segment", 413, .tooLarge), ResponseRow("segment", 429, .retry),
        ResponseRow("segment", 500, .retry),
    ]

    /// Results of the events of `Batch.allKinds()`, by their ids.
    static func results(_ results: String?...) -> String {
        let members = zip(ExpectedBodies.ids, results).compactMap { id, result in
            result.map { #""\#(id)":{"result":"\#($0)"}"# }
        }
        return #"{"results":{"# + members.joined(separator: ",") + "}}"
    }

    static let postHog: [ResponseRow] = [
        ResponseRow("postHog", 200, results("ok", "ok", "ok"), .accepted),
        ResponseRow("postHog", 201, results("ok", "warning", "ok"), .accepted),
        ResponseRow("postHog", 200, results("ok", "drop", "retry"), .accepted, .rejected, .retry),
        ResponseRow("postHog", 200, results("limited", "ok", "drop"), .rejected, .accepted, .rejected),
        ResponseRow("postHog", 200, results("retry", "retry", "retry"), .retry),
        // As in PostHog's SDKs, which the test with their name quotes.
        ResponseRow("postHog", 200, results("ok", "a future result", "drop"), .accepted, .accepted, .rejected),
        ResponseRow("postHog", 200, results("retry", nil, "ok"), .retry, .accepted, .accepted),
        ResponseRow("postHog", 200, results(nil, nil, "drop"), .accepted, .accepted, .rejected),
        ResponseRow("postHog", 200, #"{"results":{}}"#, .accepted),
        ResponseRow("postHog", 200, #"{"results":{"\#(ExpectedBodies.ids[0])":null}}"#, .accepted),
        ResponseRow("postHog", 200, #"{"results":{"\#(ExpectedBodies.ids[0])":{}}}"#, .accepted),
        ResponseRow("postHog", 200, #"{"results":{"\#(ExpectedBodies.ids[0])":{"result":1}}}"#, .accepted),
        ResponseRow("postHog", 200, #"{"results":{"\#(ExpectedBodies.ids[0])":"ok"}}"#, .hold),
        ResponseRow("postHog", 200, #"{"results":null}"#, .hold),
        ResponseRow("postHog", 200, #"{"status":1}"#, .hold),
        ResponseRow("postHog", 200, "{}", .hold), ResponseRow("postHog", 200, #"{"results":[]}"#, .hold),
        ResponseRow("postHog", 200, .hold), ResponseRow("postHog", 400, .refused), ResponseRow("postHog", 401, .hold),
        ResponseRow("postHog", 402, .hold), ResponseRow("postHog", 403, .hold), ResponseRow("postHog", 404, .hold),
        ResponseRow("postHog", 408, .retry), ResponseRow("postHog", 413, .tooLarge),
        ResponseRow("postHog", 415, .hold), ResponseRow("postHog", 500, .retry), ResponseRow("postHog", 502, .retry),
        ResponseRow("postHog", 503, .retry), ResponseRow("postHog", 504, .retry),
    ]

    static let postHogBatch: [ResponseRow] = [
        ResponseRow("postHogBatch", 200, #"{"status":1}"#, .accepted),
        ResponseRow("postHogBatch", 200, #"{"status":"Ok"}"#, .accepted),
        ResponseRow("postHogBatch", 200, #"{"status":0}"#, .retry), ResponseRow("postHogBatch", 200, "{}", .retry),
        ResponseRow("postHogBatch", 200, #"{"status":1,"quota_limited":["events"]}"#, .hold),
        ResponseRow("postHogBatch", 200, #"{"status":1,"quota_limited":["recordings"]}"#, .accepted),
        ResponseRow("postHogBatch", 400, .refused), ResponseRow("postHogBatch", 401, .hold),
        ResponseRow("postHogBatch", 413, .tooLarge),
        ResponseRow("postHogBatch", 429, .retry), ResponseRow("postHogBatch", 503, .retry),
    ]

    static let loki: [ResponseRow] = [
        ResponseRow("loki", 204, .accepted), ResponseRow("loki", 200, .hold), ResponseRow("loki", 260, .hold),
        ResponseRow("loki", 400, .refused), ResponseRow("loki", 401, .hold), ResponseRow("loki", 413, .tooLarge),
        ResponseRow("loki", 429, .retry), ResponseRow("loki", 500, .retry), ResponseRow("loki", 503, .retry),
    ]

    static func failed(_ records: String, imported: Int? = nil) -> String {
        let number = imported.map { #","num_records_imported":\#($0)"# } ?? ""
        return #"{"code":400,"status":"Bad Request","failed_records":["# + records + "]" + number + "}"
    }

    static let mixpanel: [ResponseRow] = [
        ResponseRow("mixpanel", 200, #"{"code":200,"num_records_imported":3,"status":"OK"}"#, .accepted),
        ResponseRow("mixpanel", 200, "1", .retry), ResponseRow("mixpanel", 200, "{}", .retry),
        ResponseRow(
            "mixpanel", 400,
            failed(#"{"index":1,"insert_id":"x","field":"properties.time","message":"bad"}"#, imported: 2),
            .accepted, .rejected, .accepted),
        ResponseRow(
            "mixpanel", 400, failed(#"{"index":0},{"index":2},{"index":2}"#, imported: 1), .rejected, .accepted,
            .rejected),
        ResponseRow("mixpanel", 400, failed(#"{"index":1}"#), .retry, .rejected, .retry),
        ResponseRow("mixpanel", 400, failed(#"{"index":1}"#, imported: 0), .retry, .rejected, .retry),
        ResponseRow("mixpanel", 400, failed(#"{"index":1}"#, imported: 3), .retry, .rejected, .retry),
        ResponseRow("mixpanel", 400, failed(#"{"index":0},{"index":1},{"index":2}"#), .rejected),
        ResponseRow("mixpanel", 400, failed(#"{"index":[]}"#), .refused),
        ResponseRow("mixpanel", 400, failed(#"{"index":[]}"#, imported: 3), .refused),
        ResponseRow("mixpanel", 400, failed(#"{"index":{}}"#, imported: 3), .refused),
        ResponseRow("mixpanel", 200, failed(#"{"index":1}"#, imported: 2), .accepted, .rejected, .accepted),
        ResponseRow("mixpanel", 200, failed(#"{"index":[]}"#, imported: 3), .retry),
        ResponseRow("mixpanel", 200, #"{"status":1,"error":null}"#, .accepted),
        ResponseRow("mixpanel", 200, #"{"status":"OK","num_good_events":3}"#, .accepted),
        ResponseRow("mixpanel", 200, #"{"status":0,"error":"bad"}"#, .refused),
        ResponseRow("mixpanel", 400, failed(#"{"index":0},{}"#), .refused),
        ResponseRow("mixpanel", 400, failed(#"{"index":0},{"index":[1]}"#), .refused),
        ResponseRow("mixpanel", 400, failed(#"{"index":3}"#), .refused),
        ResponseRow("mixpanel", 400, failed(#"{"index":-1}"#), .refused),
        ResponseRow("mixpanel", 400, failed(#"{"index":"1"}"#), .refused),
        ResponseRow("mixpanel", 400, failed("7"), .refused), ResponseRow("mixpanel", 400, failed(""), .refused),
        ResponseRow("mixpanel", 400, "not JSON", .refused),
        ResponseRow("mixpanel", 200, #"{"code":200,"num_records_imported":1,"status":"OK"}"#, .retry),
        ResponseRow("mixpanel", 401, .hold), ResponseRow("mixpanel", 413, .tooLarge),
        ResponseRow("mixpanel", 429, .retry),
        ResponseRow("mixpanel", 500, .retry), ResponseRow("mixpanel", 503, .retry),
    ]

    static let amplitude: [ResponseRow] = [
        ResponseRow("amplitude", 200, #"{"code":200,"events_ingested":3}"#, .accepted),
        ResponseRow("amplitude", 200, "OK", .retry),
        ResponseRow("amplitude", 400, #"{"code":400,"error":"Invalid API key: k"}"#, .hold),
        ResponseRow("amplitude", 400, #"{"error":"Request missing required field","missing_field":"api_key"}"#, .hold),
        ResponseRow("amplitude", 400, #"{"error":"Request missing required field","missing_field":"time"}"#, .refused),
        ResponseRow(
            "amplitude", 400, #"{"code":400,"events_with_invalid_fields":{"time":[1]}}"#, .retry, .rejected, .retry),
        ResponseRow("amplitude", 400, #"{"events_with_missing_fields":{"event_type":[2]}}"#, .retry, .retry, .rejected),
        ResponseRow("amplitude", 400, #"{"silenced_events":[0]}"#, .rejected, .retry, .retry),
        ResponseRow(
            "amplitude", 400, #"{"silenced_events":[0],"events_with_invalid_fields":{"a":[0],"b":[0]}}"#, .rejected,
            .retry, .retry),
        ResponseRow("amplitude", 400, #"{"silenced_events":[0,1]}"#, .rejected, .rejected, .retry),
        ResponseRow("amplitude", 400, #"{"silenced_events":[0,1,2]}"#, .rejected),
        ResponseRow("amplitude", 400, #"{"silenced_events":[3]}"#, .refused),
        ResponseRow("amplitude", 400, #"{"error":"bad JSON"}"#, .refused), ResponseRow("amplitude", 400, .refused),
        ResponseRow("amplitude", 413, .tooLarge), ResponseRow("amplitude", 429, #"{"throttled_events":[1]}"#, .retry),
        ResponseRow("amplitude", 500, .retry),
    ]

    static func offsets(_ offsets: String...) -> String { "{\"offsets\":[" + offsets.joined(separator: ",") + "]}" }

    static let taken = #"{"partition":0,"offset":1,"error_code":null,"error":null}"#

    static func partition(_ number: Int, error: Int? = nil) -> String {
        #"{"partition":\#(number),"offset":\#(error == nil ? 7 : -1)"# + (error.map { ",\"error_code\":\($0)" } ?? "")
            + "}"
    }

    static let kafka: [ResponseRow] = [
        ResponseRow("kafka", 200, offsets(taken, taken, taken), .accepted),
        ResponseRow(
            "kafka", 200, offsets(taken, #"{"error_code":1}"#, #"{"error_code":2}"#), .accepted, .rejected, .retry),
        ResponseRow("kafka", 200, offsets(#"{"error_code":1}"#, #"{"error_code":1}"#, #"{"error_code":1}"#), .rejected),
        ResponseRow("kafka", 200, offsets(taken, #"{"error_code":50003}"#, "{}"), .accepted, .retry, .retry),
        ResponseRow("kafka", 200, "{}", .retry), ResponseRow("kafka", 200, offsets(), .retry),
        // Karapace.
        ResponseRow(
            "kafka", 200,
            offsets(
                #"{"error_code":1,"error":"timed out waiting to publish message"}"#, #"{"offset":-1,"partition":0}"#,
                #"{"error_code":1,"error":"Publish message cancelled"}"#), .retry, .accepted, .retry),
        // Redpanda, which has a result for each partition.
        ResponseRow("kafka", 200, offsets(partition(3)), .accepted),
        ResponseRow("kafka", 200, offsets(partition(3), partition(1)), .accepted),
        ResponseRow("kafka", 200, offsets(partition(2), partition(3), partition(1)), .accepted),
        ResponseRow("kafka", 200, offsets(partition(3), partition(1, error: 10)), .refused),
        ResponseRow("kafka", 200, offsets(partition(2), partition(3), partition(1, error: 87)), .refused),
        ResponseRow("kafka", 200, offsets(partition(2), partition(3), partition(1, error: 6)), .retry),
        ResponseRow("kafka", 200, offsets(partition(3, error: 29)), .retry),
        ResponseRow("kafka", 200, offsets(taken, taken), .retry),
        ResponseRow("kafka", 200, offsets(taken, taken, taken, taken), .retry),
        ResponseRow("kafka", 404, .hold), ResponseRow("kafka", 422, .refused), ResponseRow("kafka", 500, .retry),
    ]

    static let report = #"{"error_code":200,"topic_name":"t{","offset":1}"#

    static let kafkaV3: [ResponseRow] = [
        ResponseRow("kafkaV3", 200, report + "\r\n" + report + report, .accepted),
        ResponseRow(
            "kafkaV3", 200, report + #"{"error_code":50003}{"error_code":42206}"#, .accepted, .retry, .rejected),
        ResponseRow("kafkaV3", 200, report + #"{"error_code":429}{"error_code":400}"#, .accepted, .retry, .rejected),
        ResponseRow("kafkaV3", 200, #"{"error_code":400}{"error_code":400}{"error_code":400}"#, .rejected),
        ResponseRow("kafkaV3", 200, #"{"error_code":40403}{"error_code":40301}{"error_code":401}"#, .hold),
        ResponseRow("kafkaV3", 200, report + report + #"{"error_code":2"#, .accepted, .accepted, .retry),
        ResponseRow("kafkaV3", 200, report + "nonsense" + report, .accepted, .retry, .retry),
        ResponseRow("kafkaV3", 200, report + report + report + report, .retry), ResponseRow("kafkaV3", 200, .retry),
        ResponseRow("kafkaV3", 200, report + "{}" + #"{"error_code":"x"}"#, .accepted, .retry, .retry),
        ResponseRow("kafkaV3", 404, .hold), ResponseRow("kafkaV3", 429, .retry), ResponseRow("kafkaV3", 400, .refused),
    ]

    static let datadog: [ResponseRow] = [
        ResponseRow("datadog", 202, "{}", .accepted), ResponseRow("datadog", 200, .hold),
        ResponseRow("datadog", 400, .refused), ResponseRow("datadog", 401, .hold), ResponseRow("datadog", 403, .hold),
        ResponseRow("datadog", 408, .retry), ResponseRow("datadog", 413, .tooLarge),
        ResponseRow("datadog", 429, .retry),
        ResponseRow("datadog", 500, .retry),
    ]
}
