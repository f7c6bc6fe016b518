import Sluice
import SluiceGzip

/// Objects of Amazon S3 and of stores with its protocol, each with the stored lines of one date.
///
/// Sources: the API reference of S3, `API_PutObject`, "Error responses" and "Add preconditions to S3 operations with conditional
/// requests" of docs.aws.amazon.com; `cmd/api-errors.go` of github.com/minio/minio.
struct ObjectFormat: WireFormat {
    let region: String
    let accessKey: String?
    let secretKey: String?
    let replaces: Bool
    let calendar: EventCalendar

    /// A batch is in memory three times while it is compressed. A request has up to 5 GB.
    var maximumBatchSize: BatchSize { BatchSize(events: .max, bytes: 67_108_864) }

    func validate() throws(SluiceError) { try ArgumentCheck.aws(region: region, accessKey, secretKey) }

    func endpoints(for line: EventLine) throws -> [String] {
        ["\0" + calendar.folder(of: calendar.local(try line.time()))]
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        for line in batch.events { _ = try line.time() }
        let lines = batch.lines()
        let file = Deflater.system.flatMap { Gzip.file(of: lines, by: $0) }
        request.method = "PUT"
        let folder = request.endpoint.dropFirst().split(separator: "/").map { String($0) }
        request.appendPath(folder + [EventFile(batch).name(isGzip: file != nil)])
        request.body = file ?? lines
        // Not the header Content-Encoding: readers decompress by the name, and would do it twice.
        request.setHeader("Content-Type", file == nil ? "application/x-ndjson" : "application/gzip")
        if !replaces { request.setHeader("If-None-Match", "*") }
        guard let accessKey, let secretKey else { return }
        request.signForAWS(accessKey: accessKey, secretKey: secretKey, region: region, service: "s3")
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts { .all(verdict(response)) }

    private func verdict(_ response: HTTPResponse) -> Verdict {
        switch (response.status, response.errorCode) {
        case (200...299, _):
            // Every store names the contents that it has.
            response.header("ETag") == nil || response.isPage ? .unrecognized("an object store") : .accepted
        case (412, "PreconditionFailed"): .duplicate
        // Another request with this name is in flight, or the body didn't arrive as a whole.
        case (409, "ConditionalRequestConflict"), (409, "OperationAborted"), (400, "RequestTimeout"),
            (400, "IncompleteBody"), (400, "BadDigest"):
            .retry(after: response.retryAfter)
        case (400, "EntityTooLarge"): .tooLarge(reason: "the object is too large for the store")
        case (404, "NoSuchBucket"): .hold(reason: "the bucket doesn't exist; check the URL, or make the bucket")
        case (301, _), (307, _), (400, "AuthorizationHeaderMalformed"):
            .hold(reason: "the bucket is in another region; check the URL and the region")
        case (400, "ExpiredToken"), (400, "InvalidToken"):
            .hold(reason: "the session token is invalid or has expired; sign with a new one")
        case (403, "RequestTimeTooSkewed"):
            .hold(reason: "the clock differs too much from the store's; set it")
        case (501, _): .hold(reason: "the store doesn't know If-None-Match; pass replaces: true")
        // No answer of a store is about single events.
        case (400, _?): .hold(reason: "the store refuses the request; check the URL and the region")
        default: response.verdict
        }
    }
}

extension HTTPResponse {
    /// The code of an error in XML, such as `NoSuchBucket`.
    fileprivate var errorCode: String? {
        let tags = body.prefix(4_096).split(separator: UInt8(ascii: "<"))
        return tags.first { $0.starts(with: "Code>".utf8) }.map { String(decoding: $0.dropFirst(5), as: UTF8.self) }
    }
}
