import HTTPTestSupport

@testable import SluiceHTTP
@testable import SluiceVendors

extension ResponseTables {
    static func splunk(_ code: Int, _ number: String? = nil) -> String {
        let member = number.map { #","invalid-event-number":\#($0)"# } ?? ""
        return #"{"text":"Invalid data format","code":\#(code)\#(member)}"#
    }

    static let splunk: [Row] =
        [
            Row(200, #"{"text":"Success","code":0}"#, .accepted),
            Row(200, #"{"text":"Success","code":0,"ackId":7}"#, .accepted), Row(200, "{}", .retry),
            Row(200, splunk(9), .retry), Row(201, splunk(0), .retry),
            Row(400, splunk(6, "1"), .retry, .rejected, .retry), Row(400, splunk(12, "0"), .rejected, .retry, .retry),
            Row(400, splunk(13, "2"), .retry, .retry, .rejected), Row(400, splunk(15, "2"), .retry, .retry, .rejected),
            Row(400, splunk(6, "3"), .refused), Row(400, splunk(6, "-1"), .refused),
            Row(400, splunk(6, "[1]"), .refused), Row(400, splunk(6), .refused), Row(400, splunk(5, "1"), .refused),
            Row(400, .refused), Row(401, splunk(2), .hold), Row(403, splunk(4), .hold), Row(500, splunk(8), .retry),
            Row(503, splunk(9), .retry),
        ] + [7, 10, 11, 14, 16].map { Row(400, splunk($0, "1"), .hold) }

    static let influxDB: [Row] = [
        Row(204, .accepted), Row(200, .hold), Row(202, .hold),
        Row(400, #"{"error":"partial write: field type conflict: input field \"n\" dropped=1"}"#, .refused),
        Row(401, #"{"code":"unauthorized"}"#, .hold), Row(404, #"{"error":"database not found: \"x\""}"#, .hold),
        Row(422, .refused), Row(500, #"{"error":"timeout"}"#, .retry),
    ]

    static func matomo(_ tracked: Int, _ invalid: Int, _ indices: String? = nil, _ status: String = "success") -> String
    {
        let member = indices.map { #","invalid_indices":\#($0)"# } ?? ""
        return #"{"status":"\#(status)","tracked":\#(tracked),"invalid":\#(invalid)\#(member)}"#
    }

    static let matomo: [Row] = [
        Row(200, matomo(3, 0), .accepted), Row(200, matomo(3, 0, "[]"), .accepted),
        Row(200, matomo(2, 1, "[1]"), .accepted, .rejected, .accepted),
        Row(200, matomo(1, 2, "[0,2]"), .rejected, .accepted, .rejected),
        Row(200, matomo(2, 1), .accepted, .accepted, .rejected),
        Row(200, matomo(2, 1, "[9]"), .accepted, .accepted, .rejected),
        Row(200, matomo(2, 1, "[0,1]"), .accepted, .accepted, .rejected), Row(200, matomo(0, 3, "[0,1,2]"), .refused),
        Row(200, matomo(0, 3), .refused), Row(200, matomo(2, 0), .retry), Row(200, matomo(3, 1), .retry),
        Row(200, matomo(4, -1), .retry), Row(200, matomo(.max, .max), .retry),
        Row(200, matomo(3, 0, nil, "error"), .retry), Row(200, "{}", .retry), Row(200, .retry), Row(204, .retry),
        Row(400, matomo(0, 0, nil, "error"), .refused), Row(500, matomo(1, 0, nil, "error"), .retry),
    ]

    static let googleAnalytics: [Row] = [
        Row(204, .accepted),
        // Its validation server, which keeps nothing.
        Row(200, #"{"validationMessages":[]}"#, .hold), Row(200, "<html>", .hold),
    ]

    static let telemetryDeck: [Row] = [
        Row(200, .accepted), Row(201, "{}", .accepted), Row(200, "<html>", .hold), Row(400, .refused),
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

    static let kinesis: [Row] = [
        Row(200, kinesis("+", "+", "+"), .accepted),
        Row(200, kinesis("+", "ProvisionedThroughputExceededException", "+"), .accepted, .retry, .accepted),
        Row(200, kinesis("InternalFailure", "+", "x"), .retry, .accepted, .retry), Row(200, kinesis("+", "+"), .retry),
        Row(200, kinesis("+", "+", "+", "+"), .retry), Row(200, kinesis("+", "+", "+", failed: 1), .retry),
        Row(200, kinesis("+", "x", "+", failed: 0), .retry),
        Row(200, #"{"FailedRecordCount":0,"Records":[{},1,{"SequenceNumber":""}]}"#, .retry),
        // The form of LocalStack.
        Row(
            200,
            #"{"FailedRecordCount":1,"Records":[{"ErrorCode":null,"ErrorMessage":null,"SequenceNumber":"49","ShardId":"s"},"#
                + #"{"ErrorCode":"InternalFailure","ErrorMessage":"x","SequenceNumber":null},"#
                + #"{"ErrorCode":null,"ErrorMessage":null,"SequenceNumber":"50","ShardId":"s"}],"EncryptionType":null}"#,
            .accepted, .retry, .accepted),
        Row(
            200,
            #"{"FailedRecordCount":null,"Records":[{"SequenceNumber":"1"},{"ErrorCode":"x"},{"SequenceNumber":"2"}]}"#,
            .accepted, .retry, .accepted),
        Row(200, #"{"FailedRecordCount":"many","Records":[{},{},{}]}"#, .retry), Row(200, .retry), Row(204, .hold),
        Row(400, exception("ProvisionedThroughputExceededException"), .retry),
        Row(400, exception("com.amazonaws.kinesis#ThrottlingException"), .retry),
        Row(400, exception("ResourceNotFoundException"), .hold),
        Row(400, exception("InvalidSignatureException"), .hold), Row(400, exception("ExpiredTokenException"), .hold),
        Row(400, exception("AccessDeniedException"), .hold), Row(400, exception("ValidationException"), .refused),
        Row(400, exception("InvalidArgumentException"), .refused), Row(400, .refused),
    ]

    static let firehose: [Row] = [
        Row(
            200,
            #"{"FailedPutCount":0,"Encrypted":false,"RequestResponses":[{"RecordId":"a"},{"RecordId":"b"},{"RecordId":"c"}]}"#,
            .accepted),
        Row(
            200,
            #"{"FailedPutCount":1,"RequestResponses":[{"RecordId":"a"},{"ErrorCode":"ServiceUnavailableException"},{"RecordId":"c"}]}"#,
            .accepted, .retry, .accepted),
        Row(200, #"{"RequestResponses":[{"RecordId":"a"},{"RecordId":"b"},{"RecordId":"c"}]}"#, .accepted),
        Row(200, kinesis("+", "+", "+"), .retry), Row(200, "{}", .retry),
        Row(400, exception("ResourceNotFoundException"), .hold), Row(400, exception("LimitExceededException"), .retry),
        Row(400, exception("InvalidArgumentException"), .refused),
        Row(500, exception("ServiceUnavailableException"), .retry),
    ]

    /// An error of S3.
    private static func failure(_ status: Int, _ code: String, _ fate: Fate) -> Row {
        Row(
            status, "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>m</Message></Error>", fate)
    }

    static let objects: [Row] = [
        Row(200, headers: [("ETag", "\"5d41402a\"")], .accepted), Row(200, .hold),
        failure(412, "PreconditionFailed", .duplicate), failure(409, "ConditionalRequestConflict", .retry),
        failure(404, "NoSuchBucket", .hold), failure(404, "NoSuchKey", .hold), failure(301, "PermanentRedirect", .hold),
        failure(307, "TemporaryRedirect", .hold), failure(400, "AuthorizationHeaderMalformed", .hold),
        failure(400, "ExpiredToken", .hold), failure(400, "InvalidToken", .hold),
        failure(400, "RequestTimeout", .retry), failure(400, "IncompleteBody", .retry),
        failure(400, "BadDigest", .retry), failure(400, "Other", .hold), failure(400, "EntityTooLarge", .tooLarge),
        failure(403, "AccessDenied", .hold), failure(403, "RequestTimeTooSkewed", .hold),
        failure(403, "SignatureDoesNotMatch", .hold), failure(501, "NotImplemented", .hold),
        failure(500, "InternalError", .retry), failure(503, "SlowDown", .retry),
    ]

    static let snowplow: [Row] = [
        Row(200, "ok", .accepted), Row(200, "OKAY", .hold), Row(200, "<html>", .hold), Row(204, .hold),
        Row(400, .refused),
    ]
}
