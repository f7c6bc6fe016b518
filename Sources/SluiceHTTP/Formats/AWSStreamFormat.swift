import Sluice

/// `PutRecords` of Amazon Kinesis and `PutRecordBatch` of Amazon Data Firehose, with a result for each record.
///
/// Sources: the API references of both, `API_PutRecords`, `API_PutRecordBatch` and "Common errors" of docs.aws.amazon.com.
struct AWSStreamFormat: WireFormat {
    let isFirehose: Bool
    let stream: String
    let region: String
    let accessKey: String?
    let secretKey: String?

    /// The results fit into the 64 KiB that are read of a response, even if each is an error.
    var maximumBatchSize: BatchSize { BatchSize(events: 200, bytes: 2_500_000) }
    /// 4 MiB of data for Firehose and 5 MiB for Kinesis, before Base64.
    var maximumBodyBytes: Int { 4_000_000 }
    /// 1,000 KiB of data as Base64, with the partition key.
    var maximumEventBytes: Int { 1_365_000 }

    func validate() throws(SluiceError) {
        try ArgumentCheck.name("stream", stream, limit: isFirehose ? 64 : 128)
        try ArgumentCheck.aws(region: region, accessKey, secretKey)
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        try request.setJSONObject(for: batch, as: "application/x-amz-json-1.1") {
            $0[isFirehose ? "DeliveryStreamName" : "StreamName"] = stream
            try $0.objects("Records", batch.events) {
                // Firehose joins the records.
                $0["Data"] = HTTPEncoding.base64(isFirehose ? $1.json + [0x0A] : $1.json)
                $0["PartitionKey"] = isFirehose ? nil : try Self.partitionKey(of: $1)
            }
        }
        request.setHeader(
            "X-Amz-Target", isFirehose ? "Firehose_20150804.PutRecordBatch" : "Kinesis_20131202.PutRecords")
        guard let accessKey, let secretKey else { return }
        request.signForAWS(
            accessKey: accessKey, secretKey: secretKey, region: region, service: isFirehose ? "firehose" : "kinesis")
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard response.status == 200 else { return .all(refusal(response)) }
        let answer = response.jsonObject
        let results = answer?[isFirehose ? "RequestResponses" : "Records"]?.array?.map(\.object) ?? []
        let failed = results.filter { $0?["ErrorCode"] != nil }.count
        let later = Verdict.retry(after: response.retryAfter)
        // Compatible servers may leave the number out.
        let count = answer?[isFirehose ? "FailedPutCount" : "FailedRecordCount"]
        guard results.count == batch.events.count, count == nil || count?.asInt == failed else { return .all(later) }
        return .each(
            results.map { result in
                let id = result?[isFirehose ? "RecordId" : "SequenceNumber"]?.string
                guard result?["ErrorCode"] == nil, id?.isEmpty == false else {
                    return later.saying(result?["ErrorMessage"]?.string)
                }
                return .accepted
            })
    }

    /// AWS responds to most errors with 400 and the name of an exception.
    private func refusal(_ response: HTTPResponse) -> Verdict {
        let type = response.jsonObject?["__type"]?.string?.split(separator: "#").last.map { String($0) }
        if 200...299 ~= response.status { return .unrecognized("AWS") }
        guard response.status == 400 else { return response.verdict }
        switch type {
        case nil, "ValidationException", "InvalidArgumentException", "SerializationException": return response.verdict
        case "ProvisionedThroughputExceededException", "ThrottlingException", "LimitExceededException",
            "KMSThrottlingException", "RequestLimitExceeded":
            return .retry(after: response.retryAfter)
        default:
            return .hold(
                reason: "AWS refuses the stream, the keys or the clock; check them", after: response.retryAfter)
        }
    }

    /// The distinct id, which keeps the events of a person in order. At most 256 characters.
    private static func partitionKey(of line: EventLine) throws -> String {
        let key = try line.person() ?? line.canonicalID().description
        return String(String.UnicodeScalarView(key.unicodeScalars.prefix(256)))
    }
}
