import Foundation
import HTTPTestSupport
import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite("The custom format of Docs/WireFormats.md")
struct AcmeFormatTests {
    private let format = AcmeFormat(key: "s3cr3t-key")

    @Test("the format is the one in the documentation, in at most 40 lines")
    func formatIsDocumented() throws {
        let page = try Repository.text("Docs/WireFormats.md")
        let source = try Repository.text("Tests/SluiceHTTPTests/Formats/AcmeFormat.swift")
        #expect(page.contains("```swift\n" + source + "```"))
        #expect(source.split(separator: "\n").count <= 40)
    }

    @Test("the format encodes batches and reads responses")
    func formatEncodesAndReadsResponses() throws {
        var request = HTTPRequest(url: "https://acme.example", sendTime: Timestamp(milliseconds: 5))
        try format.encode(.of("{}", "[]"), into: &request)
        #expect(request.url == "https://acme.example/ingest")
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"sent":5,"events":[{},[]]}"#)
        func fates(_ body: String, status: Int = 200) -> [Fate] {
            let response = HTTPResponse(status: status, body: Array(body.utf8))
            return format.verdicts(for: .of("{}", "[]"), from: response).fates(of: 2)
        }
        #expect(fates(#"{"results":["ok","bad"]}"#) == [.accepted, .rejected])
        #expect(fates(#"{"results":["bad","bad"]}"#) == [.rejected, .rejected])
        #expect(fates(#"{"results":["known","later"]}"#) == [.duplicate, .retry])
        for (status, body) in [(200, "OK"), (201, #"{"results":"ok"}"#), (202, "<html>"), (204, "")] {
            #expect(fates(body, status: status) == [.retry, .retry], "\(status)")
        }
        var dumped = ""
        dump(HTTPFormat(format), to: &dumped)
        #expect(!dumped.contains(format.key) && !"\(HTTPFormat(format))".contains(format.key))
    }
}
