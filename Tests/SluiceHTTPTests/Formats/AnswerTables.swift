@testable import SluiceHTTP

/// The answers that the backends document.
enum AnswerTables {
    static let all: [AnswerRow] =
        lines + clickHouse + clickHouseLegacy + elasticsearch + otlp + sensors + segment + postHog + loki + mixpanel
        + amplitude + kafka
        + kafkaV3 + datadog

    static let lines = ["jsonArray", "ndjson", "vector", "fluentBit"].flatMap { format in
        [
            AnswerRow(format, 200, .accepted), AnswerRow(format, 201, .accepted), AnswerRow(format, 204, .accepted),
            AnswerRow(format, 400, .refused), AnswerRow(format, 401, .hold), AnswerRow(format, 404, .hold),
            AnswerRow(format, 408, .retry), AnswerRow(format, 413, .tooLarge), AnswerRow(format, 415, .hold),
            AnswerRow(format, 422, .refused), AnswerRow(format, 429, .retry), AnswerRow(format, 503, .retry),
        ]
    }

    static let summary = [(name: "X-ClickHouse-Summary", value: #"{"written_rows":"3"}"#)]

    static func exception(_ code: Int) -> [(name: String, value: String)] {
        [(name: "X-ClickHouse-Exception-Code", value: "\(code)")]
    }

    static let clickHouse: [AnswerRow] =
        [
            AnswerRow("clickHouse", 200, headers: summary, .accepted),
            AnswerRow("clickHouse", 200, .hold),
            AnswerRow("clickHouse", 200, headers: summary + exception(241), .retry),
            AnswerRow("clickHouse", 200, "Code: 27. DB::Exception: bad", headers: summary, .refused),
            AnswerRow("clickHouse", 500, "Code: 999. DB::Exception: Keeper", .retry),
            AnswerRow("clickHouse", 404, "Code: 60. DB::Exception: no table", .hold),
            AnswerRow("clickHouse", 500, "Code: many", .retry),
            AnswerRow("clickHouse", 429, .retry), AnswerRow("clickHouse", 502, .retry),
            AnswerRow("clickHouse", 400, headers: exception(123_456), .retry),
        ]
        + [26, 27, 53, 117, 131, 469, 691].map { AnswerRow("clickHouse", 400, headers: exception($0), .refused) }
        + [16, 60, 62, 81, 115, 516].map { AnswerRow("clickHouse", 404, headers: exception($0), .hold) }
        + [159, 202, 209, 210, 241, 242, 252, 999].map {
            AnswerRow("clickHouse", 500, headers: exception($0), .retry)
        }

    /// As ClickHouse 18.16 answers.
    static let name = [(name: "X-ClickHouse-Server-Display-Name", value: "host")]

    static let clickHouseLegacy: [AnswerRow] = [
        AnswerRow("clickHouseLegacy", 200, headers: name, .accepted),
        AnswerRow("clickHouseLegacy", 200, .hold),
        AnswerRow("clickHouseLegacy", 200, "Ok.", headers: name, .retry),
        AnswerRow(
            "clickHouseLegacy", 500, "Code: 27, e.displayText() = DB::Exception: Cannot parse input", headers: name,
            .refused),
        AnswerRow(
            "clickHouseLegacy", 404, "Code: 115, e.displayText() = DB::Exception: Unknown setting", headers: name, .hold
        ),
        AnswerRow(
            "clickHouseLegacy", 500, "Code: 241, e.displayText() = DB::Exception: Memory limit", headers: name, .retry),
        AnswerRow("clickHouseLegacy", 502, .retry),
    ]

    static func items(_ statuses: Int...) -> String {
        #"{"errors":true,"items":["#
            + statuses.map { "{\"create\":{\"status\":\($0)}}" }.joined(separator: ",") + "]}"
    }

    static let elasticsearch: [AnswerRow] = [
        AnswerRow("elasticsearch", 200, items(201, 201, 201), .accepted),
        AnswerRow("elasticsearch", 200, items(201, 409, 201), .accepted, .duplicate, .accepted),
        AnswerRow("elasticsearch", 200, items(409, 409, 409), .duplicate),
        AnswerRow("elasticsearch", 200, items(201, 400, 429), .accepted, .rejected, .retry),
        AnswerRow("elasticsearch", 200, items(503, 201, 403), .retry, .accepted, .rejected),
        AnswerRow("elasticsearch", 200, items(400, 400, 400), .refused),
        AnswerRow("elasticsearch", 200, items(400, 429, 400), .refused, .retry, .refused),
        AnswerRow("elasticsearch", 200, items(403, 404, 403), .hold),
        AnswerRow("elasticsearch", 200, items(201, 302, 0), .accepted, .retry, .retry),
        AnswerRow("elasticsearch", 200, #"{"items":[{"index":{"status":201}},1,null]}"#, .retry),
        AnswerRow("elasticsearch", 200, "{}", .retry), AnswerRow("elasticsearch", 204, .retry),
        AnswerRow("elasticsearch", 400, .refused), AnswerRow("elasticsearch", 401, .hold),
        AnswerRow("elasticsearch", 403, .hold), AnswerRow("elasticsearch", 413, .tooLarge),
        AnswerRow("elasticsearch", 429, .retry), AnswerRow("elasticsearch", 503, .retry),
    ]

    static let otlp: [AnswerRow] = [
        AnswerRow("otlp", 200, "{}", .accepted),
        AnswerRow("otlp", 200, #"{"partialSuccess":{}}"#, .accepted),
        AnswerRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"w"}}"#, .accepted),
        AnswerRow(
            "otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"x"}}"#, .accepted, .accepted,
            .rejected),
        AnswerRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":2}}"#, .accepted, .rejected, .rejected),
        AnswerRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":3}}"#, .refused),
        AnswerRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":4}}"#, .retry),
        AnswerRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":-1}}"#, .retry),
        AnswerRow("otlp", 200, #"{"partialSuccess":{"rejectedLogRecords":"many"}}"#, .retry),
        AnswerRow("otlp", 200, "", .retry), AnswerRow("otlp", 400, .refused), AnswerRow("otlp", 401, .hold),
        AnswerRow("otlp", 413, .tooLarge), AnswerRow("otlp", 429, .retry), AnswerRow("otlp", 502, .retry),
        AnswerRow("otlp", 503, .retry), AnswerRow("otlp", 504, .retry), AnswerRow("otlp", 500, .retry),
    ]

    static let sensors: [AnswerRow] = [
        AnswerRow("sensors", 200, .accepted), AnswerRow("sensors", 403, .hold), AnswerRow("sensors", 404, .hold),
        AnswerRow("sensors", 500, .retry), AnswerRow("sensors", 400, .refused), AnswerRow("sensors", 302, .hold),
    ]

    static let segment: [AnswerRow] = [
        AnswerRow("segment", 200, #"{"success": true}"#, .accepted), AnswerRow("segment", 200, "OK", .accepted),
        AnswerRow("segment", 200, .accepted), AnswerRow("segment", 204, .accepted),
        AnswerRow("segment", 200, #"{"success": false}"#, .retry), AnswerRow("segment", 200, "<html>", .retry),
        AnswerRow("segment", 400, .refused), AnswerRow("segment", 401, .hold), AnswerRow("segment", 404, .hold),
        AnswerRow("segment", 413, .tooLarge), AnswerRow("segment", 429, .retry), AnswerRow("segment", 500, .retry),
    ]

    static let postHog: [AnswerRow] = [
        AnswerRow("postHog", 200, #"{"status":1}"#, .accepted),
        AnswerRow("postHog", 200, #"{"status":"Ok"}"#, .accepted),
        AnswerRow("postHog", 200, #"{"status":0}"#, .retry), AnswerRow("postHog", 200, "{}", .retry),
        AnswerRow("postHog", 200, #"{"status":1,"quota_limited":["events"]}"#, .hold),
        AnswerRow("postHog", 200, #"{"status":1,"quota_limited":["recordings"]}"#, .accepted),
        AnswerRow("postHog", 400, .refused), AnswerRow("postHog", 401, .hold), AnswerRow("postHog", 413, .tooLarge),
        AnswerRow("postHog", 429, .retry), AnswerRow("postHog", 503, .retry),
    ]

    static let loki: [AnswerRow] = [
        AnswerRow("loki", 204, .accepted), AnswerRow("loki", 200, .hold), AnswerRow("loki", 260, .hold),
        AnswerRow("loki", 400, .refused), AnswerRow("loki", 401, .hold), AnswerRow("loki", 413, .tooLarge),
        AnswerRow("loki", 429, .retry), AnswerRow("loki", 500, .retry), AnswerRow("loki", 503, .retry),
    ]

    static func failed(_ records: String) -> String {
        #"{"code":400,"status":"Bad Request","failed_records":["#
            + records + "]}"
    }

    static let mixpanel: [AnswerRow] = [
        AnswerRow("mixpanel", 200, #"{"code":200,"num_records_imported":3,"status":"OK"}"#, .accepted),
        AnswerRow("mixpanel", 200, "1", .retry), AnswerRow("mixpanel", 200, "{}", .retry),
        AnswerRow(
            "mixpanel", 400, failed(#"{"index":1,"insert_id":"x","field":"properties.time","message":"bad"}"#),
            .accepted, .rejected, .accepted),
        AnswerRow("mixpanel", 400, failed(#"{"index":0},{"index":2},{"index":2}"#), .rejected, .accepted, .rejected),
        AnswerRow("mixpanel", 400, failed(#"{"index":0},{"index":1},{"index":2}"#), .refused),
        AnswerRow("mixpanel", 400, failed(#"{"index":3}"#), .refused),
        AnswerRow("mixpanel", 400, failed(#"{"index":-1}"#), .refused),
        AnswerRow("mixpanel", 400, failed(#"{"index":"1"}"#), .refused),
        AnswerRow("mixpanel", 400, failed("7"), .refused), AnswerRow("mixpanel", 400, failed(""), .refused),
        AnswerRow("mixpanel", 400, "not JSON", .refused),
        AnswerRow("mixpanel", 401, .hold), AnswerRow("mixpanel", 413, .tooLarge), AnswerRow("mixpanel", 429, .retry),
        AnswerRow("mixpanel", 500, .retry), AnswerRow("mixpanel", 503, .retry),
    ]

    static let amplitude: [AnswerRow] = [
        AnswerRow("amplitude", 200, #"{"code":200,"events_ingested":3}"#, .accepted),
        AnswerRow("amplitude", 200, "OK", .retry),
        AnswerRow(
            "amplitude", 400, #"{"code":400,"events_with_invalid_fields":{"time":[1]}}"#, .retry, .rejected, .retry),
        AnswerRow("amplitude", 400, #"{"events_with_missing_fields":{"event_type":[2]}}"#, .retry, .retry, .rejected),
        AnswerRow("amplitude", 400, #"{"silenced_events":[0]}"#, .rejected, .retry, .retry),
        AnswerRow(
            "amplitude", 400, #"{"silenced_events":[0],"events_with_invalid_fields":{"a":[0],"b":[0]}}"#, .rejected,
            .retry, .retry),
        AnswerRow("amplitude", 400, #"{"silenced_events":[0,1]}"#, .refused),
        AnswerRow("amplitude", 400, #"{"silenced_events":[0,1,2]}"#, .refused),
        AnswerRow("amplitude", 400, #"{"silenced_events":[3]}"#, .refused),
        AnswerRow("amplitude", 400, #"{"error":"bad JSON"}"#, .refused), AnswerRow("amplitude", 400, .refused),
        AnswerRow("amplitude", 413, .tooLarge), AnswerRow("amplitude", 429, #"{"throttled_events":[1]}"#, .retry),
        AnswerRow("amplitude", 500, .retry),
    ]

    static func offsets(_ offsets: String...) -> String { "{\"offsets\":[" + offsets.joined(separator: ",") + "]}" }

    static let taken = #"{"partition":0,"offset":1,"error_code":null,"error":null}"#

    static let kafka: [AnswerRow] = [
        AnswerRow("kafka", 200, offsets(taken, taken, taken), .accepted),
        AnswerRow(
            "kafka", 200, offsets(taken, #"{"error_code":1}"#, #"{"error_code":2}"#), .accepted, .rejected, .retry),
        AnswerRow("kafka", 200, offsets(#"{"error_code":1}"#, #"{"error_code":1}"#, #"{"error_code":1}"#), .refused),
        AnswerRow("kafka", 200, offsets(taken, #"{"error_code":50003}"#, "{}"), .accepted, .retry, .retry),
        AnswerRow("kafka", 200, offsets(taken), .retry), AnswerRow("kafka", 200, "{}", .retry),
        AnswerRow("kafka", 404, .hold), AnswerRow("kafka", 422, .refused), AnswerRow("kafka", 500, .retry),
    ]

    static let report = #"{"error_code":200,"topic_name":"t{","offset":1}"#

    static let kafkaV3: [AnswerRow] = [
        AnswerRow("kafkaV3", 200, report + "\r\n" + report + report, .accepted),
        AnswerRow(
            "kafkaV3", 200, report + #"{"error_code":50003}{"error_code":42206}"#, .accepted, .retry, .rejected),
        AnswerRow("kafkaV3", 200, report + #"{"error_code":429}{"error_code":400}"#, .accepted, .retry, .rejected),
        AnswerRow("kafkaV3", 200, #"{"error_code":400}{"error_code":400}{"error_code":400}"#, .refused),
        AnswerRow("kafkaV3", 200, #"{"error_code":40403}{"error_code":40301}{"error_code":401}"#, .hold),
        AnswerRow("kafkaV3", 200, report + report + #"{"error_code":2"#, .accepted, .accepted, .retry),
        AnswerRow("kafkaV3", 200, report + "nonsense" + report, .accepted, .retry, .retry),
        AnswerRow("kafkaV3", 200, report + report + report + report, .retry), AnswerRow("kafkaV3", 200, .retry),
        AnswerRow("kafkaV3", 200, report + "{}" + #"{"error_code":"x"}"#, .accepted, .retry, .retry),
        AnswerRow("kafkaV3", 404, .hold), AnswerRow("kafkaV3", 429, .retry), AnswerRow("kafkaV3", 400, .refused),
    ]

    static let datadog: [AnswerRow] = [
        AnswerRow("datadog", 202, "{}", .accepted), AnswerRow("datadog", 200, .hold),
        AnswerRow("datadog", 400, .refused), AnswerRow("datadog", 401, .hold), AnswerRow("datadog", 403, .hold),
        AnswerRow("datadog", 408, .retry), AnswerRow("datadog", 413, .tooLarge), AnswerRow("datadog", 429, .retry),
        AnswerRow("datadog", 500, .retry),
    ]
}
