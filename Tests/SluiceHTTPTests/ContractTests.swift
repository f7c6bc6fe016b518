import HTTPTestSupport
import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
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

    @Test("the transport contract is kept without a response", arguments: formats.indices)
    func keepsContractWithoutResponse(format: Int) async throws {
        let server = try Server { connection in _ = try connection.readRequest() }
        try await TransportContract.check { HTTPTransport(to: server.url, format: Self.formats[format]) }
    }

    @Test("the transport contract is kept if the server hangs", arguments: formats.indices)
    func keepsContractIfServerHangs(format: Int) async throws {
        let server = try Server { connection in try connection.waitForClose() }
        try await TransportContract.check {
            HTTPTransport(to: server.url, format: Self.formats[format], configuration: .init(.short))
        }
    }

    @Test("a pipeline's events are delivered once each, in order", arguments: formats.indices)
    func pipelineDeliversOnceInOrder(format: Int) async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let pipeline = try Pipeline {
            MemoryStore()
            HTTPTransport(to: server.url, format: Self.formats[format])
        }
        for number in 0..<1_000 { pipeline.track("Event", ["number": .int(number)]) }
        let ledger = await pipeline.shutdown(timeout: .seconds(600))
        #expect(ledger.routes[0].delivered == 1_000)
        let text = server.received.all.map(\.text).joined()
        let numbers = text.split(separator: #""number":"#).dropFirst().compactMap { Int($0.prefix { $0.isNumber }) }
        #expect(numbers == Array(0..<1_000))
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
