import HTTPTestSupport
import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Signatures for AWS")
struct AWSSignatureTests {
    /// The keys and the time of AWS's test suite for Signature Version 4.
    private static func signed(_ method: String, _ path: String, _ headers: [(name: String, value: String)] = []) throws
        -> String
    {
        var request = HTTPRequest(
            url: "https://example.amazonaws.com" + path, method: method, headers: headers,
            sendTime: try #require(Timestamp("2015-08-30T12:36:00.000Z")))
        request.signForAWS(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1",
            service: "service")
        #expect(request.header("X-Amz-Date") == "20150830T123600Z")
        return request.header("Authorization") ?? ""
    }

    private static let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "

    @Test(
        "the signatures of AWS's test suite are the published ones",
        arguments: [
            ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "GET", "/?Param2=value2&Param1=value1",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
        ])
    func signatureIsPublished(method: String, path: String, signature: String) throws {
        #expect(
            try Self.signed(method, path) == Self.start + "SignedHeaders=host;x-amz-date, Signature=\(signature)")
    }

    @Test("the default port isn't part of the host, and another one is")
    func portIsSigned() throws {
        func signature(_ url: String) -> String? {
            var request = HTTPRequest(url: url, sendTime: Timestamp(milliseconds: 0))
            request.signForAWS(accessKey: "a", secretKey: "s", region: "r", service: "kinesis")
            return request.header("Authorization")
        }
        #expect(signature("https://h:443/") == signature("https://h"))
        #expect(signature("http://h:80/") == signature("http://h/"))
        #expect(signature("http://h:81/") != signature("http://h"))
        #expect(signature("http://h:443/") != signature("http://h"))
    }

    @Test("the token of temporary keys is signed, and signing twice replaces the signature")
    func tokenIsSigned() throws {
        var request = HTTPRequest(url: "https://h", sendTime: Timestamp(milliseconds: 0))
        for _ in 0..<2 {
            request.signForAWS(accessKey: "a", secretKey: "s", sessionToken: "t", region: "r", service: "kinesis")
        }
        #expect(request.headers.count == 3)
        #expect(request.header("X-Amz-Security-Token") == "t")
        #expect(
            request.header("Authorization")?.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,") == true)
        var plain = HTTPRequest(url: "https://h", sendTime: Timestamp(milliseconds: 0))
        plain.signForAWS(accessKey: "a", secretKey: "s", sessionToken: "", region: "r", service: "kinesis")
        #expect(plain.headers.map(\.name) == ["X-Amz-Date", "Authorization"])
        #expect(plain.signatureError == nil)
    }

    @Test("the key of a record has at most 256 characters")
    func partitionKeyFits() throws {
        var event = Event.bare
        // A stored line of an earlier version can have a longer one than an event.
        event.checkedDistinctID = String(repeating: "\u{E9}", count: 300)
        let sample = try FormatSample.open.named("kinesis")
        let body = try PropertyValue(json: sample.request(Batch(id: 1, events: [EventLine(event)])).body)
        let record = body.object?["Records"]?.array?.first?.object
        #expect(record?["PartitionKey"] == .string(String(repeating: "\u{E9}", count: 256)))
    }
}
