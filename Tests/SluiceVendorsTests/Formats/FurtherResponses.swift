import HTTPTestSupport
import TestSupport

@testable import SluiceHTTP
@testable import SluiceVendors

/// More of `ResponseTables`.
enum FurtherResponses {
    static let all: [ResponseRow] =
        splunk + influxDB + matomo + googleAnalytics + telemetryDeck + snowplow + kinesis + firehose
        + objects

    static func splunk(_ code: Int, _ number: String? = nil) -> String {
        let member = number.map { #","invalid-event-number":\#($0)"# } ?? ""
        return #"{"text":"Invalid data format","code":\#(code)\#(member)}"#
    }

    static let splunk: [ResponseRow] =
        [
            ResponseRow("splunk", 200, #"{"text":"Success","code":0}"#, .accepted),
            ResponseRow("splunk", 200, #"{"text":"Success","code":0,"ackId":7}"#, .accepted),
            ResponseRow("splunk", 200, "{}", .retry), ResponseRow("splunk", 200, splunk(9), .retry),
            ResponseRow("splunk", 201, splunk(0), .retry),
            ResponseRow("splunk", 400, splunk(6, "1"), .retry, .rejected, .retry),
            ResponseRow("splunk", 400, splunk(12, "0"), .rejected, .retry, .retry),
            ResponseRow("splunk", 400, splunk(13, "2"), .retry, .retry, .rejected),
            ResponseRow("splunk", 400, splunk(15, "2"), .retry, .retry, .rejected),
            ResponseRow("splunk", 400, splunk(6, "3"), .refused), ResponseRow("splunk", 400, splunk(6, "-1"), .refused),
            ResponseRow("splunk", 400, splunk(6, "[1]"), .refused), ResponseRow("splunk", 400, splunk(6), .refused),
            ResponseRow("splunk", 400, splunk(5, "1"), .refused), ResponseRow("splunk", 400, .refused),
            ResponseRow("splunk", 401, splunk(2), .hold), ResponseRow("splunk", 403, splunk(4), .hold),
            ResponseRow("splunk", 413, .tooLarge), ResponseRow("splunk", 429, .retry),
            ResponseRow("splunk", 500, splunk(8), .retry), ResponseRow("splunk", 503, splunk(9), .retry),
        ] + [7, 10, 11, 14, 16].map { ResponseRow("splunk", 400, splunk($0, "1"), .hold) }

    static let influxDB: [ResponseRow] = ["influxDB", "influxDBV1"].flatMap { format in
        [
            ResponseRow(format, 204, .accepted), ResponseRow(format, 200, .hold), ResponseRow(format, 202, .hold),
            ResponseRow(
                format, 400, #"{"error":"partial write: field type conflict: input field \"n\" dropped=1"}"#, .refused),
            ResponseRow(format, 401, #"{"code":"unauthorized"}"#, .hold), ResponseRow(format, 403, .hold),
            ResponseRow(format, 404, #"{"error":"database not found: \"x\""}"#, .hold),
            ResponseRow(format, 413, .tooLarge), ResponseRow(format, 422, .refused), ResponseRow(format, 429, .retry),
            ResponseRow(format, 500, #"{"error":"timeout"}"#, .retry), ResponseRow(format, 503, .retry),
        ]
    }

    static func matomo(_ tracked: Int, _ invalid: Int, _ indices: String? = nil, _ status: String = "success") -> String
    {
        let member = indices.map { #","invalid_indices":\#($0)"# } ?? ""
        return #"{"status":"\#(status)","tracked":\#(tracked),"invalid":\#(invalid)\#(member)}"#
    }

    static let matomo: [ResponseRow] = [
        ResponseRow("matomo", 200, matomo(3, 0), .accepted), ResponseRow("matomo", 200, matomo(3, 0, "[]"), .accepted),
        ResponseRow("matomo", 200, matomo(2, 1, "[1]"), .accepted, .rejected, .accepted),
        ResponseRow("matomo", 200, matomo(1, 2, "[0,2]"), .rejected, .accepted, .rejected),
        ResponseRow("matomo", 200, matomo(2, 1), .accepted, .accepted, .rejected),
        ResponseRow("matomo", 200, matomo(2, 1, "[9]"), .accepted, .accepted, .rejected),
        ResponseRow("matomo", 200, matomo(2, 1, "[0,1]"), .accepted, .accepted, .rejected),
        ResponseRow("matomo", 200, matomo(0, 3, "[0,1,2]"), .refused),
        ResponseRow("matomo", 200, matomo(0, 3), .refused),
        ResponseRow("matomo", 200, matomo(2, 0), .retry), ResponseRow("matomo", 200, matomo(3, 1), .retry),
        ResponseRow("matomo", 200, matomo(4, -1), .retry), ResponseRow("matomo", 200, matomo(.max, .max), .retry),
        ResponseRow("matomo", 200, matomo(3, 0, nil, "error"), .retry), ResponseRow("matomo", 200, "{}", .retry),
        ResponseRow("matomo", 200, .retry), ResponseRow("matomo", 204, .retry),
        ResponseRow("matomo", 400, matomo(0, 0, nil, "error"), .refused), ResponseRow("matomo", 401, .hold),
        ResponseRow("matomo", 403, .hold), ResponseRow("matomo", 404, .hold), ResponseRow("matomo", 413, .tooLarge),
        ResponseRow("matomo", 500, matomo(1, 0, nil, "error"), .retry), ResponseRow("matomo", 503, .retry),
    ]

    static let googleAnalytics: [ResponseRow] = [
        ResponseRow("googleAnalytics", 204, .accepted), ResponseRow("googleAnalytics", 200, .accepted),
        // Its validation server, which keeps nothing.
        ResponseRow("googleAnalytics", 200, #"{"validationMessages":[]}"#, .hold),
        ResponseRow("googleAnalytics", 200, "<html>", .hold), ResponseRow("googleAnalytics", 403, .hold),
        ResponseRow("googleAnalytics", 404, .hold), ResponseRow("googleAnalytics", 413, .tooLarge),
        ResponseRow("googleAnalytics", 429, .retry), ResponseRow("googleAnalytics", 503, .retry),
    ]

    static let telemetryDeck: [ResponseRow] = [
        ResponseRow("telemetryDeck", 200, .accepted), ResponseRow("telemetryDeck", 201, "{}", .accepted),
        ResponseRow("telemetryDeck", 200, "<html>", .hold), ResponseRow("telemetryDeck", 301, .hold),
        ResponseRow("telemetryDeck", 400, .refused), ResponseRow("telemetryDeck", 401, .hold),
        ResponseRow("telemetryDeck", 404, .hold), ResponseRow("telemetryDeck", 413, .tooLarge),
        ResponseRow("telemetryDeck", 429, .retry), ResponseRow("telemetryDeck", 500, .retry),
    ]

    /// `+` is a record that was taken, and anything else the code of an error.
    static func kinesis(_ codes: String..., failed: Int? = nil) -> String {
        let records = codes.map {
            $0 == "+"
                ? #"{"SequenceNumber":"49","ShardId":"shardId-0"}"# : #"{"ErrorCode":"\#($0)","ErrorMessage":"slow"}"#
        }
        let count = failed ?? codes.filter { $0 != "+" }.count
        return #"{"FailedRecordCount":\#(count),"Records":[\#(records.joined(separator: ","))]}"#
    }

    static func exception(_ name: String) -> String { #"{"__type":"\#(name)","message":"no"}"# }

    static let kinesis: [ResponseRow] = [
        ResponseRow("kinesis", 200, kinesis("+", "+", "+"), .accepted),
        ResponseRow(
            "kinesis", 200, kinesis("+", "ProvisionedThroughputExceededException", "+"), .accepted, .retry, .accepted),
        ResponseRow("kinesis", 200, kinesis("InternalFailure", "+", "x"), .retry, .accepted, .retry),
        ResponseRow("kinesis", 200, kinesis("+", "+"), .retry),
        ResponseRow("kinesis", 200, kinesis("+", "+", "+", "+"), .retry),
        ResponseRow("kinesis", 200, kinesis("+", "+", "+", failed: 1), .retry),
        ResponseRow("kinesis", 200, kinesis("+", "x", "+", failed: 0), .retry),
        ResponseRow(
            "kinesis", 200, #"{"FailedRecordCount":0,"Records":[{},1,{"SequenceNumber":""}]}"#, .retry),
        // The form of LocalStack.
        ResponseRow(
            "kinesis", 200,
            #"{"FailedRecordCount":1,"Records":[{"ErrorCode":null,"ErrorMessage":null,"SequenceNumber":"49","ShardId":"s"},"#
                + #"{"ErrorCode":"InternalFailure","ErrorMessage":"x","SequenceNumber":null},"#
                + #"{"ErrorCode":null,"ErrorMessage":null,"SequenceNumber":"50","ShardId":"s"}],"EncryptionType":null}"#,
            .accepted, .retry, .accepted),
        ResponseRow(
            "kinesis", 200,
            #"{"FailedRecordCount":null,"Records":[{"SequenceNumber":"1"},{"ErrorCode":"x"},{"SequenceNumber":"2"}]}"#,
            .accepted, .retry, .accepted),
        ResponseRow("kinesis", 200, #"{"FailedRecordCount":"many","Records":[{},{},{}]}"#, .retry),
        ResponseRow("kinesis", 200, .retry), ResponseRow("kinesis", 204, .hold),
        ResponseRow("kinesis", 400, exception("ProvisionedThroughputExceededException"), .retry),
        ResponseRow("kinesis", 400, exception("com.amazonaws.kinesis#ThrottlingException"), .retry),
        ResponseRow("kinesis", 400, exception("ResourceNotFoundException"), .hold),
        ResponseRow("kinesis", 400, exception("InvalidSignatureException"), .hold),
        ResponseRow("kinesis", 400, exception("ExpiredTokenException"), .hold),
        ResponseRow("kinesis", 400, exception("AccessDeniedException"), .hold),
        ResponseRow("kinesis", 400, exception("ValidationException"), .refused),
        ResponseRow("kinesis", 400, exception("InvalidArgumentException"), .refused),
        ResponseRow("kinesis", 400, .refused), ResponseRow("kinesis", 403, .hold),
        ResponseRow("kinesis", 413, .tooLarge),
        ResponseRow("kinesis", 429, .retry), ResponseRow("kinesis", 500, .retry), ResponseRow("kinesis", 503, .retry),
    ]

    static let firehose: [ResponseRow] = [
        ResponseRow(
            "firehose", 200,
            #"{"FailedPutCount":0,"Encrypted":false,"RequestResponses":[{"RecordId":"a"},{"RecordId":"b"},{"RecordId":"c"}]}"#,
            .accepted),
        ResponseRow(
            "firehose", 200,
            #"{"FailedPutCount":1,"RequestResponses":[{"RecordId":"a"},{"ErrorCode":"ServiceUnavailableException"},{"RecordId":"c"}]}"#,
            .accepted, .retry, .accepted),
        ResponseRow(
            "firehose", 200, #"{"RequestResponses":[{"RecordId":"a"},{"RecordId":"b"},{"RecordId":"c"}]}"#, .accepted),
        ResponseRow("firehose", 200, kinesis("+", "+", "+"), .retry), ResponseRow("firehose", 200, "{}", .retry),
        ResponseRow("firehose", 400, exception("ResourceNotFoundException"), .hold),
        ResponseRow("firehose", 400, exception("LimitExceededException"), .retry),
        ResponseRow("firehose", 400, exception("InvalidArgumentException"), .refused),
        ResponseRow("firehose", 500, exception("ServiceUnavailableException"), .retry),
        ResponseRow("firehose", 503, .retry),
    ]

    /// An error of S3.
    private static func failure(_ status: Int, _ code: String, _ fate: Fate) -> ResponseRow {
        ResponseRow(
            "objects", status, "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>m</Message></Error>", fate)
    }

    static let objects: [ResponseRow] = [
        ResponseRow("objects", 200, headers: [("ETag", "\"5d41402a\"")], .accepted), ResponseRow("objects", 200, .hold),
        failure(412, "PreconditionFailed", .duplicate), failure(409, "ConditionalRequestConflict", .retry),
        failure(404, "NoSuchBucket", .hold), failure(404, "NoSuchKey", .hold), failure(301, "PermanentRedirect", .hold),
        failure(307, "TemporaryRedirect", .hold), failure(400, "AuthorizationHeaderMalformed", .hold),
        failure(400, "ExpiredToken", .hold), failure(400, "InvalidToken", .hold),
        failure(400, "RequestTimeout", .retry),
        failure(400, "IncompleteBody", .retry), failure(400, "BadDigest", .retry), failure(400, "Other", .hold),
        failure(400, "EntityTooLarge", .tooLarge), failure(403, "AccessDenied", .hold),
        failure(403, "RequestTimeTooSkewed", .hold), failure(403, "SignatureDoesNotMatch", .hold),
        failure(501, "NotImplemented", .hold), failure(500, "InternalError", .retry), failure(503, "SlowDown", .retry),
    ]

    static let snowplow: [ResponseRow] = [
        ResponseRow("snowplow", 200, "ok", .accepted), ResponseRow("snowplow", 200, .accepted),
        ResponseRow("snowplow", 200, "OKAY", .hold), ResponseRow("snowplow", 200, "<html>", .hold),
        ResponseRow("snowplow", 204, .hold), ResponseRow("snowplow", 302, .hold),
        ResponseRow("snowplow", 400, .refused),
        ResponseRow("snowplow", 404, .hold), ResponseRow("snowplow", 413, .tooLarge),
        ResponseRow("snowplow", 429, .retry), ResponseRow("snowplow", 503, .retry),
    ]
}
