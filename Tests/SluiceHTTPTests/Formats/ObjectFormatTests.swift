import HTTPTestSupport
import Sluice
import SluiceGzip
import Testing

@testable import SluiceHTTP

@Suite("Objects of S3")
struct ObjectFormatTests {
    private static let noon: Int64 = 1_767_268_800_000

    private static func batch(days: [Int64]) throws -> Batch {
        let events = try days.enumerated().map { number, day in
            try EventLine(
                Event(
                    id: EventID(high: 0x019A_A5F1_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)),
                    name: "Sample", time: Timestamp(milliseconds: noon + day * 86_400_000), priority: .normal,
                    properties: ["at": .date(Timestamp(milliseconds: noon))]))
        }
        return Batch(id: 1, events: events)
    }

    /// The requests for a batch, to the responses of a store.
    private static func sent(
        _ batch: Batch, _ format: HTTPFormat, answers: [HTTPResponse]
    ) async throws -> (requests: [HTTPRequest], verdicts: Verdicts) {
        let left = Locked(answers)
        let client = KeepingClient { _, _ in left.withLock { $0.removeFirst() } }
        let url = "https://shop.s3.eu-central-1.amazonaws.com/events"
        let verdicts = try await client.transport(format, to: url).send(batch)
        return (client.requests, verdicts)
    }

    private static let made = HTTPResponse(status: 200, headers: [("ETag", "\"1\"")])
    private static let format = HTTPFormat.objects(region: "eu-central-1", accessKey: "AKID", secretKey: "key")

    @Test("a batch is one signed object for each date, with the name that a file would have")
    func batchIsObjectForEachDate() async throws {
        let batch = try Self.batch(days: [0, 0, 1])
        let (requests, verdicts) = try await Self.sent(batch, Self.format, answers: [Self.made, Self.made])
        #expect(verdicts == .all(.accepted, status: 200))
        let base = "https://shop.s3.eu-central-1.amazonaws.com/events/date%3D2026-01-0"
        let first = Batch(id: 1, events: Array(batch.events.prefix(2)))
        #expect(requests.map(\.method) == ["PUT", "PUT"])
        #expect(requests[0].url == "\(base)1/\(EventFile(first).name(isGzip: true))")
        #expect(requests[1].url.hasPrefix("\(base)2/") && requests[1].url.hasSuffix("-1.ndjson.gz"))
        let deflater = try #require(Deflater.system)
        #expect(requests[0].body == Gzip.file(of: first.lines(), by: deflater))
        #expect(requests[0].header("If-None-Match") == "*")
        #expect(requests[0].header("Content-Encoding") == nil)
        #expect(requests[0].header("X-Amz-Content-SHA256") == sha256(requests[0].body).hexadecimal)
        #expect(requests[0].header("Authorization")?.contains("/eu-central-1/s3/aws4_request") == true)
    }

    @Test("a store that doesn't know the condition gets none")
    func conditionCanBeLeftOut() async throws {
        let format = HTTPFormat.objects(region: "r", partition: .hour, replaces: true)
        let (requests, _) = try await Self.sent(Self.batch(days: [0]), format, answers: [Self.made])
        #expect(requests[0].header("If-None-Match") == nil)
        #expect(requests[0].header("Authorization") == nil)
        #expect(requests[0].url.contains("/events/date%3D2026-01-01/hour%3D12/"))
    }

    @Test("a date whose request fails doesn't take the others with it")
    func datesHaveTheirVerdicts() async throws {
        let full = HTTPResponse(status: 503)
        let (_, verdicts) = try await Self.sent(Self.batch(days: [0, 1]), Self.format, answers: [Self.made, full])
        guard case .each(let list) = verdicts.kind else { throw SluiceError(.brokenContract, "\(verdicts)") }
        #expect(list[0] == .accepted && list[1].kind == .retry(after: nil))
    }

    @Test(
        "a 412 without the code of a store confirms no object",
        arguments: ["", "<html><h1>No</h1></html>", "{\"code\":\"PreconditionFailed\"}"])
    func answerOfAnotherServerIsHeld(body: String) async throws {
        let answer = HTTPResponse(status: 412, body: Array(body.utf8))
        let (_, verdicts) = try await Self.sent(Self.batch(days: [0, 0]), Self.format, answers: [answer])
        #expect(verdicts.list(of: 2).map(\.kind) == [.hold, .hold])
    }

    @Test(
        "a page with an ETag, as servers of pages add it, confirms no object",
        arguments: [("<!DOCTYPE html>", true), ("", false)])
    func pageIsHeld(body: String, isPage: Bool) async throws {
        // moto gives this type to its empty answers.
        let headers = [("ETag", "W/\"1\""), ("Content-Type", "text/html; charset=utf-8")]
        let answer = HTTPResponse(status: 200, headers: headers, body: Array(body.utf8))
        let (_, verdicts) = try await Self.sent(Self.batch(days: [0]), Self.format, answers: [answer])
        #expect(verdicts.list(of: 1).map(\.kind) == [isPage ? .hold : .accepted])
    }

    @Test("a signature for S3 is the published one of its documentation")
    func signatureIsPublished() throws {
        var request = HTTPRequest(
            url: "https://examplebucket.s3.amazonaws.com/?lifecycle", method: "GET",
            sendTime: try #require(Timestamp("2013-05-24T00:00:00.000Z")))
        request.signForAWS(
            accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            region: "us-east-1", service: "s3")
        #expect(
            request.header("Authorization")?.hasSuffix(
                "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543") == true)
    }
}
