import HTTPTestSupport
import Sluice
import SluiceGzip
import Testing

@testable import SluiceHTTP

@Suite("Compressed bodies", .serialized)
struct GzipTests {
    static func transport(
        _ client: KeepingClient, gzip: Bool = true, deflater: Deflater? = .system,
        format: HTTPFormat = .vector, headers: [String: String] = [:],
        sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil
    ) -> HTTPTransport {
        var configuration = HTTPTransport.Configuration(gzip: gzip, client: client, sign: sign)
        configuration.deflater = { deflater }
        return HTTPTransport(to: "https://h/", format: format, headers: headers, configuration: configuration)
    }

    static func sent(_ batch: Batch, by transport: HTTPTransport, _ client: KeepingClient) async throws -> HTTPRequest {
        try transport.open(in: PipelineEnvironment())
        _ = try await transport.send(batch)
        return try #require(client.requests.last)
    }

    @Test("this system has a zlib, which the other tests require")
    func zlibIsAvailable() {
        #expect(Deflater.system != nil)
    }

    @Test("a long body is compressed, with the same bytes each time")
    func longBodyIsCompressed() async throws {
        let client = KeepingClient()
        let transport = Self.transport(client)
        let batch = try Batch.numbered(50)
        let first = try await Self.sent(batch, by: transport, client)
        let second = try await Self.sent(batch, by: transport, client)
        #expect(first.header("Content-Encoding") == "gzip")
        #expect(first.body.starts(with: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]))
        #expect(first.body.count < batch.lines().count / 4)
        #expect(first.body == second.body)
    }

    @Test("a body of less than 256 bytes isn't compressed", arguments: [255, 256, 257])
    func shortBodyIsNotCompressed(count: Int) async throws {
        let client = KeepingClient()
        let batch = Batch.of(String(repeating: "a", count: count - 1))
        let request = try await Self.sent(batch, by: Self.transport(client), client)
        #expect((request.header("Content-Encoding") == "gzip") == (count >= 256))
    }

    @Test("nothing is compressed if the host, the format or a header forbids it, or if it doesn't become smaller")
    func compressionCanBeOff() async throws {
        let client = KeepingClient()
        let batch = try Batch.numbered(50)
        let transports = [
            Self.transport(client, gzip: false), Self.transport(client, format: .ndjson),
            Self.transport(client, headers: ["content-encoding": "identity"]),
            Self.transport(client, deflater: Deflater { $0 + [0] }),
        ]
        for transport in transports {
            let request = try await Self.sent(batch, by: transport, client)
            #expect(request.body == batch.lines() && request.header("Content-Encoding") != "gzip")
        }
    }

    @Test("a compressed body arrives")
    func compressedBodyArrives() async throws {
        let server = try Server(responding: HTTPResponse.ok)
        let batch = try Batch.numbered(50)
        _ = try await openTransport(to: server.url, format: .vector).send(batch)
        let request = try await server.received.next()
        let deflater = try #require(Deflater.system)
        #expect(request.body == Gzip.file(of: batch.lines(), by: deflater))
        #expect(request.values("Content-Encoding") == ["gzip"])
        #expect(request.values("Content-Length") == ["\(request.body.count)"])
    }

    @Test("a signature sees the compressed body")
    func signatureSeesCompressedBody() async throws {
        let client = KeepingClient()
        let transport = Self.transport(client) { $0.setHeader("X-Length", "\($0.body.count)") }
        let request = try await Self.sent(.numbered(50), by: transport, client)
        #expect(request.header("Content-Encoding") == "gzip")
        #expect(request.header("X-Length") == "\(request.body.count)")
    }

    @Test("without zlib bodies are sent uncompressed, which is reported once")
    func missingZlibIsReportedOnce() async throws {
        let client = KeepingClient()
        let told = Arrivals<String>()
        let observer = TransportObserver(onNote: told.add)
        let transport = Self.transport(client, deflater: nil)
        let batch = try Batch.numbered(50)
        try transport.open(observer)
        for _ in 0..<3 { _ = try await transport.send(batch) }
        #expect(client.requests.allSatisfy { $0.body == batch.lines() })
        #expect(told.all.map { $0.contains("libz.so.1") } == [true])
        for quiet in [true, false] {
            let other = Self.transport(client, gzip: quiet, deflater: quiet ? .system : nil)
            try other.open(observer)
            _ = try await other.send(batch)
        }
        #expect(told.all.count == 1)
    }
}

@Suite("Encodings by published examples")
struct EncodingTests {
    @Test(
        "Base64 follows RFC 4648, section 10",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"), ("\u{FF}>?", "w78+Pw=="),
        ])
    func base64FollowsRFC4648(text: String, expected: String) {
        #expect(HTTPEncoding.base64(text.utf8) == expected)
    }

    @Test("percent-encoding keeps only the unreserved characters")
    func percentEncodingKeepsUnreserved() {
        #expect("aZ09-._~ +/=&%é".percentEncoded == "aZ09-._~%20%2B%2F%3D%26%25%C3%A9")
    }

    @Test("the checksums of published texts are the published ones")
    func checksumsArePublishedOnes() throws {
        let system = try #require(Deflater.system)
        for deflater in [system, Deflater { $0 }] {
            #expect(deflater.crc32(Array("123456789".utf8)[...], 0) == 0xCBF4_3926)
            #expect(deflater.crc32([], 0) == 0)
            // In two pieces, and an empty one.
            let first = deflater.crc32(Array("1234".utf8)[...], 0)
            #expect(deflater.crc32(Array("56789".utf8)[...], deflater.crc32([], first)) == 0xCBF4_3926)
        }
        #expect(FNV1a("foobar".utf8).value == 0x8594_4171_F739_67E8)
    }
}
