import HTTPTestSupport
import Sluice
import SluiceMemory
import SluiceTesting
import Testing

@testable import SluiceHTTP

#if !canImport(Darwin)
    import CSluiceCurl
#endif

@Suite("HTTPTransport in a pipeline", .serialized)
struct ContractTests {
    static let formats: [HTTPFormat] = [.jsonArray, .ndjson]

    #if !canImport(Darwin)
        @Test("this system has a libcurl that is new enough, which the other tests require")
        func libcurlIsAvailable() {
            #expect(sluice_curl_load({ occupyStandardDescriptors() }) == SLUICE_CURL_AVAILABLE)
        }
    #endif

    @Test("the transport contract is kept by every format", arguments: FormatSample.open)
    func everyFormatKeepsContract(sample: FormatSample) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        try await TransportContract.check { HTTPTransport(to: server.url, format: sample.format) }
    }

    @Test(
        "the transport contract is kept with every response", arguments: formats.indices,
        ["302 Found", "400 Bad", "413 Large", "429 Many", "500 Bad", "600 Odd"])
    func keepsContractWithEveryResponse(format: Int, status: String) async throws {
        let server = try Server(responding: "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
        try await TransportContract.check { HTTPTransport(to: server.url, format: Self.formats[format]) }
    }

    @Test(
        "the transport contract is kept without a response, also if the server hangs", arguments: formats.indices,
        [false, true])
    func keepsContractWithoutResponse(format: Int, hangs: Bool) async throws {
        let server = try Server { connection in
            if hangs { try connection.waitForClose() } else { _ = try connection.readRequest() }
        }
        let timeouts = hangs ? HTTPTimeouts.short : HTTPTimeouts()
        try await TransportContract.check {
            HTTPTransport(to: server.url, format: Self.formats[format], configuration: .init(timeouts))
        }
    }

    @Test("setting a header replaces all its values in the first place")
    func setHeaderReplacesValues() {
        var request = HTTPRequest(url: "http://h/", headers: [("A", "1"), ("B", "2"), ("a", "3"), ("C", "4")])
        request.setHeader("A", "5")
        request.setHeader("D", "6")
        #expect(request.headers.map(\.name) == ["A", "B", "C", "D"])
        #expect(request.headers.map(\.value) == ["5", "2", "4", "6"])
    }
}
